"""Compare a kernel's results with the undecorated function's, under a bound on rounding.

In: both results, the Program, the sizes.  Out: `Comparison` per array.
Refuses: a difference above the bound (`MismatchError` PO0617) with the first differing element.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import islpy as isl
import numpy as np
from numpy.typing import NDArray

from polyopt.cli.exits import MismatchError
from polyopt.ir.expr import Binary, Call, Unary, walk
from polyopt.ir.program import Program
from polyopt.ir.scop import Statement

_SLACK = 8


@dataclass(frozen=True, slots=True)
class Comparison:
    """How one array of a kernel's results differs from the reference."""

    name: str
    bitwise: bool
    error: float
    bound: float


def count_terms(program: Program, sizes: Mapping[str, int]) -> int:
    """Return an upper bound on the roundings that lead to one element of a result.

    Each statement contributes its operations times how often it writes one element, both read off
    the bounding boxes of its iterations and of the elements it writes.
    """
    total = 0
    for statement in (s for scop in program.scops for s in scop.statements):
        roundings = sum(isinstance(e, Binary | Call | Unary) for e in walk(statement.value))
        total += roundings * _writes_per_element(statement, sizes)
    return total


def _writes_per_element(statement: Statement, sizes: Mapping[str, int]) -> int:
    domain = _fix(statement.domain, sizes)
    if domain.is_empty():
        return 0
    cells = statement.write.relation.intersect_domain(statement.domain).range()
    elements = _box(_fix(cells, sizes)) if statement.write.exact else 1
    return -(-_box(domain) // max(1, elements))


def _fix(value: isl.Set, sizes: Mapping[str, int]) -> isl.Set:
    for position in range(value.dim(isl.dim_type.param)):
        name = str(value.get_dim_name(isl.dim_type.param, position))
        value = value.fix_val(isl.dim_type.param, position, isl.Val(sizes[name]))
    return value


def _box(value: isl.Set) -> int:
    """The points of the bounding box; 1 for a dimension without bounds."""
    volume = 1
    for d in range(value.dim(isl.dim_type.set)):
        low, high = value.dim_min_val(d), value.dim_max_val(d)
        if low.is_int() and high.is_int():
            volume *= int(high.to_python()) - int(low.to_python()) + 1
    return volume


def compare(name: str, got: object, want: object, scale: float, terms: int) -> Comparison:
    """Compare one array; raises `MismatchError`.  `scale` is the largest input element."""
    left, right = np.asarray(got), np.asarray(want)
    if left.shape != right.shape:
        raise MismatchError(
            "PO0617",
            f"`{name}` has shape {left.shape}, the Python function gives {right.shape}",
        )
    if left.tobytes() == right.astype(left.dtype).tobytes():
        return Comparison(name, True, 0.0, 0.0)
    bound = _bound(left.dtype, right, scale, terms)
    difference = _difference(left, right)
    worst = float(difference.max(initial=0.0))
    if not worst <= bound:
        raise _mismatch(name, left, right, difference, bound)
    return Comparison(name, False, worst, bound)


def _bound(dtype: np.dtype[Any], want: NDArray[Any], scale: float, terms: int) -> float:
    if dtype.kind not in "fc":
        return 0.0
    finite = np.abs(want[np.isfinite(want)])
    largest = max(scale, float(finite.max(initial=0.0)))
    return 2.0 * (terms + _SLACK) * float(np.finfo(dtype).eps) * largest


def _difference(got: NDArray[Any], want: NDArray[Any]) -> NDArray[np.float64]:
    """Element-wise distance; equal infinities and NaNs are 0 apart, unequal ones infinitely far."""
    if got.dtype.kind not in "fc":
        unequal: NDArray[np.float64] = np.asarray(got != want, dtype=np.float64)
        return unequal
    with np.errstate(all="ignore"):
        wide = got.astype(np.complex128) - want.astype(np.complex128)
        distance: NDArray[np.float64] = np.array(np.abs(wide))
    same = (got == want) | (np.isnan(got) & np.isnan(want))
    distance[same] = 0.0
    distance[~same & ~np.isfinite(distance)] = np.inf
    return distance


def _mismatch(
    name: str,
    got: NDArray[Any],
    want: NDArray[Any],
    difference: NDArray[np.float64],
    bound: float,
) -> MismatchError:
    wrong = np.argwhere(difference > bound)
    first = tuple(int(i) for i in wrong[0])
    place = f"{name}[{', '.join(map(str, first))}]" if first else name
    return MismatchError(
        "PO0617",
        f"`{name}` differs from the Python function's result",
        notes=(
            f"{place} is {got[first]!r}, expected {want[first]!r}",
            f"{len(wrong)} of {got.size} elements differ by more than {bound:.3g}",
        ),
        hint='compare with --schedule "source", which keeps the order of the source',
    )


def largest_input(values: Sequence[object]) -> float:
    """Return the largest magnitude among floating-point inputs."""
    found = 0.0
    for value in values:
        array = np.asarray(value)
        if array.dtype.kind in "fc" and array.size:
            finite = np.abs(array[np.isfinite(array)])
            found = max(found, float(finite.max(initial=0.0)))
    return found
