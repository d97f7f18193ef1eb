"""Recognize exponentials below a maximum, and terms that are multiples of them.

In: statements, expressions.  Out: their parts, or None.
"""

from __future__ import annotations

from collections.abc import Mapping

from polyopt.dataclass import replace
from polyopt.ir.expr import Binary, BinaryOp, Call, Expr, Iter, Load, MathFunc, rewrite, walk
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
        moved = rewrite(expr, lambda e: names.get(e.name) if isinstance(e, Iter) else None)
        return rewrite(moved, lambda e: renamed(e, arrays))

    domain = new.domain.set_tuple_name(old.name)
    return (
        put(new.value) == old.value
        and put(new.target) == old.target
        and old.guard is None
        and new.guard is None
        and bool(domain.is_equal(old.domain))
    )


def renamed(expr: Expr, names: Mapping[str, str]) -> Expr | None:
    """Return an element of another array for one of `names`."""
    if isinstance(expr, Load) and expr.array in names:
        return replace(expr, array=names[expr.array])
    return None


def is_factor(expr: Expr, array: str) -> bool:
    """Tell whether a term is an element of `array` times something without one."""
    match expr:
        case Load(array=name):
            return name == array
        case Binary(op=BinaryOp.MUL, left=left, right=right):
            one, two = (any(_is_of(p, array) for p in walk(side)) for side in (left, right))
            return one is not two and is_factor(left if one else right, array)
        case _:
            return False


def _is_of(expr: Expr, array: str) -> bool:
    return isinstance(expr, Load) and expr.array == array
