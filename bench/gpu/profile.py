"""What Nsight Compute says limits the kernels of the programs.

In: ncu of CUDA's toolkit.  Out: a row a kernel: shares of the peaks, and the tool's first advice.
"""

from __future__ import annotations

import csv
import subprocess
import sys
from collections.abc import Iterable

from bench.gpu.sanitizer import find
from bench.gpu.stages import say, seconds_left

_PROGRAMS = (("matmul", 4096), ("softmax", 8192), ("layernorm", 8192), ("transpose", 8192),
             ("row_sum", 8192), ("jacobi", 8192))  # fmt: skip
_SECTIONS = ("SpeedOfLight", "Occupancy", "LaunchStats", "WarpStateStats", "MemoryWorkloadAnalysis")
_METRICS = {
    "Duration": "duration",
    "Compute (SM) Throughput": "compute",
    "Memory Throughput": "memory",
    "DRAM Throughput": "DRAM",
    "L2 Hit Rate": "L2 hits",
    "Achieved Occupancy": "occupancy",
    "Registers Per Thread": "registers",
}
_SECONDS = 60.0
_LONGEST = 200


def read_profile(lines: Iterable[str]) -> list[dict[str, object]]:
    """Return a row for each launch in ncu's CSV; what comes before its head is the program's."""
    kept = list(lines)
    start = next((n for n, line in enumerate(kept) if line.startswith('"ID"')), len(kept))
    rows: dict[str, dict[str, object]] = {}
    best: dict[str, float] = {}
    for record in csv.DictReader(kept[start:]):
        launch = record["ID"]
        row = rows.setdefault(launch, {"kernel": record["Kernel Name"].partition("(")[0]})
        name = _METRICS.get(record["Metric Name"] or "")
        if name is not None and name not in row:
            row[name] = f"{record['Metric Value']} {record['Metric Unit']}".strip()
        gain = _number(record.get("Estimated Speedup"))
        if record.get("Rule Type") == "OPT" and gain > best.get(launch, -1.0):
            best[launch] = gain
            row["limit"] = (record.get("Rule Description") or "")[:_LONGEST]
    return list(rows.values())


def _number(text: str | None) -> float:
    try:
        return float(text or 0)
    except ValueError:
        return 0.0


def report(tool: str, name: str, size: int) -> None:
    """Profile one program, run once."""
    sections = [word for section in _SECTIONS for word in ("--section", section)]
    command = [tool, "--csv", "--page", "details", "--clock-control", "none", *sections]
    program = [sys.executable, "-m", "bench.gpu.once", name, str(size)]
    limit = max(5.0, min(_SECONDS, seconds_left()))
    try:
        done = subprocess.run(
            [*command, *program], capture_output=True, text=True, timeout=limit, check=False
        )
    except subprocess.TimeoutExpired:
        say(program=name, left_out="no answer in time")
        return
    rows = read_profile(done.stdout.splitlines())
    for row in rows:
        say(program=f"{name} {size}", **row)
    if not rows:
        say(program=name, left_out=(done.stdout + done.stderr)[-300:])


def main() -> None:
    """Profile all programs."""
    tool = find("ncu")
    if tool is None:
        say(program="none", left_out="ncu is not installed")
        return
    for name, size in _PROGRAMS:
        if seconds_left() > 0:
            report(tool, name, size)


if __name__ == "__main__":
    main()
