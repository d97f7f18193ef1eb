"""Leave a rule of the automatic schedule for CPUs out; say what programs lose without it.

In: a rule of `RULES`.  Out: `without`, in which schedules are made without it; a `Row` for each
rule, program and level of instruction sets, and a table of them.
"""

from __future__ import annotations

import importlib
import json
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from unittest import mock

BASE = "all"
"""The schedule with all rules."""


def _nothing(*_: object, **__: object) -> None:
    return None


def _same(schedule: object, *_: object, **__: object) -> object:
    return schedule


def _none_of(*_: object, **__: object) -> frozenset[str]:
    return frozenset()


def _no_batches(schedule: object, *_: object) -> tuple[object, frozenset[str]]:
    return schedule, frozenset()


_Entry = tuple[str, str, Callable[..., object]]
"""A module of `polyopt.strategy`, a function that it calls, what is called in its place."""

ENTRIES: dict[str, tuple[_Entry, ...]] = {
    "element_sums": (("element_sums", "join_sum", _nothing),),
    "epilogues": (("contraction", "with_epilogues", _nothing),),
    "function_vectorization": (("rules", "vectorize_functions", _nothing),),
    "fusion": (("rules", "fuse_nests", _same),),
    "fusion_interchange": (("rules", "fuse_interchanged", _same),),
    "loop_privatization": (("loop_privatization", "privatize_loops", _same),),
    "mirrored_sums": (("mirrored_sums", "mirror_sums", _same),),
    "narrow_contraction": (("rules", "add_versions", _nothing),),
    "online_sums": (("online_sums", "carry_sums", _same),),
    "order": (("rules", "contiguous_innermost", _nothing),),
    "outer_vectorization": (("rules", "vectorize_outer_loops", _nothing),),
    "parallel_reductions": (("rules", "parallelize_reductions", _nothing),),
    "reduction_fusion": (
        ("rules", "fusible_reductions", _none_of),
        ("rules", "fuse_reductions", _nothing),
    ),
    "reduction_skewing": (("contraction", "skew_terms", _nothing),),
    "register_blocking": (("rules", "block_sums_in_registers", _nothing),),
    "row_block_fusion": (("row_block_fusion", "fuse_row_blocks", _nothing),),
    "row_expansion": (("auto", "expand_rows", _nothing),),
    "row_recurrences": (("rules", "jam_recurrences", _nothing),),
    "row_sum_fusion": (("rules", "fuse_row_sums", _nothing),),
    "row_sweep_fusion": (("rules", "fuse_row_sweeps", _nothing),),
    "running_rows": (
        ("running_rows", "sums_of_running_rows", _none_of),
        ("running_rows", "fuse_running_rows", _nothing),
    ),
    "short_loop_unrolling": (
        ("fusion", "unroll_short", _nothing),
        ("fusion", "with_short_inside", _nothing),
        ("outer_vectorization", "unroll_short", _nothing),
    ),
    "transpose_tiling": (("tiling", "tile_transpose", _nothing),),
    "transposed_lanes": (
        ("transposed_lanes", "small_products", _no_batches),
        ("transposed_lanes", "vectorize_rows", _nothing),
    ),
    "unroll_and_jam": (("rules", "row_sums", _none_of),),
    "wavefront_vectorization": (("wavefront_vectorization", "vectorize_wavefront", _nothing),),
}
TILINGS = {
    "blocked_factorization": "block_factorization",
    "column_strips": "strip_columns",
    "contraction": "contraction",
    "intervals": "intervals",
    "narrow_contraction": "narrow_contraction",
    "semiring_closure": "blocked_closure",
    "sums": "sums",
}
"""Rules that are a tiling of sums, in `polyopt.strategy.rules`."""
RULES = tuple(sorted({*ENTRIES, *TILINGS}))


def _module(name: str) -> Any:
    return importlib.import_module(f"polyopt.strategy.{name}")


@contextmanager
def without(rule: str) -> Iterator[None]:
    """Make automatic schedules without a rule of `RULES`, all rules for `BASE`.

    Raises `KeyError` for other names, `AttributeError` where the rule has moved.
    """
    with ExitStack() as stack:
        if rule != BASE and rule not in RULES:
            raise KeyError(f"no rule {rule} to leave out; there are {', '.join(RULES)}")
        for module, name, instead in ENTRIES.get(rule, ()):
            stack.enter_context(mock.patch.object(_module(module), name, instead))
        if rule in TILINGS:
            rules = _module("rules")
            tiling = getattr(rules, TILINGS[rule])
            for name in ("TILINGS", "INNER_TILINGS"):
                left = tuple(one for one in getattr(rules, name) if one is not tiling)
                stack.enter_context(mock.patch.object(rules, name, left))
        yield


@dataclass(frozen=True, slots=True)
class Row:
    """What a rule does to a program at a level.

    `mode` of floating point; `sizes` at which it is timed.  `seconds` with all rules, and without
    this one; `predicted` alike.
    `rounds`: calls of each; 0 where the loops are the same, or where nothing was timed yet.
    """

    rule: str
    program: str
    level: str
    mode: str
    is_same: bool
    sizes: Mapping[str, int]
    predicted: tuple[float, float]
    seconds: tuple[float, float] = (0.0, 0.0)
    rounds: int = 0
    problem: str = ""

    @property
    def is_open(self) -> bool:
        """Whether there is something to time."""
        return not (self.is_same or self.problem or self.rounds)

    @property
    def ratio(self) -> float:
        """The time without the rule over that with it."""
        return self.seconds[1] / self.seconds[0]


def summary(rows: Sequence[Row], lines: Mapping[str, int]) -> str:
    """Return a line for each rule: lines of code, programs, ratios of measured, predicted times.

    The ratio is the time without the rule over that with it.
    """
    found = [
        f"{'rule':24}{'lines':>6}{'level':>11}{'compiled':>9}{'changed':>8}{'mean':>7}"
        f"{'least':>7}{'most':>7}{'predicted':>10}"
    ]
    levels = sorted({row.level for row in rows})
    for rule in sorted({row.rule for row in rows}):
        for level in levels:
            own = [row for row in rows if row.rule == rule and row.level == level]
            timed = [row.ratio for row in own if row.rounds]
            guesses = [
                r.predicted[1] / r.predicted[0] for r in own if r.rounds and all(r.predicted)
            ]
            text = f"{rule:24}{lines.get(rule, 0):6}{level:>11}{len(own):9}{len(timed):8}"
            if timed:
                mean = statistics.geometric_mean(timed)
                text += f"{mean:7.2f}{min(timed):7.2f}{max(timed):7.2f}"
            if guesses:
                text += f"{statistics.geometric_mean(guesses):10.2f}"
            found.append(text)
    return "\n".join(found)


def load(path: Path) -> list[Row]:
    """Return the rows of a file."""
    rows = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
    pairs = ("predicted", "seconds")
    return [Row(**{k: tuple(v) if k in pairs else v for k, v in row.items()}) for row in rows]


def keep(rows: Sequence[Row], path: Path) -> None:
    """Write the rows into a file."""
    text = ",\n".join(json.dumps(asdict(row)) for row in rows)
    path.write_text(f"[\n{text}\n]\n", encoding="utf-8")
