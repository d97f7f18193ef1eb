"""Which elements of an array lie next to each other in memory: where NumPy gives a view.

In: an array value that is a view.  Out: yes, no, or None where strides or sizes decide.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd

from polyopt.frontend.integers.affine_integers import (
    ONE,
    ZERO,
    compare,
    constant,
    is_affine,
    minus,
    negated,
    plus,
    times,
)
from polyopt.frontend.numpy.reshaping import without_axes
from polyopt.frontend.program.builder import Builder
from polyopt.frontend.program.memory import in_turn
from polyopt.frontend.values.computed_sizes import as_affine, product, product_of
from polyopt.frontend.values.values import Index, Tensor
from polyopt.ir.expr import CompareOp, Expr, Iter
from polyopt.ir.source import Layout


def depends_on_layout(value: Tensor) -> bool:
    """Whether only the layout of an array in memory tells if elements of it are in C order."""
    if value.view is None or value.rank < 2:
        return False
    buffer, places = value.view.buffer, tuple(Iter(f"?{d}") for d in range(value.rank))
    is_turned = buffer.layout is Layout.STRIDED and not in_turn(value.view.index(places), places)
    return is_turned or not buffer.in_order


def is_contiguous(b: Builder, value: Tensor) -> bool | None:
    """Tell whether elements lie in C order without gaps; None: this depends on sizes or strides."""
    value = without_axes(value, tuple(d for d, e in enumerate(value.shape) if e == ONE))
    if value.view is None or not value.rank:
        return True
    steps, layout = _steps(value), value.view.buffer.layout
    if steps is None:
        return None
    units = tuple(tuple(int(k == j) for k in range(len(steps[0]))) for j in range(len(steps[0])))
    if layout is not Layout.C:
        is_row = layout is Layout.ROWS and steps == units[-1:]
        is_apart = steps == units or gcd(*steps[-1]) > 1
        return True if is_row else False if is_apart else None
    return can_merge(b, value, range(value.rank)) if steps[-1] == units[-1] else False


def can_merge(b: Builder, value: Tensor, dims: Sequence[int]) -> bool | None:
    """Tell whether NumPy's reshape makes one dimension of `dims`, of extents not one, in place.

    None: this depends on sizes or strides.
    """
    if len(dims) == 1 or value.view is None:
        return True
    steps, buffer = _steps(value), value.view.buffer
    if steps is None:
        return None
    results: list[bool | None] = []
    for d in dims[1:]:
        used = [[(k, n) for k, n in enumerate(step) if n] for step in steps[d - 1 : d + 1]]
        if len(used[0]) == len(used[1]) == 1:
            (one, step), (other, inner_step) = used[0][0], used[1][0]
            if one > other or step * inner_step < 0:
                return False  # turned, or the other way round
        if buffer.layout is not Layout.C:
            results.append(None)
            continue
        end = max((0, *(k for k, _ in (*used[0], *used[1]))))
        outer, inner = (_distance(buffer.shape, step, end) for step in steps[d - 1 : d + 1])
        row = product_of(b.facts, (value.shape[d], inner))
        gap = as_affine(b.facts, minus(product_of(b.facts, (outer,)), row))
        merges = compare(CompareOp.EQ, gap, ZERO)
        is_known = is_affine(merges)
        if is_known and b.always(negated(merges)):
            return False
        results.append(True if is_known and b.always(merges) else None)
    return True if all(results) else None


def _steps(value: Tensor) -> tuple[tuple[int, ...], ...] | None:
    """Return how far apart neighbours are in each dimension of the array that `value` is a view of.

    None: this is not a constant.
    """
    assert value.view is not None
    places = tuple(Iter(f"?{d}") for d in range(value.rank))
    here = value.view.index(places)
    found = []
    for d, place in enumerate(places):
        next_ = value.view.index((*places[:d], plus(place, 1), *places[d + 1 :]))
        step = [constant(minus(one, other)) for one, other in zip(next_, here, strict=True)]
        if None in step:
            return None
        found.append(tuple(n for n in step if n is not None))
    return tuple(found)


def _distance(shape: Index, step: Sequence[int], end: int) -> Expr:
    """Return how many subscripts of dimension `end` a step moves, rows after rows."""
    total: Expr = ZERO
    for k, n in enumerate(step):
        total = plus(total, times(product(shape[k + 1 : end + 1]), n))
    return total
