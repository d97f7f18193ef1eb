"""How many seconds of processor time a compilation takes, stage by stage, for every workload.

In: names of workloads (all of them if none), `--fp`, `--output FILE`.  Out: a table, the slowest
last; with `--output` also the numbers as JSON.  Everything up to the C text counts, the
certificate included, the C compiler and imports do not.  Each form is compiled in a process of
its own, with an automatic schedule for this machine.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from polyopt.frontend import build
from polyopt.frontend.syntax.type_inference import infer_types
from polyopt.pipeline import compile_program
from polyopt.targets import FpMode, Options, detect_machine
from workloads import registry

GOAL = 0.5
"""Seconds that a form may take."""
STAGES = ("frontend", "regions", "schedule", "lower", "optimize", "certificate", "emit")


@dataclass(frozen=True)
class Row:
    """One form of a workload: seconds by stage, and what was left out."""

    workload: str
    form: str
    seconds: dict[str, float]
    dropped: tuple[str, ...]

    @property
    def total(self) -> float:
        """The seconds of all stages."""
        return sum(self.seconds.values())


def measure(workload: str, form: str, fp: FpMode) -> Row:
    """Return what compiling one form takes in this process."""
    return timed(workload, form, registry.get(workload).forms[form], Options(fp=fp))


def timed(workload: str, form: str, func: Callable[..., Any], options: Options) -> Row:
    """Return what compiling `func` takes in this process."""
    seconds: dict[str, float] = {}
    last = time.process_time()

    def ended(stage: str, _: object) -> None:
        nonlocal last
        now = time.process_time()
        seconds[stage] = seconds.get(stage, 0.0) + now - last
        last = now

    program = build(func, infer_types(func))
    ended("frontend", program)
    found = compile_program(program, options, detect_machine(), ended)
    return Row(workload, form, seconds, tuple(d.what for d in found.dropped))


def _measured(case: tuple[str, str, FpMode]) -> Row:
    return measure(*case)


def rows(names: Sequence[str], fp: FpMode) -> Iterable[Row]:
    """Yield a row for every form of the workloads, each from a fresh copy of this process."""
    measure("mvt", "loops", fp)  # what is imported on the way is not counted
    cases = [(name, form, fp) for name in names for form in registry.get(name).forms]
    with multiprocessing.get_context("fork").Pool(1, maxtasksperchild=1) as pool:
        yield from pool.imap(_measured, cases, chunksize=1)


def table(found: Sequence[Row]) -> str:
    """Return the rows as a table, the slowest last."""
    head = f"{'':34}" + "".join(f"{stage[:9]:>10}" for stage in (*STAGES, "all"))
    lines = [head]
    for row in sorted(found, key=lambda row: row.total):
        times = [row.seconds.get(stage, 0.0) for stage in STAGES]
        numbers = "".join(f"{number:10.3f}" for number in (*times, row.total))
        left_out = f"  without {', '.join(row.dropped)}" if row.dropped else ""
        lines.append(f"{row.workload + ' ' + row.form:34}{numbers}{left_out}")
    within = sum(row.total <= GOAL for row in found)
    whole = sum(row.total for row in found)
    lines.append(f"{within} of {len(found)} forms within {GOAL} s, {whole:.1f} s in all")
    return "\n".join(lines)


def main(arguments: Sequence[str]) -> int:
    """Measure, print the table, write the numbers."""
    parser = argparse.ArgumentParser(prog="python -m tests.compiletime", description=__doc__)
    parser.add_argument("workload", nargs="*", help="all of them if none is named")
    modes = [mode.value for mode in FpMode]
    parser.add_argument("--fp", choices=modes, default=FpMode.STRICT.value)
    parser.add_argument("--output", type=Path, help="a file for the numbers, as JSON")
    given = parser.parse_args(arguments)
    found = list(rows(given.workload or registry.names(), FpMode(given.fp)))
    print(table(found))
    if given.output is not None:
        content = [{**asdict(row), "total": row.total} for row in found]
        given.output.write_text(json.dumps(content, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
