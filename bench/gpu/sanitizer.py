"""compute-sanitizer's tools: silent on right kernels, loud on planted faults.

In: the tools of CUDA's toolkit.  Out: a row a tool and program.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench.gpu import planted
from bench.gpu.planted import TOOLS
from bench.gpu.stages import say, seconds_left

_FOUND = 9  # the exit code that is asked for; a program that fails itself keeps its own
_SUMMARY = re.compile(r"SUMMARY: [1-9]\d* (?:error|hazard)")
_PROGRAMS = ("softmax", "jacobi", "matmul", "row_sum", "transpose")
_SECONDS = 40.0


def find(name: str) -> str | None:
    """Return a program, from the PATH or from a toolkit."""
    homes = [os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), "/usr/local/cuda"]
    places = [name, *(f"{home}/bin/{name}" for home in homes if home)]
    return next((found for place in places if (found := shutil.which(place))), None)


def run(program: str, tool: str, what: str, command: list[str], *, faulty: bool) -> None:
    """Run `command` under one tool and judge by the exit code."""
    begun = time.monotonic()
    flags = [f"--tool={tool}", f"--error-exitcode={_FOUND}", "--print-limit=3"]
    row = {"program": what, "tool": tool, "reported": None, "seconds": None}
    try:
        done = subprocess.run(
            [program, *flags, *command],
            capture_output=True, text=True, timeout=max(5.0, min(_SECONDS, seconds_left())),
            check=False,
        )  # fmt: skip
        found = done.returncode == _FOUND or _SUMMARY.search(done.stdout) is not None
        row["reported"] = found
        if faulty and not found:
            row["wrong"] = "the planted fault was not reported"
        elif not faulty and found:
            row["wrong"] = _first(done.stdout)
        elif not faulty and done.returncode != 0:
            row["wrong"] = f"code {done.returncode}: {(done.stdout + done.stderr)[-300:]}"
    except subprocess.TimeoutExpired:
        row["wrong"] = "no answer in time"
    say(**{**row, "seconds": time.monotonic() - begun})


def _first(text: str) -> str:
    lines = [line for line in text.splitlines() if "=========" in line and len(line) > 12]
    return " ".join(lines[1:5])[:300]


def controls(program: str, compiler: str) -> None:
    """Run every tool on a planted fault and on the same kernel without it."""
    with tempfile.TemporaryDirectory() as folder:
        for tool in TOOLS:
            for kind, faulty in (("wrong", True), ("right", False)):
                if seconds_left() <= 0:
                    return
                source, binary = f"{folder}/{tool}-{kind}.cu", f"{folder}/{tool}-{kind}"
                Path(source).write_text(planted.program(tool, faulty=faulty), encoding="utf-8")
                command = [compiler, "-lineinfo", "-arch=native", "-o", binary, source]
                subprocess.run(command, capture_output=True, check=True)
                run(program, tool, f"planted, {kind}", [binary], faulty=faulty)


def main() -> None:
    """Run the controls of every tool, then the tools on polyopt's kernels."""
    program, compiler = find("compute-sanitizer"), find("nvcc")
    if program is None or compiler is None:
        say(program="none", left_out="compute-sanitizer or nvcc is not installed")
        return
    controls(program, compiler)
    for name in _PROGRAMS:
        command = [sys.executable, "-m", "bench.gpu.once", name]
        subprocess.run(command, capture_output=True, check=False)  # compiles, and keeps that
        for tool in TOOLS:
            if seconds_left() > 0:
                run(program, tool, name, command, faulty=False)


if __name__ == "__main__":
    main()
