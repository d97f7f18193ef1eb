"""compute-sanitizer's tools: silent on right kernels, loud on planted faults.

In: the tools of CUDA's toolkit.  Out: a row a tool and program.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time

from bench.gpu.planted import TOOLS
from bench.gpu.stages import say, seconds_left

_FOUND = 9  # the exit code that is asked for; a program that fails itself keeps its own
_SUMMARY = re.compile(r"SUMMARY: [1-9]\d* (?:error|hazard)")
_PROGRAMS = ("softmax", "jacobi", "matmul", "row_sum", "transpose")
_SECONDS = 40.0


def find() -> str | None:
    """Return the program, from the PATH or from a toolkit."""
    homes = [os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), "/usr/local/cuda"]
    places = ["compute-sanitizer", *(f"{home}/bin/compute-sanitizer" for home in homes if home)]
    return next((found for place in places if (found := shutil.which(place))), None)


def run(program: str, tool: str, what: str, command: list[str], *, faulty: bool) -> None:
    """Run `command` under one tool and judge by the exit code."""
    begun = time.monotonic()
    flags = [f"--tool={tool}", f"--error-exitcode={_FOUND}", "--print-limit=3"]
    row = {"program": what, "tool": tool, "reported": None, "seconds": None}
    try:
        done = subprocess.run(
            [program, *flags, sys.executable, "-m", *command],
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


def main() -> None:
    """Run the controls of every tool, then the tools on polyopt's kernels."""
    program = find()
    if program is None:
        say(program="none", left_out="compute-sanitizer is not installed")
        return
    for tool in TOOLS:
        for kind in ("wrong", "right"):
            if seconds_left() > 0:
                run(program, tool, f"planted, {kind}", ["bench.gpu.planted", tool, kind],
                    faulty=kind == "wrong")  # fmt: skip
    for name in _PROGRAMS:
        command = ["bench.gpu.once", name]
        subprocess.run([sys.executable, "-m", *command], capture_output=True, check=False)
        for tool in TOOLS:
            if seconds_left() > 0:
                run(program, tool, name, command, faulty=False)


if __name__ == "__main__":
    main()
