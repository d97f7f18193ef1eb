"""Flat arrays read as matrices: `a[i * n + k]` is element `[i, k]` of rows of `n` elements.

In: subscripts of one-dimensional arguments, sums of products of iterators and sizes.  Out: the
extents of the dimensions that these subscripts walk through, and their subscripts in each.
As in Grosser et al., "Optimistic delinearization of parametrically sized arrays" (ICS 2015): the
products name the strides, and a subscript in a dimension must be proven to stay in it.
Leaves flat: arrays that are used in any other way, whose length is no multiple of the strides.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import pairwise
from typing import TypeAlias

from polyopt import frontend
from polyopt.frontend.integers.affine_integers import (
    ZERO,
    at_least,
    both,
    compare,
    floordiv,
    is_affine,
    less,
    minus,
    modulo,
    plus,
    times,
)
from polyopt.frontend.program.builder import Builder
from polyopt.frontend.program.facts import Facts
from polyopt.frontend.values.computed_sizes import as_affine, product
from polyopt.frontend.values.values import UNNAMED, Index, Tensor
from polyopt.ir.expr import Binary, BinaryOp, CompareOp, Expr, Iter, Param, integer, walk
from polyopt.ir.linear import linear
from polyopt.ir.names import iterators
from polyopt.ir.showing import show

Factors: TypeAlias = tuple[Expr, ...]  # iterators and sizes, in one order
Polynomial: TypeAlias = Mapping[Factors, int]

MOST_TERMS = 64
MOST_STRIDES = 4


# -- sums of products ---------------------------------------------------------------------------


def _polynomial(expr: Expr) -> Polynomial | None:
    """Return an INT64 expression as a sum of products of names, None for any other."""
    value = linear(expr)
    found: Counter[Factors] = Counter({(): value.constant})
    for atom, factor in value.terms:
        part = _atom(atom)
        if part is None or len(found) + len(part) > MOST_TERMS:
            return None
        for names, number in part.items():
            found[names] += factor * number
    return {names: number for names, number in found.items() if number}


def _atom(atom: Expr) -> Polynomial | None:
    if isinstance(atom, Iter | Param):
        return {(atom,): 1}
    if not isinstance(atom, Binary) or atom.op is not BinaryOp.MUL:
        return None
    left, right = _polynomial(atom.left), _polynomial(atom.right)
    if left is None or right is None or len(left) * len(right) > MOST_TERMS:
        return None
    found: Counter[Factors] = Counter()
    for one, number in left.items():
        for two, other in right.items():
            found[tuple(sorted((*one, *two), key=show))] += number * other
    return found


def _by_stride(found: Polynomial) -> dict[Factors, Expr] | None:
    """Return what each product of sizes is multiplied by: a sum over iterators, or a number."""
    result: dict[Factors, Expr] = {}
    for names, number in found.items():
        moving = [name for name in names if isinstance(name, Iter)]
        if len(moving) > 1:
            return None
        stride = tuple(name for name in names if isinstance(name, Param))
        value = times(moving[0], number) if moving else integer(number)
        result[stride] = plus(result.get(stride, ZERO), value)
    return result


def _chain(strides: Collection[Factors]) -> tuple[Factors, ...] | None:
    """Return the extents of all dimensions but the first if each stride divides the next."""
    ordered = sorted({(), *strides}, key=len)
    extents: list[Factors] = []
    for small, large in pairwise(ordered):
        rest = Counter(large)
        rest.subtract(small)
        if min(rest.values()) < 0 or not any(rest.values()):
            return None
        extents.append(tuple(rest.elements()))
    return tuple(reversed(extents))


# -- arguments ------------------------------------------------------------------------------------


def extents_of(facts: Facts, name: str, length: Expr) -> Index | None:
    """Return the extents that an argument of so many elements has, None where it is flat."""
    strides = facts.strides.get(name)
    chain = _chain(strides) if strides and name not in facts.flat else None
    if chain is None:
        return None
    inner = tuple(as_affine(facts, product(factors)) for factors in chain)
    if not facts.counts_from_end:
        return (length, *inner)  # C says where an array begins, not where it ends
    whole = product([name for factors in chain for name in factors])
    return (as_affine(facts, floordiv(facts.expanded(length), whole)), *inner)


def note_strides(b: Builder, name: str, array: Tensor, index: Expr) -> None:
    """Learn from a subscript which dimensions an argument has."""
    if name in b.facts.flat:
        return
    found = _polynomial(b.facts.expanded(index))
    parts = None if found is None else _by_stride(found)
    if parts is None:
        return
    moving = {stride for stride, value in parts.items() if stride and _moves(value)}
    known = b.facts.strides.get(name, frozenset())
    if not moving or moving <= known or not _has_rows(b, array, known | moving):
        return
    b.facts.strides[name] = known | moving
    b.facts.version += 1


def element_in_rows(b: Builder, element: Tensor) -> None:
    """Learn from an element of a flat argument which dimensions that has.

    In rows, it is one of the array's, as the array that it was taken from has shown.
    """
    assert element.view is not None
    buffer = element.view.buffer
    assert buffer.argument is not None
    first, *others = element.view.index(())
    if not others and not is_affine(first):
        note_strides(b, buffer.argument, b.given[buffer.argument][1], first)
    elif others:
        b.demand_index(first, buffer.shape[0], buffer.argument, b.words, b.loc)


def _moves(value: Expr) -> bool:
    return any(isinstance(part, Iter) for part in walk(value))


def _argument(b: Builder, array: Tensor) -> str | None:
    """Return the one-dimensional argument that an array is all of."""
    if array.rank != 1 or array.view is None:
        return None
    name = array.view.buffer.argument
    return name if name in b.given and b.given[name][1] is array else None


def _has_rows(b: Builder, array: Tensor, strides: Collection[Factors]) -> bool:
    """Whether the array has such rows, and no call has shown that subscripts need a last part."""
    chain = _chain(strides)
    if chain is None or len(chain) >= MOST_STRIDES:
        return False
    if not b.facts.counts_from_end:
        return True
    whole = b.facts.expanded(product([name for factors in chain for name in factors]))
    rest = modulo(b.facts.expanded(array.shape[0]), whole)
    return frontend.program.decisions.decided(b, compare(CompareOp.EQ, rest, ZERO)) is not False


# -- subscripts -----------------------------------------------------------------------------------


def folded(b: Builder, name: str, extents: Index, index: Expr) -> Index:
    """Return the subscript in each dimension; the array is flat in the next reading without one."""
    if UNNAMED in iterators(index):
        return (index, *[ZERO] * (len(extents) - 1))
    found = _folded(b, name, extents, index)
    if found is not None:
        return found
    b.facts.add(b.facts.flat, name)
    return (ZERO,) * len(extents)


def _folded(b: Builder, name: str, extents: Index, index: Expr) -> Index | None:
    total = _polynomial(b.facts.expanded(index))
    parts = None if total is None else _by_stride(total)
    chain = _chain(b.facts.strides.get(name, frozenset()))
    if parts is None or chain is None or len(chain) != len(extents) - 1:
        return None
    result: list[Expr] = []
    stride: Factors = ()
    carried: Expr = ZERO
    known = {_scaled(chain[n:]) for n in range(len(chain) + 1)}
    for factors, value in parts.items():
        if factors not in known:  # an offset by sizes, in the last dimension
            carried = plus(carried, times(product(factors), value))
    for factors, extent in zip(reversed(chain), reversed(extents[1:]), strict=True):
        found = _inside(b, name, plus(parts.get(stride, ZERO), carried), extent)
        if found is None:
            return None
        place, carried = found
        result.append(place)
        stride = _scaled((stride, factors))
    first = plus(parts.get(stride, ZERO), carried)
    found_all = (first, *reversed(result))
    return found_all if all(map(is_affine, found_all)) else None


def _scaled(factors: Sequence[Factors]) -> Factors:
    return tuple(sorted((name for part in factors for name in part), key=show))


def _inside(b: Builder, name: str, value: Expr, extent: Expr) -> tuple[Expr, Expr] | None:
    """Return the subscript that a sum is in its dimension, and how many rows further it is."""
    if not is_affine(value) or not iterators(value) <= set(b.scope.iters):
        return None
    for rows in (0, -1, 1):
        place = minus(value, times(extent, rows))
        if b.scout or (b.always(at_least(place, ZERO)) and b.always(less(place, extent))):
            return place, integer(rows)
    if not _may_be_short(b, value, extent):
        return None
    message = f"`{b.words}` would leave a row of `{name}`, which has {show(extent)} elements"
    inside = both(at_least(value, ZERO), less(value, extent))
    b.demand(inside, "PO0170", message, b.loc, "pass longer rows, or shrink the loop's range")
    return value, ZERO


def _may_be_short(b: Builder, place: Expr, extent: Expr) -> bool:
    """Whether a call may show that a subscript stays in rows, which may be longer than needed."""
    if not b.facts.counts_from_end:
        return True
    if not b.always(at_least(place, ZERO)):
        return False
    fits = less(b.bounded(place), extent)
    known = frontend.program.decisions.is_known_by_call(fits)
    return known and frontend.program.decisions.decided(b, fits) is not False


def position_in_rows(
    b: Builder,
    array: Tensor,
    index: Expr,
    position: Callable[[Expr, Expr], Expr],
) -> Expr | None:
    """Return a subscript of a flat argument as it is, required to be inside; None for others.

    `position(index, extent)` requires it of the first dimension.
    """
    name = _argument(b, array)
    if name is None:
        return None
    assert array.view is not None
    extents = array.view.buffer.shape
    if not is_affine(index):
        note_strides(b, name, array, index)
    if len(extents) == 1:
        return None
    found = _folded(b, name, extents, index)
    fits = found is not None and _has_rows(b, array, b.facts.strides[name])
    if found is None or not fits or position(found[0], extents[0]) != found[0]:
        b.facts.add(b.facts.flat, name)
    return index
