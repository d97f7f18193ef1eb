"""Recognize exponentials below a maximum, and terms that are multiples of them.

In: statements, expressions.  Out: their parts, or None.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from polyopt.dataclass import replace
from polyopt.ir.expr import (
    Binary,
    BinaryOp,
    Call,
    Expr,
    Iter,
    Load,
    MathFunc,
    Select,
    rewrite,
    substitute,
    walk,
)
from polyopt.ir.extremum import chosen
from polyopt.ir.scop import Statement

LAWS = (MathFunc.EXP, MathFunc.EXP2)
"""Functions `f` with `f(x - new) == f(x - old) * f(old - new)`."""


def difference(value: Expr) -> tuple[Load, Load] | None:
    """Return the elements of `f(x - m)`."""
    match value:
        case Call(func=func, args=(Binary(op=BinaryOp.SUB, left=Load() as x, right=Load() as m),)):
            return (x, m) if func in LAWS else None
        case _:
            return None


def function_of(value: Expr) -> MathFunc:
    """Return the function of `f(x - m)`."""
    assert isinstance(value, Call)
    return value.func


def is_other_shift(old: Statement, new: Statement) -> bool:
    """Tell whether two statements are the same but for the maximum and the target's array."""
    one, two = difference(old.value), difference(new.value)
    if one is None or two is None or len(old.iters) != len(new.iters):
        return False
    names = dict(zip(new.iters, map(Iter, old.iters), strict=True))
    arrays = {two[1].array: one[1].array, new.target.array: old.target.array}

    def put(expr: Expr) -> Expr:
        moved = substitute(expr, names)
        return rewrite(moved, lambda e: renamed(e, arrays))

    domain = new.domain.set_tuple_name(old.name)
    return (
        put(new.value) == old.value
        and put(new.target) == old.target
        and old.guard is None
        and new.guard is None
        and bool(domain.is_equal(old.domain))
    )


def is_same(one: Statement, two: Statement) -> bool:
    """Tell whether two statements compute the same."""
    return (
        one.iters == two.iters
        and (one.target, one.value, one.guard) == (two.target, two.value, two.guard)
        and (one.reduction, one.regroups) == (two.reduction, two.regroups)
        and bool(one.domain.is_equal(two.domain))
    )


def renamed(expr: Expr, names: Mapping[str, str]) -> Expr | None:
    """Return an element of another array for one of `names`."""
    if isinstance(expr, Load) and expr.array in names:
        return replace(expr, array=names[expr.array])
    return None


def stored_exponentials(
    olds: Iterable[Statement], news: Iterable[Statement], known: Collection[str]
) -> dict[str, tuple[Statement, Statement]]:
    """Return, for each new array of exponentials, the source's statement and the new one.

    `known` are the arrays of the source.
    """
    found: dict[str, tuple[Statement, Statement]] = {}
    for new in news:
        parts = difference(new.value)
        if parts is None or parts[1].array in known or parts[0].array not in known:
            continue
        for old in olds:
            if is_other_shift(old, new):
                found[new.target.array] = old, new
    return found


def shifted_sums(
    sums: Iterable[Statement], olds: Mapping[str, Statement], known: Collection[str]
) -> dict[str, tuple[str, str]]:
    """Return the arrays of maxima, the new one and the source's, of sums of `f(x - m) * y`."""
    found: dict[str, tuple[str, str]] = {}
    for total in sums:
        was = olds[total.name]
        for run in sorted(total.arrays - was.arrays - set(known)):
            for top in sorted(was.arrays - total.arrays):
                if exponent(total.value, run) is not None and exponent(was.value, top) is not None:
                    found[total.name] = run, top
    return found


def is_maximum_of(one: Statement, elements: str) -> bool:
    """Tell whether a statement is `m = max(m, x)` or `m = x if x > m else m`, `x` of `elements`."""
    match one.value:
        case Binary(op=BinaryOp.MAX, left=left, right=Load(array=array)):
            return left == one.target and array == elements
        case Select(then=Load(array=array)):
            return chosen(one.value, one.target) is BinaryOp.MAX and array == elements
        case _:
            return False


def exponent(expr: Expr, array: str) -> tuple[Load, Load] | None:
    """Return the elements of `f(x - m)`, the only part of a value that reads `array`, `m`."""
    found = [parts for part in walk(expr) if (parts := difference(part)) is not None]
    own = [parts for parts in found if parts[1].array == array != parts[0].array]
    readers = [part for part in walk(expr) if _is_of(part, array)]
    return own[0] if len(own) == len(readers) == 1 else None


def function_in(expr: Expr, array: str) -> MathFunc:
    """Return the function of the part `f(x - m)` of a value, `m` an element of `array`."""
    return next(
        function_of(part) for part in walk(expr)
        if (parts := difference(part)) is not None and parts[1].array == array
    )  # fmt: skip


def is_factor(expr: Expr, array: str) -> bool:
    """Tell whether a term is an element of `array` times something without one.

    Instead of the element it may be `f(x - m)` with `m` the element.
    """
    match expr:
        case Load(array=name):
            return name == array
        case Call():
            return exponent(expr, array) is not None and difference(expr) is not None
        case Binary(op=BinaryOp.MUL, left=left, right=right):
            one, two = (any(_is_of(p, array) for p in walk(side)) for side in (left, right))
            return one is not two and is_factor(left if one else right, array)
        case _:
            return False


def _is_of(expr: Expr, array: str) -> bool:
    return isinstance(expr, Load) and expr.array == array
