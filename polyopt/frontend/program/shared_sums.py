"""Sums behind means: one that was made before, of the same elements, is not made again.

In: how a sum is made.  Out: the sum, or the equal one made before.
`x.mean()` and `x.var()` both need the sum of `x`.  Only sums that no name stands for come here:
nobody writes into them.
"""

from __future__ import annotations

from collections.abc import Callable

from polyopt.frontend.integers.affine_integers import TRUE
from polyopt.frontend.program.builder import Builder
from polyopt.frontend.program.drafts import Draft, Total
from polyopt.frontend.values.values import Tensor
from polyopt.ir.expr import Binary, Expr
from polyopt.ir.names import reads


def total(b: Builder, make: Callable[[], Tensor]) -> Tensor:
    """Return the sum that `make` computes into a temporary, or the same one made before.

    What `make` emitted is taken back where an equal sum, made earlier in every run of this place,
    still holds: nothing between the two writes to what they read.
    """
    first, buffers, position, marks = len(b.drafts), len(b.buffers), b.position, len(b.marks)
    sums = make()
    made = b.drafts[first:]
    if len(made) != 2 or len(b.buffers) != buffers + 1 or len(b.marks) != marks:
        return sums
    for known in b.totals:
        if known.marks != marks or known.sums.shape != sums.shape:
            continue
        early, between = known.first + 2, b.drafts[known.first + 2 : first]
        if _is_same(b, b.drafts[known.first : early], made) and not _changes(between, made[1]):
            del b.drafts[first:]
            del b.buffers[buffers:]
            b.position = position
            return known.sums
    b.totals.append(Total(first, marks, sums))
    return sums


def _is_same(b: Builder, early: list[Draft], late: list[Draft]) -> bool:
    """Tell whether two pairs of statements compute the same from the same elements."""
    outer = b.scope.order
    return all(
        one.scope.order[: len(outer)] == outer
        and one.scope.loops == two.scope.loops
        and one.scope.conditions == two.scope.conditions
        and one.scope.guard == two.scope.guard == TRUE
        and one.target.index == two.target.index
        and one.target.dtype is two.target.dtype
        and one.reduction == two.reduction
        and _terms(one) == _terms(two)
        for one, two in zip(early, late, strict=True)
    )


def _terms(draft: Draft) -> tuple[Expr, ...]:
    """Return what a statement of a sum stores, without the sum so far."""
    value = draft.value
    if draft.reduction is not None and isinstance(value, Binary):
        return (value.right,)
    return (value,)


def _changes(between: list[Draft], last: Draft) -> bool:
    """Tell whether a statement between writes to what the last statement of a sum reads."""
    (term,) = _terms(last)
    read = reads(term)
    return any(draft.target.array in read for draft in between)
