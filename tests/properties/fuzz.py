"""Fuzzing from the command line: `python -m tests.properties.fuzz --count N --seed S [--kind K]`.

In: seeds.  Out: failures, each shrunk to a small program that reproduces it; exit code 1 if any.
"""

from __future__ import annotations

import argparse
import faulthandler
import multiprocessing
import os
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from random import Random
from typing import TextIO

from polyopt.emit import emit_c, optimize_loops
from polyopt.ir.interp import run_loops
from polyopt.ir.loops import LoopFunction
from tests.conftest import build, call_entry
from tests.oracle.hashed import hashed
from tests.properties.random_sources import SourceCase, random_source, shrunk_lines
from tests.properties.random_specs import random_spec
from tests.properties.schedules import (
    MACHINE,
    Execute,
    check_schedule,
    random_schedule,
    sizes_for,
    starting_points,
)
from tests.properties.sources import Refused, check_source
from tests.properties.spec import Spec, build_scop, show_spec, shrunk


@dataclass(frozen=True, slots=True)
class Failure:
    """One failing case, as small as deletion makes it."""

    seed: int
    program: str
    steps: str
    error: str

    def __str__(self) -> str:
        return f"--- seed {self.seed}\n{self.program}{self.steps}\n{self.error}\n"


class Optimized:
    """Runs loops after all loop passes in the interpreter; they are optimized once."""

    def __init__(self, shuffle: Random | None) -> None:
        self.shuffle = shuffle
        self.made: tuple[LoopFunction, LoopFunction] | None = None

    def __call__(self, loops: LoopFunction, arrays, params) -> None:
        if self.made is None or self.made[0] is not loops:
            self.made = loops, optimize_loops(loops, MACHINE, "strict")
        run_loops(self.made[1], arrays, params, shuffle=self.shuffle)


class Compiled:
    """Runs loops as C; each function is built once."""

    def __init__(self, directory: Path, flags: tuple[str, ...] = ()) -> None:
        self.directory = directory
        self.flags = ("-std=c11", "-O1", "-fopenmp", "-ffp-contract=off", "-w", *flags)
        self.built: dict[int, tuple] = {}

    def __call__(self, loops: LoopFunction, arrays, params) -> None:
        if id(loops) not in self.built:
            source = emit_c(optimize_loops(loops, MACHINE, "strict"))
            self.built = {
                id(loops): (loops, source, build(source.text, self.directory, self.flags))
            }
        _, source, library = self.built[id(loops)]
        call_entry(library, source, arrays, params, {})


def check_spec(
    spec: Spec, seed: int, auto: bool = True, directory: Path | None = None
) -> list[str]:
    """Check one program under its own, the automatic and a random schedule; return what was run."""
    rng = Random(seed)
    scop = hashed(build_scop(spec))
    executes: list[Execute] = [Optimized(rng)]
    if directory is not None:
        executes.append(Compiled(directory))
    seen = []
    for start in starting_points(scop, auto):
        check_schedule(scop, start, sizes_for(spec.least), rng, tuple(executes))
        schedule, _ = random_schedule(rng, start, rng.choice((2, 4, 8)))
        seen.append(schedule.text)
        if schedule is not start:
            check_schedule(scop, schedule, sizes_for(spec.least), rng, tuple(executes))
    return seen


def shrink(spec: Spec, fails: Callable[[Spec], bool], budget: float = 60.0) -> Spec:
    """Return the smallest program found by deletion that still fails."""
    end = time.monotonic() + budget
    progress = True
    while progress and time.monotonic() < end:
        progress = False
        for smaller in shrunk(spec):
            if time.monotonic() > end:
                break
            if fails(smaller):
                spec, progress = smaller, True
                break
    return spec


def run_one(
    seed: int, auto: bool, directory: Path | None, tries: int = 1, smaller: bool = True
) -> Failure | None:
    """Check one random program; return its shrunk failure."""
    spec = random_spec(Random(seed))

    def error_of(candidate: Spec) -> str | None:
        for attempt in range(tries):
            error = _error(candidate, seed + 7919 * attempt, auto, directory)
            if error is not None:
                return error
        return None

    error = error_of(spec)
    if error is None:
        return None
    kind = error.strip().splitlines()[-1][:30]

    def fails(candidate: Spec) -> bool:
        tries_here = 6
        for attempt in range(tries_here):
            found = _error(candidate, seed + 7919 * attempt, auto, directory)
            if found is not None:
                return found.strip().splitlines()[-1][:12] == kind[:12]
        return False

    small = shrink(spec, fails) if smaller else spec
    final = next(
        (e for e in (_error(small, seed + 7919 * n, auto, directory) for n in range(6)) if e),
        error,
    )
    return Failure(seed, show_spec(small), f"# least size {small.least}", final)


