"""Who owns which element: arrays cut into blocks, as sets of isl for any number of ranks.

In: arrays, the axes they are cut along.  Out: the elements of this rank and of another one.
A block is an interval of two parameters.  Two ranks have two pairs of them, of which one lies
before the other; nothing else is said of them, so that what isl proves holds for all numbers of
ranks, all sizes, and any blocks that follow one another.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from itertools import product
from typing import Any, TypeAlias

import islpy as isl
import numpy as np

from polyopt.dataclass import dataclass
from polyopt.distribution.mesh import Mesh, Sign, block
from polyopt.ir.affine import NotAffine, condition_set, index_box, param_space
from polyopt.ir.array import Array
from polyopt.ir.expr import (
    Binary,
    BinaryOp,
    Compare,
    CompareOp,
    Const,
    Expr,
    Iter,
    Param,
    add,
    integer,
)
from polyopt.ir.integers import evaluate
from polyopt.ir.names import fresh_name
from polyopt.ir.parameters import param_names
from polyopt.ir.scop import Scop
from polyopt.ir.source import Check
from polyopt.ir.types import DType

Indices: TypeAlias = "np.ndarray[Any, np.dtype[np.int64]]"


@dataclass(frozen=True, slots=True)
class Blocks:
    """The indices from 0 to `extent` in blocks, one for each place along an axis of the mesh.

    `low` and `high` name this rank's first index and the first one after its block, `other_low` and
    `other_high` those of another rank.  With `size`, blocks have so many indices, and are dealt to
    the ranks in turn; a plan is made for ranks of one block each, then for those that there are.
    """

    extent: Expr
    mesh_axis: int
    low: str
    high: str
    other_low: str
    other_high: str
    size: int | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The four parameters."""
        return (self.low, self.high, self.other_low, self.other_high)


@dataclass(frozen=True, slots=True)
class Cut:
    """An array is cut along `axis`: element e belongs to the block of index e + `shift`."""

    axis: int
    blocks: Blocks
    shift: int = 0


Cuts = Mapping[str, tuple[Cut, ...]]


def _holds(left: Expr, op: CompareOp, right: Expr) -> Expr:
    return Compare(op, left, right)


def all_of(conditions: Sequence[Expr]) -> Expr:
    """Return the conjunction of one or more conditions."""
    whole, *rest = conditions
    for condition in rest:
        whole = Binary(BinaryOp.AND, whole, condition, DType.BOOL)
    return whole


def between(low: Expr, value: Expr, high: Expr) -> Expr:
    """Return `low <= value < high`."""
    least, most = _holds(low, CompareOp.LE, value), _holds(value, CompareOp.LT, high)
    return Binary(BinaryOp.AND, least, most, DType.BOOL)


def moved_by(expr: Expr) -> tuple[str, int] | None:
    """Return the iterator and the constant of a subscript that is their sum, None for others."""
    match expr:
        case Iter(name=name):
            return name, 0
        case Binary(op=BinaryOp.ADD, left=Iter(name=name), right=Const(value=int(value))):
            return name, value
        case Binary(op=BinaryOp.SUB, left=Iter(name=name), right=Const(value=int(value))):
            return name, -value
        case _:
            return None


