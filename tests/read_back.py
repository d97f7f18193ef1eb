"""Emitted text read back: `python -m tests.read_back --jobs 2 --mutations 500`.

In: names of workloads, all if none; the bytes of a vector, 8 for none.
Out: how many of their texts are read and proven to be those of their loops, why the others are not,
and whether each of so many seeded changes of the texts that are read is seen.  Exit code 1 where a
text is found to differ from its loops, or a change is not seen.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
from collections import Counter
from random import Random
from typing import Any

SECONDS = 60.0
"""The budget of a compilation; and isl's operations of a comparison: see `OPERATIONS`."""
OPERATIONS = 5_000_000


def read_one(work: tuple[str, int, int]) -> tuple[str, str, list[str]]:
    """Return a workload's name, what becomes of its text, and the changes that are not seen."""
    name, changes, width = work
    from polyopt.building import compile_stages
    from polyopt.emit.text import emit_for_readers
    from polyopt.errors import PolyoptError
    from polyopt.machine import Machine
    from polyopt.targets import Options
    from tests.hostile.stages import Settled
    from workloads import registry

    options, machine = Options().changed({"budget": SECONDS}), Machine(cores=2, vector_bytes=width)
    workload = registry.get(name)
    function: Any = next(iter(workload.forms.values()))
    stages: list[Any] = []

    def made(types: Any) -> Any:
        stages.append(compile_stages(function, types, options, machine))
        return stages[-1].source

    try:
        Settled(function, made).of(tuple(workload.make("MINI").values()))
    except PolyoptError as error:
        return name, f"not compiled: {error.code}", []
    loops, program = stages[-1].loops, stages[-1].written or stages[-1].program
    text = emit_for_readers(loops, "c", program, "").text
    outcome = _compared(loops, text)
    missed = []
    if outcome == "read":
        missed = [
            kind
            for kind, other in _changed(name, text, changes)
            if _compared(loops, other) == "read"
        ]
    return name, outcome, missed


def _compared(loops: Any, text: str) -> str:
    from polyopt.errors import BudgetError
    from polyopt.ir.affine import quota
    from polyopt.textcheck.comparing import Uncompared, difference

    try:
        with quota(OPERATIONS):
            found = difference(loops, text, "f.c")
    except Uncompared as why:
        return f"not compared: {why}"
    except BudgetError as error:
        return f"not compared: {error.code}"
    return "read" if found is None else f"DIFFERS: line {found.loc.line}: {found.what}"


def _changed(name: str, text: str, count: int) -> list[tuple[str, str]]:
    """Return up to so many changes of a text, each of a kind, that a compiler would see."""
    from polyopt.textcheck.tokens import is_same
    from tests.unit.textcheck.mutations import KINDS, mutated

    found = []
    for number in range(4 * count):
        rng = Random(f"{name} {number}")
        kind = rng.choice(list(KINDS))
        other = mutated(text, kind, rng)
        if other is not None and not is_same(other, text):
            found.append((kind, other))
        if len(found) == count:
            break
    return found


def main() -> int:
    """Run the command line."""
    from workloads import registry

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--mutations", type=int, default=0, help="of all texts together, about")
    parser.add_argument("--width", type=int, default=32, help="bytes of a vector")
    options = parser.parse_args()
    names = options.names or sorted(registry.names())
    each = -(-options.mutations // max(1, len(names) // 4)) if options.mutations else 0
    outcomes: Counter[str] = Counter()
    missed: list[str] = []
    with multiprocessing.get_context("spawn").Pool(options.jobs, maxtasksperchild=20) as pool:
        for name, outcome, unseen in pool.imap_unordered(
            read_one, [(n, each, options.width) for n in names]
        ):
            print(f"{name:28} {outcome}", flush=True)
            outcomes[outcome.partition(":")[0].partition(",")[0]] += 1
            missed += [f"{name}: {kind}" for kind in unseen]
    print(f"{outcomes['read']} of {len(names)} workloads read back, {outcomes['DIFFERS']} differ")
    print(f"changes that are not seen: {missed or 'none'}")
    return int(bool(missed or outcomes["DIFFERS"]))


if __name__ == "__main__":
    sys.exit(main())
