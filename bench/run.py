"""Run the comparison: command line, loop over workloads, table and JSON.

In: a `Request` (or a command line).  Out: a `Report`, and the exit code 0, 1, 2, 3 or 4, or
128 and the number of the signal that ended it.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path

import workloads
from bench.baseline import NoCompiler
from bench.budget import Deadline
from bench.environment import describe
from bench.keep import NOWHERE, Output, Outputs, Unwritable
from bench.loop import PATIENCE, Loop
from bench.measure import measure
from bench.quiet import is_busy
from bench.records import Kind, Report, Request, WorkloadResult
from bench.table import render, three_digits

RESULTS = Path(__file__).parent / "results"
BUSY_NOTE = "Other programs kept cores busy before these, so do not trust their times: {}."


def run(
    request: Request, say: Callable[[str], None] = lambda _: None, outputs: Outputs = NOWHERE
) -> Report:
    """Check and time the requested workloads one after the other.

    A signal or the end of the budget ends the run early.  After each workload its row is said and
    the run so far is kept.
    """
    report = Report(request, describe(), ())

    def one(name: str, deadline: Deadline, busy: float) -> None:
        nonlocal report
        result = measure(workloads.get(name), request, say, deadline, busy)
        for line in rows(result):
            say(f"  {line}")
        report = replace(report, results=(*report.results, result))
        so_far = f"Unfinished: {len(report.results)} of {len(request.names)} workloads so far."
        outputs.keep(replace(report, notes=(*report.notes, so_far)), say)

    loop = Loop(request.names, "workloads", one, say, request.budget, request.patience)
    ended = loop.run()
    notes = (*report.notes, *busy_notes(report.results), *filter(None, [ended.note]))
    return replace(report, notes=notes, signal=ended.signal)


def rows(result: WorkloadResult) -> list[str]:
    """Return a line for each implementation of a workload, as it is told when it was measured."""
    lines = []
    for m in result.measurements:
        time = m.status.value if m.seconds is None else f"{three_digits(1e3 * m.seconds)} ms"
        ratio = result.ratio(m, Kind.NUMPY) if m.implementation.kind is Kind.POLYOPT else None
        lines.append(
            f"{result.name} {m.implementation}: {time}"
            + ("" if ratio is None else f", {ratio:.2f} times as fast as numpy")
        )
    return lines


def busy_notes(results: Sequence[WorkloadResult]) -> tuple[str, ...]:
    """Name the workloads before which other programs kept cores busy."""
    found = [f"{r.name} ({r.busy:.1f})" for r in results if is_busy(r.busy)]
    return (BUSY_NOTE.format(", ".join(found)),) if found else ()


def main(argv: Sequence[str] | None = None) -> int:
    """Parse a command line, run, print; return the exit code."""
    options = _parser().parse_args(argv)
    request = Request(
        names=tuple(options.only or workloads.names(options.suite)),
        dataset=options.dataset or options.size,
        threads=tuple(options.threads),
        forms=tuple(options.forms),
        fp=options.fp,
        repeat=options.repeat,
        seconds=options.seconds,
        budget=options.budget,
        patience=options.wait,
        timeout=options.timeout,
        bitwise=options.bitwise,
        steps=options.steps,
    )
    say = (lambda _: None) if options.quiet else _to_stderr
    target = _target(options, request)
    outputs = Outputs(() if target is None else (Output(target),))
    try:
        outputs.prepare()
        report = run(request, say, outputs)
        print(render(report))
        outputs.write(report)
    except NoCompiler as error:
        print(f"bench: {error}", file=sys.stderr)
        return 3
    except Unwritable as error:
        print(f"bench: {error}", file=sys.stderr)
        return 2
    return report.exit_code


def _to_stderr(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _target(options: argparse.Namespace, request: Request) -> Path | None:
    """Return where the JSON goes: the file asked for, or a new one in results/."""
    if options.json is not None:
        return Path(options.json)
    if not options.save:
        return None
    stamp = datetime.now(timezone.utc).strftime("%Y-%m-%d-%H%M%S")
    return RESULTS / f"{request.dataset.lower()}-{stamp}.json"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m bench",
        description="Compare polyopt with NumPy and with the same loops under gcc.",
    )
    add = parser.add_argument
    add("size", nargs="?", default="LARGE", choices=workloads.DATASETS, help="the data set")
    add("--dataset", choices=workloads.DATASETS, help="the data set, as an option")
    add("--only", type=_names, help="names of workloads, comma-separated (default: all)")
    add("--suite", choices=workloads.SUITES, help="a suite (default: all)")
    add("--threads", type=_counts, default=(1, 2), help="thread counts of polyopt (default: 1,2)")
    add("--forms", type=_forms, default=("loops", "numpy"), help="loops,numpy (default: both)")
    add("--fp", choices=("strict", "reassociate", "fast"), default="strict")
    add("--repeat", type=_count, default=5, help="samples of each implementation (default: 5)")
    add("--seconds", type=float, default=15.0, help="for the samples of one (default: 15)")
    add("--budget", type=float, help="seconds for the run, compiling included (default: no limit)")
    add("--wait", type=float, default=PATIENCE, help="seconds for a quiet machine (default: 10)")
    add("--timeout", type=float, default=300.0, help="seconds one call may take (default: 300)")
    add("--steps", type=_count, help="at most this many time steps in time loops")
    add("--bitwise", action="store_true", help="compare bit by bit with C at every size")
    add("--json", metavar="FILE", help="write the report there")
    add("--save", action="store_true", help="write the report to bench/results/")
    add("-q", "--quiet", action="store_true", help="no progress on standard error")
    return parser


def _words(text: str, allowed: tuple[str, ...], what: str) -> tuple[str, ...]:
    words = tuple(word.strip() for word in text.split(",") if word.strip())
    for word in words:
        if word not in allowed:
            raise argparse.ArgumentTypeError(f"no {what} {word}; there are {', '.join(allowed)}")
    if not words:
        raise argparse.ArgumentTypeError(f"no {what} given; there are {', '.join(allowed)}")
    return words


def _names(text: str) -> tuple[str, ...]:
    return _words(text, workloads.names(), "workload")


def _forms(text: str) -> tuple[str, ...]:
    return _words(text, ("loops", "numpy"), "form")


def _count(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a count of at least 1")
    return int(text)


def _counts(text: str) -> tuple[int, ...]:
    return tuple(_count(part) for part in text.split(","))
