"""What nvcc says of the programs' kernels on sm_75, sm_80 and sm_90; warnings are errors.

In: the programs.  Out: a row a program and line of the report.  Needs no GPU.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from bench.gpu import programs
from bench.gpu.programs import PROGRAMS, Program
from bench.gpu.stages import say, seconds_left
from bench.process import ROOT


def report(program: Program) -> None:
    """Print what `polyopt explain` tells of the kernels of one program."""
    types = ",".join(f"f32[{','.join(':' * len(s))}]" for s in program.shapes(2, 2).values())
    where = f"{Path(programs.__file__)}:{program.function.__name__}"
    command = ["explain", where, "--types", types, "--fp", program.fp, "--target", "cuda", "--json"]
    done = subprocess.run(
        [sys.executable, "-m", "polyopt", *command],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode != 0:
        say(program=program.name, wrong=(done.stderr or done.stdout)[-600:])
        return
    found = json.loads(done.stdout)
    for line in found["kernels"]:
        if line.startswith("not compiled") and "PO0514" not in line:
            say(program=program.name, wrong=line)
    for launch in found["launches"]:
        held = {one["arch"]: one for one in launch["occupancy"]}
        for row in launch["compiled"]:
            at_once = held.get(row["arch"], {})
            say(
                program=program.name, kernel=launch["entry"], **row,
                blocks=at_once.get("blocks"), limit=at_once.get("limit"),
            )  # fmt: skip


def main() -> None:
    """Report all programs."""
    for program in PROGRAMS:
        if seconds_left() > 0:
            report(program)


if __name__ == "__main__":
    main()
