"""Run the benchmark of gradients: command line, a process for each side, rows, a file.

In: a command line.  Out: the exit code: 1 where a gradient is wrong or missing, else 0.
Every workload is differentiated in its NumPy form, in explicit loops where that is refused or not
there; `NAME:FORM` asks for one form.
"""

from __future__ import annotations

import argparse
import atexit
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil
from pathlib import Path
from typing import Any

import workloads
from bench.environment import describe
from bench.gradients import jax_twin
from bench.gradients.records import HEAD, Row, as_json, line, summary
from bench.keep import Output, Outputs, Unwritable
from bench.loop import PATIENCE, Loop
from bench.process import Conversation, WorkerFailure

ROUNDS = 9
SAMPLE_SECONDS = 0.005  # shorter calls are made several times in a round
MOST_SECONDS = 6.0  # for all samples of one gradient
FORMS = ("numpy", "loops")


@dataclass(frozen=True, slots=True)
class Asked:
    """What to run."""

    names: tuple[str, ...]
    dataset: str
    options: dict[str, Any]
    check: bool
    jax: bool
    timeout: float


def measure(text: str, asked: Asked) -> Row:
    """Return the row of the first form that has a gradient, or of the last."""
    name, _, form = text.partition(":")
    workload = workloads.get(name)
    chosen = (form,) if form else tuple(f for f in FORMS if f in workload.forms)
    row = Row(name, "", "")
    for number, one in enumerate(chosen):
        row = _measured(workload, one, asked)
        if row.skipped or row.right or number == len(chosen) - 1:
            break
    return row


def _measured(workload: workloads.Workload, form: str, asked: Asked) -> Row:
    row = Row(workload.name, form, workload.dtype.name)
    threads = asked.options["threads"]
    dataset = asked.dataset if asked.dataset in workload.sizes else list(workload.sizes)[-1]
    with tempfile.TemporaryDirectory(prefix="polyopt-gradients-") as folder:
        task = {
            "do": "load",
            "workload": workload.name,
            "form": form,
            "dataset": dataset,
            "options": asked.options,
            "check": asked.check,
            "path": str(Path(folder) / "found.pickle"),
        }
        with _started(threads, asked) as ours, _started(threads, asked) as theirs:
            try:
                reply = ours.ask(who="polyopt", **task)
            except WorkerFailure as failure:
                return replace(row, note=str(failure))
            if "skipped" in reply:
                return replace(row, note=reply["skipped"], skipped=True)
            row = replace(row, right=reply.pop("right"), error=reply.pop("error"))
            row = replace(row, note="" if row.right else f"by `{reply['worst']}`")
            if asked.check:
                return row
            del reply["worst"]
            row = replace(row, seconds=reply)
            sides = [ours]
            if asked.jax:
                try:
                    found = theirs.ask(who="jax", **task)
                    row = replace(row, jax_error=found.pop("jax error"))
                    row = replace(row, seconds={**row.seconds, **found})
                    sides.append(theirs)
                except WorkerFailure as failure:
                    row = replace(row, jax_note=str(failure)[:90])
            try:
                return replace(row, samples=_samples(sides))
            except WorkerFailure as failure:
                return replace(row, note=str(failure))


def _started(threads: int, asked: Asked) -> Conversation:
    return Conversation(threads, asked.timeout, "bench.gradients.worker")


def _samples(sides: Sequence[Conversation]) -> dict[str, list[float]]:
    """Take samples of all sides in turn; a first call of each does not count."""
    spent = [sum(sum(s) for s in _one(side, 1).values()) for side in sides]
    count = max(1, min(50, ceil(SAMPLE_SECONDS / max(min(spent), 1e-7))))
    rounds = max(2, min(ROUNDS, int(MOST_SECONDS / max(sum(spent) * count, 1e-7))))
    found: dict[str, list[float]] = {}
    for _ in range(rounds):
        for side in sides:
            for what, samples in _one(side, count).items():
                found.setdefault(what, []).extend(samples)
    return found


def _one(side: Conversation, count: int) -> dict[str, list[float]]:
    samples: dict[str, list[float]] = side.ask(do="time", count=count)["samples"]
    return samples


def main(argv: Sequence[str] | None = None) -> int:
    """Parse a command line, run, print; return the exit code."""
    options = _parser().parse_args(argv)
    has_jax = not options.check and jax_twin.is_there()
    chosen = {"threads": options.threads, "fp": options.fp}
    names = tuple(options.names) or workloads.names()
    asked = Asked(names, options.dataset, chosen, options.check, has_jax, options.timeout)
    outputs = Outputs(_outputs(options, chosen))
    rows: list[Row] = []

    def one(name: str, *_: object) -> None:
        rows.append(measure(name, asked))
        print(line(rows[-1]), flush=True)
        outputs.keep(rows, _to_stderr)

    try:
        outputs.prepare()
        _use_fresh_cache()
        if not has_jax and not options.check:
            print("JAX is not installed: `pip install jax` to compare with it")
        print(HEAD)
        patience = None if options.check else options.wait
        ended = Loop(names, "gradients", one, _to_stderr, options.budget, patience).run()
        print(*summary(rows), *filter(None, [ended.note]), sep="\n")
        outputs.write(rows)
    except Unwritable as error:
        print(f"bench: {error}", file=sys.stderr)
        return 2
    if ended.signal:
        return 128 + ended.signal
    return 0 if all(row.right or row.skipped for row in rows) else 1


def _use_fresh_cache() -> None:
    """Let every kernel be compiled, where the user has not said where compiled ones are."""
    if "POLYOPT_CACHE_DIR" not in os.environ:
        folder = tempfile.mkdtemp(prefix="polyopt-gradients-")
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        os.environ["POLYOPT_CACHE_DIR"] = folder


def _outputs(options: argparse.Namespace, chosen: dict[str, Any]) -> tuple[Output, ...]:
    if options.json is None:
        return ()
    about = {**describe(), "dataset": options.dataset, **chosen}

    def text(rows: Sequence[Row]) -> str:
        return json.dumps(as_json(rows, about), indent=1) + "\n"

    return (Output(Path(options.json), text),)


def _to_stderr(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench.gradients", description=__doc__)
    add = parser.add_argument
    add("names", nargs="*", help="workloads, or WORKLOAD:FORM (default: all)")
    add("--dataset", choices=workloads.DATASETS, default="SMALL")
    add("--threads", type=int, default=1)
    add("--fp", choices=("strict", "reassociate", "fast"), default="strict")
    add("--check", action="store_true", help="compare with differences only")
    add("--timeout", type=float, default=240.0, help="seconds one answer may take")
    add("--budget", type=float, help="seconds for the run (default: no limit)")
    add("--wait", type=float, default=PATIENCE, help="seconds for a quiet machine (default: 10)")
    add("--json", metavar="FILE")
    return parser