@dataclass(frozen=True, eq=False)
class Ownership:
    """The elements of ranks.  `cuts` names arrays that are cut; the others each rank has whole.

    `checks` are conditions over sizes that hold at a call.
    """

    scop: Scop
    blocks: tuple[Blocks, ...]
    cuts: Cuts
    mesh_axes: int
    checks: tuple[Check, ...] = ()

    @property
    def is_cyclic(self) -> bool:
        """Whether ranks have several blocks."""
        return any(b.size is not None for b in self.blocks)

    @cached_property
    def params(self) -> tuple[str, ...]:
        """The sizes, and the parameters of blocks."""
        return (*self.scop.params, *(name for b in self.blocks for name in b.names))

    @cached_property
    def context(self) -> isl.Set:
        """What is known of sizes and blocks."""
        space = param_space(self.params)
        found = isl.Set.align_params(self.scop.context, space)
        for b in self.blocks:
            for low, high in ((b.low, b.high), (b.other_low, b.other_high)):
                known = all_of([
                    _holds(integer(0), CompareOp.LE, Param(low)),
                    _holds(Param(low), CompareOp.LE, Param(high)),
                    _holds(Param(high), CompareOp.LE, b.extent),
                ])  # fmt: skip
                found = found.intersect(condition_set(known, space))
        return found

    @cached_property
    def checked(self) -> isl.Set:
        """What is known of sizes and blocks at a call, in any number of pieces."""
        found = self.context
        for check in self.checks:
            with suppress(NotAffine):
                found = found.intersect(condition_set(check.condition, found.get_space()))
        return found

    @cached_property
    def signs(self) -> tuple[Sign, ...]:
        """How another rank may lie to this one."""
        return tuple(s for s in product((-1, 0, 1), repeat=self.mesh_axes) if any(s))

    def apart(self, sign: Sign) -> isl.Set:
        """Return what is known of the parameters where the other rank lies as `sign` says."""
        found = self.context
        for b in self.blocks:
            match sign[b.mesh_axis]:
                case -1:
                    known = [_holds(Param(b.other_high), CompareOp.LE, Param(b.low))]
                case 1:
                    known = [_holds(Param(b.high), CompareOp.LE, Param(b.other_low))]
                case _:
                    known = [
                        _holds(Param(b.low), CompareOp.EQ, Param(b.other_low)),
                        _holds(Param(b.high), CompareOp.EQ, Param(b.other_high)),
                    ]
            found = found.intersect(condition_set(all_of(known), found.get_space()))
        return found

    def signs_of(self, array: str) -> tuple[Sign, ...]:
        """Return how another rank that owns other elements of `array` may lie to this one."""
        axes = {cut.blocks.mesh_axis for cut in self.cuts.get(array, ())}
        return tuple(
            sign for sign in self.signs
            if axes and all(s == 0 for axis, s in enumerate(sign) if axis not in axes)
        )  # fmt: skip

    def owned(self, array: Array) -> isl.Set:
        """Return the elements of an array that this rank owns."""
        found = index_box(array.name, array.shape, self.params)
        for cut in self.cuts.get(array.name, ()):
            place = add(Iter(f"e{cut.axis}"), integer(cut.shift))
            inside = between(Param(cut.blocks.low), place, Param(cut.blocks.high))
            found = found.intersect(condition_set(inside, found.get_space()))
        return found

    def swapped(self, value: isl.Set) -> isl.Set:
        """Return `value` as the other rank sees it."""
        names = param_names(value)
        turned = {}
        for b in self.blocks:
            turned.update({b.low: b.other_low, b.other_low: b.low})
            turned.update({b.high: b.other_high, b.other_high: b.high})
        for position, name in enumerate(names):
            value = value.set_dim_name(isl.dim_type.param, position, f"{name} swapped")
        for position, name in enumerate(names):
            value = value.set_dim_name(isl.dim_type.param, position, turned.get(name, name))
        return value.align_params(param_space(names))


def ends_of(b: Blocks, mesh: Mesh, rank: int, sizes: Mapping[str, int]) -> tuple[int, int]:
    """Return the ends of a rank's block; its place along the axis, and 0, if it has several."""
    place = mesh.coordinates(rank)[b.mesh_axis]
    if b.size is not None:
        return place, 0
    return block(evaluate(b.extent, sizes), mesh.shape[b.mesh_axis], place)


def indices_of(b: Blocks, mesh: Mesh, rank: int, sizes: Mapping[str, int]) -> Indices:
    """Return the indices of a rank's block, or of all its blocks."""
    first, end = ends_of(b, mesh, rank, sizes)
    if b.size is None:
        return np.arange(first, end)
    whole = np.arange(evaluate(b.extent, sizes))
    found: Indices = whole[whole // b.size % mesh.shape[b.mesh_axis] == first]
    return found


def make_blocks(
    extent: Expr, mesh_axis: int, number: int, taken: Sequence[str], size: int | None = None
) -> Blocks:
    """Return blocks with parameters of their own."""
    low, high, other_low, other_high = (
        fresh_name(f"{word}{number}", taken) for word in ("low", "high", "other_low", "other_high")
    )
    return Blocks(extent, mesh_axis, low, high, other_low, other_high, size)
