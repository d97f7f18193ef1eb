"""What came out for one gradient, and what all of them amount to.

In: answers of workers.  Out: `Row`, lines of text, JSON values.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from statistics import median
from typing import Any

FOUR = 4.0
AGREES = {"float64": 1e-6, "float32": 1e-2}
"""The largest difference, relative to the largest element, at which JAX computes the same."""


@dataclass(frozen=True, slots=True)
class Row:
    """The gradient of one form of a workload.

    `note` says why there is none, `jax_note` why JAX has none; `samples` are seconds.
    `skipped`: there is nothing to differentiate.
    """

    name: str
    form: str
    dtype: str
    skipped: bool = False
    right: bool = False
    error: float | None = None
    note: str = ""
    seconds: dict[str, float] = field(default_factory=dict)
    samples: dict[str, list[float]] = field(default_factory=dict)
    jax_error: float | None = None
    jax_note: str = ""

    def time(self, what: str) -> float | None:
        """Return the median of the samples of `primal`, `gradient` or `jax`."""
        found = self.samples.get(what)
        return median(found) if found else None

    @property
    def ratio(self) -> float | None:
        """How many times as long as the function its gradient takes."""
        return _quotient(self.time("gradient"), self.time("primal"))

    @property
    def ahead(self) -> float | None:
        """How many times as long as the gradient JAX's takes, where it is the same gradient."""
        if self.jax_error is None or not self.jax_error <= AGREES[self.dtype]:
            return None
        return _quotient(self.time("jax"), self.time("gradient"))


def _quotient(one: float | None, other: float | None) -> float | None:
    return None if one is None or not other else one / other


COLUMNS = ("compile", "primal ms", "gradient ms", "ratio", "jax ms", "jax/ours", "error")
HEAD = f"{'':32}" + "".join(f"{column:>12}" for column in COLUMNS)


def line(row: Row) -> str:
    """Return a row of the table."""
    head = f"{row.name + ':' + row.form:32}"
    if row.skipped or row.error is None:
        return f"{head}  {'skipped' if row.skipped else 'no gradient'}: {row.note}"
    cells = (
        _text(row.seconds.get("compile"), 2),
        *(_text(row.time(what), 4, 1e3) for what in ("primal", "gradient")),
        _text(row.ratio, 2),
        _text(row.time("jax"), 4, 1e3),
        _text(row.ahead, 2),
        f"{row.error:.1e}",
    )
    notes = [] if row.right else ["WRONG"]
    notes += [text for text in (row.note, row.jax_note and f"JAX: {row.jax_note}") if text]
    return head + "".join(f"{cell:>12}" for cell in cells) + "".join(f"  {note}" for note in notes)


def _text(value: float | None, digits: int, scale: float = 1.0) -> str:
    return "-" if value is None else f"{scale * value:.{digits}f}"


def summary(rows: Sequence[Row]) -> list[str]:
    """Return the counts at the end of a run."""
    asked = [row for row in rows if not row.skipped]
    ratios = [row.ratio for row in asked if row.ratio is not None and row.right]
    ahead = [row.ahead for row in asked if row.ahead is not None and row.right]
    found = [
        f"right: {sum(row.right for row in asked)} of {len(asked)}"
        f" ({len(rows) - len(asked)} skipped: nothing to differentiate)"
    ]
    if ratios:
        few = sum(ratio <= FOUR for ratio in ratios)
        found.append(
            f"at most {FOUR:.0f} times the function's time: {few} of {len(ratios)}"
            f" (geometric mean {_mean(ratios):.2f})"
        )
    if ahead:
        found.append(
            f"JAX's time over ours: {_mean(ahead):.2f} (geometric mean of {len(ahead)})"
            f", ahead in {sum(ratio > 1.0 for ratio in ahead)}"
        )
    return found


def _mean(ratios: Sequence[float]) -> float:
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def as_json(rows: Sequence[Row], about: dict[str, Any]) -> dict[str, Any]:
    """Return a run as JSON values."""
    listed = [{**asdict(row), "ratio": row.ratio, "ahead": row.ahead} for row in rows]
    return {"format": 1, **about, "summary": summary(rows), "rows": listed}
