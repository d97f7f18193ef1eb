"""`python -m tests.hostile`: random programs through the compiler, compared with Python.

In: seeds.  Out: a table, a record, findings shrunk to small programs; exit code 1 if any.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from functools import partial
from pathlib import Path

from tests.hostile.generator import generate, is_ordinary
from tests.hostile.pool import BATCH, Result, alone, run_tasks, tasks_of
from tests.hostile.report import Report, read
from tests.hostile.shrink import shrunk
from tests.hostile.stages import Setting, one, settings
from tests.hostile.verdicts import Verdict

SAVED_EVERY = 60.0


def main(arguments: list[str] | None = None) -> int:
    """Run the command line."""
    options = _options(arguments)
    report = read(options.resume, options.target) if options.resume else Report(options.target)
    chosen = settings(options.mode, tuple(map(int, options.threads.split(","))))
    done = set(report.seeds)
    seeds = [s for s in range(options.seed, options.seed + options.count) if s not in done]
    batch = options.batch if options.target == "c" else 20
    if options.minutes:  # so that something is done in time
        batch = min(batch, 10)
    start = saved = time.monotonic()
    before, seen = report.seconds, set[tuple[str, str]]()
    warnings.simplefilter("ignore")  # of Python's compiler, on what a shrinker tries
    end = start + 60 * options.minutes if options.minutes else float("inf")
    results = run_tasks(tasks_of(seeds, options.target, chosen, batch), options.jobs, end)
    for result in results:
        report.add(result, ordinary=is_ordinary(result.seed))
        now = time.monotonic()
        report.seconds = before + now - start
        kind = (result.verdict.outcome.value, result.verdict.code)
        if result.verdict.outcome.is_finding:
            shown = f"{kind[0]}, {kind[1]}: {result.verdict.text[:200]}"
            print(f"seed {result.seed}: {shown}", flush=True)
            if options.findings and kind not in seen:
                seen.add(kind)
                keep(options.findings, result, chosen)
        if options.resume and now - saved > SAVED_EVERY:
            saved = now
            report.write(options.resume)
    results.close()
    print(report.table())
    if options.resume:
        report.write(options.resume)
    return 1 if report.findings else 0


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="tests.hostile", description=__doc__)
    parser.add_argument("--seed", type=int, default=0, help="the first program's")
    parser.add_argument("--count", type=int, default=1000, help="of programs")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--mode", choices=("strict", "reassociate", "both"), default="both")
    parser.add_argument("--threads", default="1,2", help="numbers of threads, of C only")
    parser.add_argument("--target", choices=("interp", "c", "emulator"), default="interp")
    parser.add_argument("--resume", type=Path, help="a file with the report, which is gone on with")
    parser.add_argument("--minutes", type=float, help="begin nothing after so many")
    parser.add_argument("--batch", type=int, default=BATCH, help="programs in a run of gcc")
    parser.add_argument("--findings", type=Path, help="a folder for shrunk programs, one a kind")
    return parser.parse_args(arguments)


def keep(directory: Path, result: Result, chosen: tuple[Setting, ...]) -> Path:
    """Write the smallest program that goes wrong as the result says."""
    directory.mkdir(parents=True, exist_ok=True)
    program, verdict = small(result.seed, result.target, result.verdict, chosen)
    path = directory / f"{result.target}_{result.seed}.py"
    note = f"seed {result.seed}, {result.target}: {verdict.outcome.value}, {verdict.code}"
    path.write_text(program.show(f"{note}\n{verdict.text}"), encoding="utf-8")
    return path


def small(seed: int, target: str, verdict: Verdict, chosen: tuple[Setting, ...]):
    """Return the shrunk program of a seed, and its verdict."""
    run = partial(_run, target, chosen)
    program = generate(seed)
    program = shrunk(program, lambda smaller: alone(run, smaller, 60.0).is_like(verdict))
    return program, alone(run, program, 60.0)


def _run(target, chosen, program, directory):
    return one(program, target, directory, chosen)


if __name__ == "__main__":
    sys.exit(main())
