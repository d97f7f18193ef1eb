"""Shapes: which extents are equal, what broadcasts, and what that teaches about the sizes.

In: extents over parameters and iterators.  Out: the common shape; facts and demands on sizes.
Refuses: extents that differ by a constant (PO0140).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeGuard

from polyopt.errors import Loc
from polyopt.frontend.integers.affine_integers import (
    clipped,
    compare,
    is_affine,
    is_size,
    minus,
    plus,
    unclipped,
)
from polyopt.frontend.program.builder import Builder
from polyopt.frontend.program.drafts import dynamic_params
from polyopt.frontend.values.codes import refuse
from polyopt.frontend.values.values import Index, Tensor, remapped
from polyopt.ir.expr import Binary, BinaryOp, CompareOp, Const, Expr, Iter, Param, integer, walk
from polyopt.ir.integers import evaluate
from polyopt.ir.linear import Linear, from_linear, linear
from polyopt.ir.names import iterators, params
from polyopt.ir.showing import show

ONE = integer(1)


def equate(b: Builder, left: Expr, right: Expr, what: str, loc: Loc | None) -> Expr:
    """Require two extents to be equal and return the common one."""
    left, right = b.facts.resolve(left), b.facts.resolve(right)
    if left == right:
        return left
    gap = linear(minus(unclipped(left), unclipped(right)))
    if not gap.terms:
        if gap.constant != 0:
            message = f"{what}: extents {show(left)} and {show(right)} differ"
            refuse("PO0140", message, loc, "give both operands the same shape")
        return unclipped(left)
    first, second = (right, left) if _is_later(b, right, left) else (left, right)
    known = _learn(b, first, second, loc) or _learn(b, second, first, loc)
    if known or _learn_from_sum(b, left, right, loc):
        return b.facts.resolve(left)
    if b.facts.deferred:
        return left
    equal = compare(CompareOp.EQ, clipped(left), clipped(right))
    if not is_affine(equal):
        refuse("PO0140", f"{what}: cannot tell {show(left)} and {show(right)} equal", loc)
    message = f"{what}: extents {show(left)} and {show(right)} must be equal"
    if not b.always(equal):
        b.demand(equal, "PO0173", message, loc, "give both operands the same shape")
    return left


def _order(b: Builder, size: Expr) -> int:
    """Return the place of a size among the arguments' dimensions; -1 for anything else."""
    return b.size_order.get(size.name, -1) if isinstance(size, Param) else -1


def _is_later(b: Builder, left: Expr, right: Expr) -> bool:
    """Whether `left` is the one to be expressed by the other: a dimension of a later argument."""
    return _order(b, left) > _order(b, right)


def _learn(b: Builder, size: Expr, value: Expr, loc: Loc | None) -> bool:
    """`size` is a dimension of an argument: from now on it is `value`, because of `loc`."""
    if not isinstance(size, Param) or not is_size(size.name) or iterators(value):
        return False
    if size.name in b.facts.computed or dynamic_params(value):
        return False
    if any(part == size for part in walk(b.facts.expanded(value))) or _must_wait(b, value):
        return False
    b.facts.set_equal(size.name, value if _may_be_size(value) else clipped(value), loc)
    return True


def _must_wait(b: Builder, value: Expr) -> bool:
    """Simple equations are solved first: they may make the others trivial."""
    simple = isinstance(value, Param | Const)
    needed = 0 if simple else 1 if all(isinstance(a, Param) for a, _ in linear(value).terms) else 2
    if needed > b.facts.depth:
        b.facts.deferred = True
        return True
    return False


def _may_be_size(value: Expr) -> bool:
    """An integer argument may stand for a size as it is: the shape check refuses negative ones."""
    return isinstance(value, Param)


