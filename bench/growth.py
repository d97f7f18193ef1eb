"""How compiling grows with the number of statements of a program.

In: kinds of programs, numbers of statements, schedules.  Out: a table of the processor's seconds,
of polyopt by stage and of the C compiler; with `--output` also as JSON.  Each program is compiled
in a process of its own.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path

import polyopt as po
from bench.programs import KINDS, define

NUMBERS = (1, 10, 50, 100, 200, 400)
STAGES = ("frontend", "schedule", "lower", "optimize", "certificate", "emit")


@dataclass(frozen=True, slots=True)
class Case:
    """A program to compile; `schedule` is "source" or "auto"."""

    kind: str
    number: int
    schedule: str


@dataclass(frozen=True, slots=True)
class Growth:
    """Seconds of the processor that one program took: by stage, in all, and the C compiler's.

    `left_out` names what was not tried, `error` says why there is no code.
    """

    case: Case
    stages: dict[str, float] = field(default_factory=dict)
    own: float = 0.0
    compiler: float = 0.0
    left_out: tuple[str, ...] = ()
    error: str = ""

    def __str__(self) -> str:
        times = [*(self.stages.get(stage, 0.0) for stage in STAGES), self.own, self.compiler]
        numbers = "".join(f"{seconds:10.2f}" for seconds in times)
        without = f"  without {', '.join(self.left_out)}" if self.left_out else ""
        return f"{self.case.kind:10}{self.case.number:6}{numbers}  {self.error}{without}"


def measured(case: Case) -> Growth:
    """Return what compiling one program takes in this process."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["POLYOPT_CACHE_DIR"] = folder
        function, arguments = define(KINDS[case.kind](case.number), Path(folder))
        kernel = po.kernel(function, schedule="source" if case.schedule == "source" else None)
        before = os.times()
        try:
            stages = kernel.compile(*arguments).stages
        except po.PolyoptError as problem:
            return Growth(case, error=f"{problem.code} {problem.message}")
        after = os.times()
    own = after.user + after.system - before.user - before.system
    compiler = after.children_user + after.children_system
    compiler -= before.children_user + before.children_system
    dropped = tuple(dict.fromkeys(one.what for one in stages.dropped))
    taken = {stage: cost.seconds for stage, cost in stages.costs.items() if stage in STAGES}
    return Growth(case, taken, own, compiler, dropped)


def _child(case: Case, answer: Connection) -> None:
    answer.send(measured(case))


def measure_all(cases: Sequence[Case], limit: float) -> Iterator[Growth]:
    """Yield a result for each program; one that takes more than `limit` seconds is ended."""
    measured(Case("chain", 2, "auto"))  # what is imported on the way is not counted
    context = multiprocessing.get_context("fork")
    for case in cases:
        ours, theirs = context.Pipe(duplex=False)
        child = context.Process(target=_child, args=(case, theirs))
        child.start()
        theirs.close()
        found = Growth(case, error=f"not compiled within {limit:g} s")
        try:
            if ours.poll(limit):
                found = ours.recv()
        except EOFError:
            found = Growth(case, error="the process ended")
        child.kill()
        child.join()
        yield found


def main(arguments: Sequence[str]) -> int:
    """Measure, print the table, write the numbers."""
    parser = argparse.ArgumentParser(prog="python -m bench.growth", description=__doc__)
    parser.add_argument("kind", nargs="*", help=f"all if none is named: {', '.join(KINDS)}")
    parser.add_argument("--numbers", type=int, nargs="+", default=NUMBERS)
    parser.add_argument("--schedule", nargs="+", choices=["source", "auto"], default=["auto"])
    parser.add_argument("--limit", type=float, default=300.0, help="seconds for each program")
    parser.add_argument("--output", type=Path, help="a file for the numbers, as JSON")
    given = parser.parse_args(arguments)
    found = []
    for schedule in given.schedule:
        heads = (*STAGES, "polyopt", "compiler")
        print(f"{schedule:16}" + "".join(f"{head[:9]:>10}" for head in heads))
        cases = [Case(kind, n, schedule) for kind in given.kind or KINDS for n in given.numbers]
        for one in measure_all(cases, given.limit):
            found.append(one)
            print(one, flush=True)
    if given.output is not None:
        given.output.write_text(json.dumps([asdict(one) for one in found], indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
