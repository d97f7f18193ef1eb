"""Compare results element by element: bit for bit where the contract is exact, else under bounds.

In: two results of one output, its bounds.  Out: `Comparison`; it holds what lies outside.
NaN equals NaN; an element without a finite bound is counted, not judged.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyopt.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Difference:
    """One element outside its bound; `index` None: the shapes or types differ."""

    index: tuple[int, ...] | None
    got: str
    want: str
    bound: float

    def place(self, name: str) -> str:
        """Return the element as text: `C[0, 1]`."""
        return f"{name}[{', '.join(map(str, self.index))}]" if self.index else name


@dataclass(frozen=True, slots=True)
class Comparison:
    """How one output differs from the reference.

    `bitwise`: not at all.  `error` and `bound` are the largest ones, `used` the largest share of
    its bound that an element uses.  `wrong` elements lie outside, of which `worst` is the one
    farthest out; `unbounded` ones have no finite bound.
    """

    name: str
    is_exact: bool
    bitwise: bool
    error: float
    bound: float
    used: float
    elements: int
    wrong: int
    unbounded: int
    worst: Difference | None = None

    @property
    def holds(self) -> bool:
        """Whether no element lies outside its bound."""
        return self.wrong == 0

    def to_record(self) -> dict[str, Any]:
        """Return the comparison as plain data."""
        return {
            "name": self.name,
            "exact": self.is_exact,
            "bitwise": self.bitwise,
            "error": self.error,
            "bound": self.bound,
            "used": self.used,
            "elements": self.elements,
            "wrong": self.wrong,
            "unbounded": self.unbounded,
        }


def compare(name: str, got: object, want: object, bound: NDArray[np.float64] | None) -> Comparison:
    """Compare one output; without `bound` it must be the same bits."""
    left, right = plain(got), plain(want)
    exact = bound is None
    if left.shape != right.shape:
        shapes = Difference(None, f"of shape {left.shape}", f"shape {right.shape}", 0.0)
        return Comparison(
            name, exact, False, np.inf, 0.0, np.inf, right.size, right.size, 0, shapes
        )
    right = right.astype(left.dtype)
    if same_bits(left, right).all():
        most = 0.0 if bound is None else _largest(bound)
        unbounded = 0 if bound is None else int(np.isinf(bound).sum())
        return Comparison(name, exact, True, 0.0, most, 0.0, left.size, 0, unbounded)
    distance = _distance(left, right)
    if bound is None:
        distance[~same_bits(left, right) & (distance == 0)] = np.finfo(np.float64).tiny
        bound = np.zeros(left.shape)
    bound = np.broadcast_to(bound, left.shape)
    judged = np.isfinite(bound)
    wrong = judged & ~(distance <= bound)
    with np.errstate(all="ignore"):
        share = np.where(distance == 0, 0.0, distance / bound)
    share = np.where(judged, share, 0.0)
    worst = _worst(left, right, bound, wrong, distance)
    error = float(distance[judged].max(initial=0.0))
    used = float(share.max(initial=0.0))
    counts = left.size, int(wrong.sum()), int((~judged).sum())
    return Comparison(name, exact, False, error, _largest(bound), used, *counts, worst)


def plain(values: object) -> NDArray[Any]:
    """Return an array that NumPy computes with: bfloat16 as float32, which has all its numbers."""
    array = np.asarray(values)
    return array.astype(np.float32) if array.dtype.name == "bfloat16" else array


def same_bits(left: NDArray[Any], right: NDArray[Any]) -> NDArray[np.bool_]:
    """Tell which elements are the same bits, signs of zeros included, payloads of NaN aside."""
    if left.dtype.kind == "c":
        return same_bits(left.real, right.real) & same_bits(left.imag, right.imag)
    same = np.asarray(left == right)
    if left.dtype.kind != "f":
        return same
    zeros = (left == 0) & (np.signbit(left) != np.signbit(right))
    return np.asarray((same & ~zeros) | (np.isnan(left) & np.isnan(right)))


def _largest(bound: NDArray[np.float64]) -> float:
    return float(bound[np.isfinite(bound)].max(initial=0.0))


def _distance(left: NDArray[Any], right: NDArray[Any]) -> NDArray[np.float64]:
    """Element-wise distance; equal infinities and NaNs are 0 apart, unequal ones infinitely far."""
    kind = left.dtype.kind
    with np.errstate(all="ignore"):
        if kind == "c":
            wide = np.abs(left.astype(np.complex128) - right.astype(np.complex128))
        else:
            wide = np.abs(left.astype(np.longdouble) - right.astype(np.longdouble))
        distance = np.array(wide, dtype=np.float64)
        same = np.asarray(left == right)
        if kind in "fc":
            same = same | (np.isnan(left) & np.isnan(right))
    distance[same] = 0.0
    distance[~same & ~np.isfinite(distance)] = np.inf
    return distance


def _worst(
    left: NDArray[Any],
    right: NDArray[Any],
    bound: NDArray[np.float64],
    wrong: NDArray[np.bool_],
    distance: NDArray[np.float64],
) -> Difference | None:
    if not wrong.any():
        return None
    place = np.unravel_index(int(np.argmax(np.where(wrong, distance - bound, -1.0))), left.shape)
    index = tuple(int(i) for i in place)
    got, want = left[index], right[index]
    return Difference(index, str(got), str(want), float(bound[index]))