def _learn_from_sum(b: Builder, left: Expr, right: Expr, loc: Loc | None) -> bool:
    """Solve the equation for a dimension of an argument that occurs once, with factor one."""
    gap = linear(minus(unclipped(left), unclipped(right)))
    if not all(isinstance(atom, Param) for atom, _ in gap.terms):
        return False
    latest_first = sorted(gap.terms, key=lambda term: -_order(b, term[0]))
    for atom, factor in latest_first:
        if not isinstance(atom, Param) or not is_size(atom.name) or abs(factor) != 1:
            continue
        rest = tuple((other, -c * factor) for other, c in gap.terms if other != atom)
        value = from_linear(Linear(-gap.constant * factor, rest))
        if _learn(b, atom, value, loc):
            return True
    return False


def broadcast(b: Builder, shapes: Sequence[Index], what: str, loc: Loc | None) -> Index:
    """Return the shape that all `shapes` broadcast to."""
    rank = max((len(shape) for shape in shapes), default=0)
    result: list[Expr] = []
    for dim in range(rank):
        extent: Expr = ONE
        for shape in shapes:
            place = dim - rank + len(shape)
            if place >= 0:
                extent = _common(b, extent, shape[place], what, loc)
        result.append(extent)
    return tuple(result)


def _common(b: Builder, left: Expr, right: Expr, what: str, loc: Loc | None) -> Expr:
    if left == ONE:
        return right
    if right == ONE:
        return left
    if left != right and (_is_single(left) or _is_single(right)):
        single, other = (left, right) if _is_single(left) else (right, left)
        return _stretch(b, single, other, what, loc)
    return equate(b, left, right, what, loc)


LONG = 1 << 40  # longer than any slice bound written as a number


def _is_single(extent: Expr) -> bool:
    """Tell whether an extent is 1 or, where its array is short, 0: that of `A[:, 0:1]`."""
    if extent == ONE:
        return True
    sizes = params(extent)
    if len(sizes) != 1 or any(isinstance(part, Iter) for part in walk(extent)):
        return False
    (size,) = sizes
    values = [evaluate(extent, {size: value}) for value in (0, 1, 2, 3, LONG)]
    return max(values) == 1 and values[-1] == 1


def _is_minimum(extent: Expr) -> TypeGuard[Binary]:
    return isinstance(extent, Binary) and extent.op is BinaryOp.MIN


def _stretch(b: Builder, single: Expr, other: Expr, what: str, loc: Loc | None) -> Expr:
    """Return `other`; `single` must be 1 unless both are empty together."""
    arms = (single.left, single.right) if _is_minimum(single) else ()
    if other not in arms:
        is_single(b, single, what, loc)
    return other


def is_single(b: Builder, extent: Expr, what: str, loc: Loc | None) -> bool:
    """Tell whether an extent is 1; one that may be 0 as well is required to be 1."""
    if not _is_single(extent):
        return False
    one = compare(CompareOp.EQ, extent, ONE)
    if not b.always(one):
        message = f"{what}: extent {show(extent)} must be 1"
        b.demand(one, "PO0173", message, loc, "give an array that is not empty")
    return True


def is_repeated(source: Index, target: Index) -> bool:
    """Whether broadcasting `source` to `target` uses an element more than once."""
    if len(source) < len(target):
        missing = target[: len(target) - len(source)]
        if any(extent != ONE for extent in missing):
            return True
    pairs = zip(reversed(source), reversed(target), strict=False)
    return any(_is_single(old) and new != old for old, new in pairs)


def shifted(tensor: Tensor, axis: int, start: Expr, shape: Index) -> Tensor:
    """Return the elements from `start` on along a dimension, as an array of this shape."""

    def index(place: Index) -> Index:
        return tuple(plus(start, part) if d == axis else part for d, part in enumerate(place))

    return remapped(tensor, shape, index)


def stretched(tensor: Tensor, shape: Index) -> Tensor:
    """Return `tensor` broadcast to `shape`, which it fits."""
    if tensor.shape == shape:
        return tensor
    skip = len(shape) - tensor.rank
    fixed = tuple(
        _is_single(extent) and shape[skip + d] != extent for d, extent in enumerate(tensor.shape)
    )

    def index(full: Index) -> Index:
        return tuple(integer(0) if one else full[skip + d] for d, one in enumerate(fixed))

    return remapped(tensor, shape, index)
