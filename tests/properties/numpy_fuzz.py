"""Compare random NumPy-style functions with NumPy: `python -m tests.properties.numpy_fuzz`.

In: a count, a first seed, how often to compile.  Out: counts by outcome, the failing sources.
A wrong program is made smaller before it is written; refusals are counted by code.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from random import Random

from tests.properties.numpy_case import SEPARATOR, NumpyCase, to_text
from tests.properties.numpy_programs import random_program
from tests.properties.numpy_run import Outcome, Verdict, check
from tests.properties.random_sources import shrunk_lines


def verdict_of(case: NumpyCase, directory: Path, seed: int, *, compiled: bool) -> Verdict:
    """Return what becomes of a case; any exception that is no coded error is wrong."""
    try:
        return check(case, directory, seed, compiled=compiled)
    except Exception as error:
        detail = "".join(traceback.format_exception(error)[-3:])
        return Verdict(Outcome.WRONG, f"traceback {type(error).__name__}", detail)


def counted(seeds: Iterable[int], *, beyond: bool) -> Counter[Outcome]:
    """Return how many of the seeds' programs end how, interpreted only."""
    outcomes: Counter[Outcome] = Counter()
    for seed in seeds:
        case = random_program(Random(seed), beyond=beyond)
        with tempfile.TemporaryDirectory() as name:
            outcomes[verdict_of(case, Path(name), seed, compiled=False).outcome] += 1
    return outcomes


def smaller(case: NumpyCase, seed: int, verdict: Verdict, *, compiled: bool) -> NumpyCase:
    """Return a smaller case with the same verdict."""
    end = time.monotonic() + 60
    progress = True
    while progress and time.monotonic() < end:
        progress = False
        for lines in shrunk_lines(case.lines):
            candidate = replace(case, lines=lines)
            with tempfile.TemporaryDirectory() as name:
                found = verdict_of(candidate, Path(name), seed, compiled=compiled)
            if (found.outcome, found.code) == (verdict.outcome, verdict.code):
                case, progress = candidate, True
                break
            if time.monotonic() > end:
                break
    return case


def main() -> int:
    """Run the fuzzer."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--compile-every", type=int, default=10, help="0: interpret only")
    parser.add_argument("--beyond", action="store_true", help="index arrays, while, break too")
    parser.add_argument("--show-refused", action="store_true", help="print refused programs")
    parser.add_argument("--no-shrink", action="store_true", help="report programs as drawn")
    parser.add_argument("--keep", type=Path, default=None, help="append equal programs here")
    parser.add_argument("--out", type=Path, default=None, help="write failing sources here")
    options = parser.parse_args()
    outcomes: Counter[Outcome] = Counter()
    refused: Counter[str] = Counter()
    compiled_count = 0
    for seed in range(options.seed, options.seed + options.programs):
        case = random_program(Random(seed), beyond=options.beyond)
        every = options.compile_every
        compiled = every > 0 and seed % every == 0
        compiled_count += compiled
        start = time.monotonic()
        with tempfile.TemporaryDirectory() as name:
            verdict = verdict_of(case, Path(name), seed, compiled=compiled)
        if time.monotonic() - start > 15:
            print(f"seed {seed} took {time.monotonic() - start:.0f} s", flush=True)
        outcomes[verdict.outcome] += 1
        if options.keep is not None and verdict.outcome is Outcome.EQUAL:
            with options.keep.open("a", encoding="utf-8") as kept:
                kept.write(to_text(case, f"seed {seed}") + SEPARATOR)
        if verdict.outcome is Outcome.REFUSED:
            refused[verdict.code] += 1
        if verdict.outcome is Outcome.WRONG or (
            verdict.outcome is Outcome.REFUSED and options.show_refused
        ):
            _report(case, seed, verdict, compiled, options)
    total = sum(outcomes.values())
    print(f"{total} programs, {compiled_count} compiled")
    for outcome in Outcome:
        print(f"  {outcome.value}: {outcomes[outcome]}")
    for code, count in refused.most_common():
        print(f"    {code}: {count}")
    return 1 if outcomes[Outcome.WRONG] else 0


def _report(
    case: NumpyCase, seed: int, verdict: Verdict, compiled: bool, options: argparse.Namespace
) -> None:
    if not options.no_shrink:
        case = smaller(case, seed, verdict, compiled=compiled)
    title = f"seed {seed}: {verdict.outcome.value} {verdict.code}"
    print(f"-- {title}\n{verdict.detail}\n{to_text(case, title)}", flush=True)
    if options.out is not None:
        options.out.mkdir(parents=True, exist_ok=True)
        (options.out / f"seed{seed}.py").write_text(to_text(case, title), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
