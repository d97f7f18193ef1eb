"""How long a call would take on more ranks: a model of computation, latency and bandwidth.

In: volumes, the time on one rank.  Out: the predicted time for each number of ranks.
A rank computes its share; a message takes the latency and its bytes over the bandwidth (Hockney,
"The communication challenge for MPP", 1994); collectives take as many rounds as the ranks have bits
(Thakur, Rabenseifner and Gropp, "Optimization of collective communication operations in MPICH",
2005).  A pipeline begins once the ranks before have done their first part.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import sympy

from polyopt.dataclass import dataclass
from polyopt.distribution.execution import Plan
from polyopt.distribution.forms import Form
from polyopt.distribution.volume import RANKS, Volume, volumes
from polyopt.errors import UsageError

COUNTS = tuple(2**n for n in range(4, 13))
"""Numbers of ranks that are beyond one machine: 16 to 4096."""
LATENCY = 2e-6
"""Seconds that a message takes at least, as on current fast networks."""
BANDWIDTH = 12e9
"""Bytes a second of a rank's link, as 100 Gbit/s."""
_REDUCING = (Form.ALL_REDUCE.value, Form.REDUCE_SCATTER.value, Form.SCAN.value)
_COLLECTIVE = (Form.ALL_GATHER.value, Form.BROADCAST.value, *_REDUCING)


@dataclass(frozen=True, slots=True)
class Predicted:
    """Seconds of a call on so many ranks, and what they are made of."""

    ranks: int
    compute: float
    latency: float
    transfer: float
    efficiency: float

    @property
    def seconds(self) -> float:
        """The sum: nothing overlaps."""
        return self.compute + self.latency + self.transfer


@dataclass(frozen=True, slots=True)
class Scaling:
    """Predictions for one call: with the same sizes, or with the same block for each rank."""

    weak: bool
    alone: float
    predicted: tuple[Predicted, ...]

    def __str__(self) -> str:
        kind = "weak scaling, the same block for each rank" if self.weak else "strong scaling"
        lines = [f"{kind}; one rank takes {self.alone * 1e3:.4g} ms"]
        lines.append(" ranks   total ms  compute  latency  transfer  efficiency")
        lines += [
            f"{p.ranks:6d} {p.seconds * 1e3:10.4g} {p.compute * 1e3:8.3g} {p.latency * 1e3:8.3g} "
            f"{p.transfer * 1e3:9.3g} {p.efficiency:10.0%}"
            for p in self.predicted
        ]
        return "\n".join(lines)


def scaling(
    plan: Plan,
    sizes: Mapping[str, int],
    alone: float,
    ranks: Sequence[int] = COUNTS,
    *,
    weak: bool = False,
    latency: float = LATENCY,
    bandwidth: float = BANDWIDTH,
) -> Scaling:
    """Return predictions for a call that takes `alone` seconds on one rank.

    `latency` is in seconds, `bandwidth` in bytes a second for each rank.  Raises `UsageError`
    PO0858 where a volume has no formula.
    """
    listed = volumes(plan)
    missing = [volume.array for volume in listed if volume.bytes is None]
    if missing:
        raise UsageError(
            "PO0858",
            f"there is no formula for what is sent of `{missing[0]}`",
            hint="run it on a few ranks: `sent` of the kernel counts the bytes",
        )
    found = [_predicted(listed, sizes, alone, count, weak) for count in ranks]
    return Scaling(
        weak, alone, tuple(_timed(*one, alone, weak, latency, bandwidth) for one in found)
    )


def _value(expr: sympy.Expr, sizes: Mapping[str, int], ranks: int) -> float:
    values = {sympy.Symbol(name, integer=True): value for name, value in sizes.items()}
    return float(sympy.sympify(expr).subs({**values, RANKS: ranks}))


def _predicted(
    listed: Sequence[Volume], sizes: Mapping[str, int], alone: float, ranks: int, weak: bool
) -> tuple[int, float, float, float]:
    """Return the seconds a rank computes, its messages in a row and its bytes."""
    messages = amount = 0.0
    compute = alone if weak else alone / ranks
    for volume in listed:
        assert volume.bytes is not None
        assert volume.messages is not None
        share = _value(volume.bytes, sizes, ranks) / ranks
        count = _value(volume.messages, sizes, ranks)
        if volume.form in _COLLECTIVE:
            calls = count if volume.form in _REDUCING else count / max(1, ranks - 1)
            calls = calls / ranks if volume.form == Form.ALL_GATHER.value else calls
            messages += calls * math.ceil(math.log2(max(ranks, 1)))
            amount += share * (2 if volume.form == Form.ALL_REDUCE.value else 1)
            amount += share * (ranks - 1) if weak and volume.form == Form.ALL_GATHER.value else 0
            continue
        messages += count / ranks
        amount += share
        if volume.form == "pipeline" and count:
            parts = count / max(1, ranks - 1)
            compute += (alone if weak else alone / ranks) * (ranks - 1) / parts
    return ranks, compute, messages, amount


def _timed(
    ranks: int, compute: float, messages: float, amount: float, alone: float, weak: bool,
    latency: float, bandwidth: float,
) -> Predicted:  # fmt: skip
    times = compute, messages * latency, amount / bandwidth
    ideal = alone if weak else alone / ranks
    return Predicted(ranks, *times, ideal / max(sum(times), 1e-30))