def _error(spec: Spec, seed: int, auto: bool, directory: Path | None) -> str | None:
    return isolated(partial(_spec_error, spec, seed, auto, directory))


def _spec_error(spec: Spec, seed: int, auto: bool, directory: Path | None) -> str | None:
    try:
        check_spec(spec, seed, auto, directory)
    except Exception:
        return traceback.format_exc(limit=-5)
    return None


LIMIT = 60


def isolated(call: Callable[[], str | None], limit: int = LIMIT) -> str | None:
    """Return what `call` returns, run in a process: crashes and endless runs are errors."""
    with tempfile.TemporaryFile("w+") as stack:
        receiver, sender = multiprocessing.Pipe(duplex=False)
        child = multiprocessing.get_context("fork").Process(
            target=_serve, args=(call, sender, stack)
        )
        child.start()
        sender.close()
        child.join(limit)
        if child.is_alive():
            child.kill()
            child.join()
            stack.seek(0)
            places = [line.strip() for line in stack.read().splitlines()[1:6]]
            return f"endless: {limit} s\n" + "\n".join(places)
        try:
            answer: str | None = receiver.recv()
        except EOFError:
            return f"crash: exit code {child.exitcode}"
        return answer


def _serve(call: Callable[[], str | None], sender: Connection, stack: TextIO) -> None:
    faulthandler.dump_traceback_later(LIMIT * 3 // 4, file=stack)
    sender.send(call())
    faulthandler.cancel_dump_traceback_later()


def source_error(case: SourceCase, seed: int, directory: Path) -> str | None:
    """Return how a NumPy-style program fails, or "refused: …", or None."""
    return isolated(partial(_source_error, case, seed, directory))


def _source_error(case: SourceCase, seed: int, directory: Path) -> str | None:
    try:
        check_source(case, directory, seed)
    except Refused as refusal:
        return f"refused: {refusal}"
    except Exception:
        return traceback.format_exc(limit=-4)
    return None


def fuzz_sources(options: argparse.Namespace) -> int:
    """Run random NumPy-style programs; refusals are counted and shown once per code."""
    failures, refusals = 0, Counter()
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        os.environ["POLYOPT_CACHE_DIR"] = name
        for seed in range(options.seed, options.seed + options.count):
            case = random_source(Random(seed))
            start = time.monotonic()
            error = source_error(case, seed, directory)
            if time.monotonic() - start > 30:
                print(f"seed {seed} took {time.monotonic() - start:.0f} s\n{case.text}", flush=True)
            if error is None:
                continue
            kind = signature(error)
            refusals[kind] += 1
            if refusals[kind] > 1:
                continue
            failures += not error.startswith("refused")
            if not options.no_shrink:
                case, error = shrink_source(case, error, seed, directory)
            print(
                f"--- seed {seed} exact={case.exact} {case.arrays}\n{case.text}{error}\n",
                flush=True,
            )
            if failures >= options.stop:
                break
    print(f"{failures} kinds of failures; {dict(refusals)}")
    return 1 if failures else 0


def signature(error: str) -> str:
    """Return what tells one kind of failure from another."""
    if error.startswith("refused"):
        return error.partition("]")[0]
    if error.startswith(("endless", "crash")):
        return error.partition(":")[0]
    return error.strip().splitlines()[-1][:24]


def shrink_source(
    case: SourceCase, error: str, seed: int, directory: Path
) -> tuple[SourceCase, str]:
    """Return a smaller program with the same kind of failure."""
    end = time.monotonic() + (240 if error.startswith("endless") else 60)
    progress = True
    while progress and time.monotonic() < end:
        progress = False
        for lines in shrunk_lines(case.lines):
            smaller = replace(case, lines=lines)
            found = source_error(smaller, seed, directory)
            if found is not None and signature(found) == signature(error):
                case, error, progress = smaller, found, True
                break
            if time.monotonic() > end:
                break
    return case, error


def main() -> int:
    """Run the fuzzer."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--no-auto", action="store_true", help="leave the automatic schedule out")
    parser.add_argument("--no-shrink", action="store_true", help="report failures as found")
    parser.add_argument("--compile", action="store_true", help="build and run the C text too")
    parser.add_argument("--sources", action="store_true", help="functions in NumPy's style")
    parser.add_argument("--stop", type=int, default=5, help="stop after this many failures")
    options = parser.parse_args()
    if options.sources:
        return fuzz_sources(options)
    failures = 0
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name) if options.compile else None
        for seed in range(options.seed, options.seed + options.count):
            start = time.monotonic()
            failure = run_one(seed, not options.no_auto, directory, smaller=not options.no_shrink)
            if time.monotonic() - start > 20 and failure is None:
                print(f"seed {seed} took {time.monotonic() - start:.0f} s", flush=True)
            if failure is not None:
                failures += 1
                print(failure, flush=True)
                if failures >= options.stop:
                    break
    print(f"{failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
