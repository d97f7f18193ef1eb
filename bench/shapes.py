"""Time products of matrices of many shapes: polyopt, NumPy's BLAS, plain loops compiled by gcc.

In: the shapes listed here, or `--random 200 --seed 0`; `--isa v3`, `--dtype float32`,
`--threads 1 --clock processor`.  Out: per shape the speed over the better of the two others; of
random ones geometric means by kind, how many are under 0.8, and the ten worst.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import asdict, dataclass

import numpy as np

from bench import clock
from bench.levels import LEVELS, choose
from bench.process import Conversation
from bench.shapes_worker import KERNELS, Shape

WHO = ("polyopt", "blas", "loops")
ROUNDS = 3  # in which each of them runs once
PATIENCE = 120.0  # seconds for the samples of one shape
CUBES = (1, 2, 3, 4, 5, 7, 8, 12, 15, 16, 17, 24, 31, 32, 48, 63, 64, 96, 127, 128, 256, 509)
OTHERS = ((7, 300, 300), (300, 300, 7), (300, 7, 300), (2000, 16, 16), (16, 16, 2000), (31, 61, 97))
SHAPES = tuple((n, n, n) for n in CUBES) + OTHERS
LOW = 0.8
WORST = 10
_PRIMES = (2, 3, 5, 7, 11, 13, 17, 23, 31, 47, 61, 97, 127, 191, 257, 389, 509, 761, 1021)
_POWERS = tuple(2**p + d for p in range(3, 11) for d in (-1, 1))


@dataclass(frozen=True, slots=True)
class Case:
    """One product: its operands' forms and its shape; `kind` is where the shape was drawn from."""

    kind: str
    form: str
    shape: Shape


def listed() -> list[Case]:
    """Return the shapes listed here, in every form."""
    return [Case("listed", form, shape) for form in KERNELS for shape in SHAPES]


def drawn(count: int, seed: int) -> list[Case]:
    """Return shapes drawn from a seed, the kinds in turn, in all forms of operands."""
    rng = np.random.default_rng(seed)

    def size(high: int) -> int:
        return int(np.exp(rng.uniform(0.0, np.log(high))) + 0.5)

    kinds: dict[str, Callable[[], Shape]] = {
        "small": lambda: (size(64), size(64), size(64)),
        "primes": lambda: tuple(int(rng.choice(_PRIMES)) for _ in range(3)),  # type: ignore[return-value]
        "powers": lambda: tuple(int(rng.choice(_POWERS)) for _ in range(3)),  # type: ignore[return-value]
        "tall": lambda: (size(2000) + 200, size(100), size(40)),
        "wide": lambda: (size(40), size(100), size(2000) + 200),
        "deep": lambda: (size(60), size(2000) + 200, size(60)),
        "matrix-vector": lambda: (size(2000), size(2000), 1),
        "vector-matrix": lambda: (1, size(2000), size(2000)),
        "any": lambda: (size(1200), size(1200), size(1200)),
    }
    names = list(kinds)
    found = []
    for number in range(count):
        kind = names[number % len(names)]
        found.append(Case(kind, list(KERNELS)[int(rng.integers(len(KERNELS)))], kinds[kind]()))
    return found


@dataclass(frozen=True, slots=True)
class Row:
    """Microseconds of one product, `n` by `k` by `m`; `ratio`: the better other over polyopt."""

    kind: str
    form: str
    shape: Shape
    polyopt: float
    blas: float
    loops: float

    @property
    def ratio(self) -> float:
        """Return how many times faster polyopt is than the better of the others."""
        return min(self.blas, self.loops) / self.polyopt


def asked(words: list[str]) -> argparse.Namespace:
    """Return the options; ends the process with a message where there is no such option."""
    parser = argparse.ArgumentParser(prog="python -m bench.shapes", description=__doc__)
    parser.add_argument("--isa", choices=list(LEVELS))
    parser.add_argument("--dtype", choices=["float64", "float32"], default="float64")
    parser.add_argument("--random", type=int, default=0, metavar="COUNT")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--clock", choices=clock.NAMES, default=clock.NAMES[0])
    parser.add_argument("--json", action="store_true")
    found = parser.parse_args(words)
    if found.clock != clock.NAMES[0] and found.threads != 1:
        parser.error(f"--clock {found.clock} compares one thread: --threads 1")
    return found


def measure(cases: list[Case], dtype: str, threads: int) -> list[Row]:
    """Return a row for each product: the fastest samples of each implementation, by turns.

    Each has a process of its own: threads of one wait for more work on all cores.
    """
    rows = []
    with ExitStack() as open_ones:
        workers = {
            who: open_ones.enter_context(Conversation(threads, PATIENCE, "bench.shapes_worker"))
            for who in WHO
        }

        def sample(who: str, case: Case) -> float:
            command = {"who": who, "form": case.form, "shape": case.shape, "dtype": dtype}
            return float(workers[who].ask(**command)["time"])

        for case in cases:
            rounds = [[sample(who, case) for who in WHO] for _ in range(ROUNDS)]
            rows.append(Row(case.kind, case.form, case.shape, *map(min, zip(*rounds, strict=True))))
    return rows


def main(words: list[str]) -> None:
    """Measure and print."""
    options = asked(words)
    clock.choose(options.clock)
    if options.isa is not None:
        choose(options.isa)
    cases = drawn(options.random, options.seed) if options.random else listed()
    rows = measure(cases, options.dtype, options.threads)
    if options.json:
        print(json.dumps([{**asdict(one), "ratio": one.ratio} for one in rows]))
        return
    for one in rows if not options.random else sorted(rows, key=lambda row: row.ratio)[:WORST]:
        print(line(one))
    print(*summary(rows), sep="\n")


def line(row: Row) -> str:
    """Return a product's times as a line."""
    size = "x".join(map(str, row.shape))
    return (
        f"{row.form:6} {size:>14} {row.polyopt:10.2f} us  BLAS {row.blas:10.2f}"
        f"  loops {row.loops:10.2f}  ratio {row.ratio:5.2f}"
    )


def summary(rows: list[Row]) -> list[str]:
    """Return geometric means of the ratios by kind and of all, and how many are low."""
    lines = []
    for kind in [*dict.fromkeys(row.kind for row in rows), "all"]:
        ratios = [row.ratio for row in rows if kind in (row.kind, "all")]
        low = sum(ratio < LOW for ratio in ratios)
        mean = statistics.geometric_mean(ratios)
        lines.append(f"{kind:14} geometric mean {mean:5.2f}, {low} of {len(ratios)} under {LOW}")
    return lines


if __name__ == "__main__":
    main(sys.argv[1:])
