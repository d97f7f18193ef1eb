"""`python -m tests.gpu.standing [NAME ...]`: what must hold of the kernels of all workloads.

In: names of workloads, or none: all.  Out: a line a form; the status is 1 where something is
missed.  `--nvcc` compiles, too, where nvcc is there.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass

from tests.gpu.standing import barriers, compilers, mapping
from tests.gpu.standing.forms import forms
from workloads import registry


@dataclass(frozen=True)
class Row:
    """What was found of a form: barriers of loops and text, and what is wrong."""

    form: str
    loops: int
    text: int
    seconds: float
    wrong: tuple[str, ...]


def rows(name: str, nvcc: bool) -> list[Row]:
    """Judge all forms of a workload."""
    found = []
    for form in forms([name]):
        begun = time.monotonic()
        report = barriers.Report(str(form))
        wrong: list[str] = []
        try:
            barriers.judge(form, report)
            wrong += [*report.missed, *mapping.judge(form)]
            if nvcc:
                wrong += compilers.judge(form)
        except Exception as error:
            wrong.append(f"{type(error).__name__}: {error}"[:300])
        seconds = time.monotonic() - begun
        found.append(Row(str(form), len(report.proof), len(report.text), seconds, tuple(wrong)))
    return found


def main(argv: Sequence[str] | None = None) -> int:
    """Print the rows and their sums."""
    parser = argparse.ArgumentParser(prog="python -m tests.gpu.standing")
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--nvcc", action="store_true", help="compile for all architectures")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--minutes", type=float, help="begin no workload after so many")
    options = parser.parse_args(argv)
    names = options.names or list(registry.names())
    every: list[Row] = []
    judged, end = 0, time.monotonic() + 60.0 * (options.minutes or float("inf"))
    with ProcessPoolExecutor(options.jobs) as pool:
        for done in as_completed(pool.submit(rows, name, options.nvcc) for name in names):
            if done.cancelled():
                continue
            judged += 1
            if time.monotonic() > end:
                pool.shutdown(wait=False, cancel_futures=True)
            for row in done.result():
                every.append(row)
                told = "; ".join(row.wrong) or "right"
                print(
                    f"{row.form:32} {row.loops:3} {row.text:3} {row.seconds:6.1f} s  {told}",
                    flush=True,
                )
    wrong = sum(bool(row.wrong) for row in every)
    loops, text = sum(row.loops for row in every), sum(row.text for row in every)
    print(
        f"{judged} of {len(names)} workloads in {len(every)} forms; "
        f"barriers: {loops} of loops, {text} of texts; wrong: {wrong}"
    )
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
