"""Run the comparison: command line, loop over workloads, table and JSON.

In: a `Request` (or a command line).  Out: a `Report`, and the exit code 0, 1, 2, 3 or 4.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import workloads
from bench.baseline import NoCompiler
from bench.environment import describe
from bench.measure import measure
from bench.records import Report, Request
from bench.table import render

RESULTS = Path(__file__).parent / "results"


def run(request: Request, say: Callable[[str], None] = lambda _: None) -> Report:
    """Check and time the requested workloads one after the other; an interrupt ends it early."""
    environment = describe()
    notes = state_notes(environment)
    results = []
    try:
        for name in request.names:
            say(f"{name} at {request.dataset}")
            results.append(measure(workloads.get(name), request, say))
    except KeyboardInterrupt:
        notes += (f"Interrupted: {len(results)} of {len(request.names)} workloads were measured.",)
    return Report(request, environment, tuple(results), notes)


def state_notes(environment: Mapping[str, Any]) -> tuple[str, ...]:
    """Return what a reader must know about the machine's state."""
    load, cores = environment["machine"]["load"], environment["machine"]["cores"]
    if load < 0.25 * cores:
        return ()
    return (
        f"The machine was busy (load {load} on {cores} cores at the start): do not trust times.",
    )


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
        budget=options.budget,
        timeout=options.timeout,
        bitwise=options.bitwise,
        steps=options.steps,
    )
    say = (lambda _: None) if options.quiet else _to_stderr
    try:
        report = run(request, say)
    except NoCompiler as error:
        print(f"bench: {error}", file=sys.stderr)
        return 3
    print(render(report))
    target = _target(options, report)
    if target is not None:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(json.dumps(report.as_json(), indent=1) + "\n")
    return report.exit_code


def _to_stderr(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _target(options: argparse.Namespace, report: Report) -> Path | None:
    """Return where the JSON goes: the file asked for, or a new one in results/."""
    if options.json is not None:
        return Path(options.json)
    if not options.save:
        return None
    stamp = str(report.environment["date"])[:19].replace(":", "").replace("T", "-")
    return RESULTS / f"{report.request.dataset.lower()}-{stamp}.json"


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
    add("--budget", type=float, default=15.0, help="seconds for the samples of one (default: 15)")
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
