"""Represent amounts in steps: affine functions of sizes, as `N - 1` in `shift(i, N - 1)`.

In: text, or an expression.  Out: a record that prints the same text, and its value at instances.
Refuses: expressions that are not affine in the sizes, unknown names (PO0327).
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import TypeAlias

import islpy as isl

from polyopt.dataclass import dataclass
from polyopt.errors import ScheduleError
from polyopt.ir.affine import NotAffine, pw_aff
from polyopt.ir.expr import (
    Binary,
    BinaryOp,
    Const,
    Expr,
    Param,
    Unary,
    UnaryOp,
    integer,
    rewrite,
    walk,
)
from polyopt.ir.linear import linear, normalize
from polyopt.ir.names import params
from polyopt.ir.parameters import param_names
from polyopt.ir.showing import show
from polyopt.ir.types import DType
from polyopt.never import assert_never
from polyopt.schedule.sizes import Named
from polyopt.schedulefile import MAX_SIZE, nearest

MAX_LENGTH = 200
_HINT = "use sums of sizes and whole numbers, as `2*N - 1`"

_BINARY: dict[type[ast.operator], BinaryOp] = {
    ast.Add: BinaryOp.ADD,
    ast.Sub: BinaryOp.SUB,
    ast.Mult: BinaryOp.MUL,
    ast.FloorDiv: BinaryOp.FLOORDIV,
    ast.Mod: BinaryOp.MOD,
}
_CALLS = {"min": BinaryOp.MIN, "max": BinaryOp.MAX}


@dataclass(frozen=True, slots=True)
class Amount:
    """An integer expression over names: `named` have values, the others are sizes."""

    expr: Expr
    named: tuple[Named, ...] = ()

    def plain(self) -> Expr:
        """Return the expression with named values substituted."""
        values = {part.name: integer(part.value) for part in self.named}
        return normalize(
            rewrite(self.expr, lambda e: values.get(e.name) if isinstance(e, Param) else None)
        )

    def __str__(self) -> str:
        return show(self.expr)


Distance: TypeAlias = int | Amount


def read_amount(text: str, lets: Mapping[str, int]) -> Distance:
    """Return the amount written in `text`: a number where it names nothing.

    >>> print(read_amount("N + 3 - 2*1", {}))
    N + 1
    >>> read_amount("2 * 4", {})
    8

    Raises `ValueError` for what is no sum, product or quotient of names and whole numbers.
    """
    if len(text) > MAX_LENGTH:
        raise ValueError(f"an amount has {len(text)} characters, {MAX_LENGTH} are allowed")
    try:
        tree = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        raise ValueError(f"`{text}` is not an amount") from None
    found = normalize(_read(tree, text))
    names = params(found)
    named = tuple(Named(name, lets[name]) for name in sorted(names) if name in lets)
    amount = Amount(found, named)
    _check(amount.plain(), text)
    if isinstance(found, Const):
        return int(found.value.real)
    return amount


def amount(text: str, **sizes: int) -> Distance:
    """Return the amount written in `text`, for steps that are made by hand; `sizes` have values.

    >>> print(Amount is type(amount("N - 1")), amount("N + 2*T", T=4))
    True N + 2 * T

    Raises `ScheduleError` PO0327.
    """
    try:
        return read_amount(text, sizes)
    except ValueError as error:
        raise ScheduleError("PO0327", str(error), hint=_HINT) from None


def _read(node: ast.expr, text: str) -> Expr:
    match node:
        case ast.Constant(value=bool()):
            pass
        case ast.Constant(value=int(value)):
            return integer(value)
        case ast.Name(id=name):
            return Param(name)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return Unary(UnaryOp.NEG, _read(operand, text), DType.INT64)
        case ast.BinOp(op=op) if type(op) in _BINARY:
            sides = _read(node.left, text), _read(node.right, text)
            return _folded(_BINARY[type(op)], *sides)
        case ast.Call(func=ast.Name(id=name), args=[left, right], keywords=[]) if name in _CALLS:
            return Binary(_CALLS[name], _read(left, text), _read(right, text), DType.INT64)
        case _:
            pass
    raise ValueError(f"`{text}` is not an amount")


def _folded(op: BinaryOp, left: Expr, right: Expr) -> Expr:
    """Return the operation with collected operands: products of numbers are evaluated."""
    if op in (BinaryOp.FLOORDIV, BinaryOp.MOD):
        zero = isinstance(right, Const) and right.value == 0
        if zero:
            raise ValueError("an amount divides by zero")
    return Binary(op, normalize(left), normalize(right), DType.INT64)


def _check(expr: Expr, text: str) -> None:
    for part in walk(expr):
        if isinstance(part, Const) and abs(int(part.value.real)) > MAX_SIZE:
            raise ValueError(f"`{text}` holds a number over {MAX_SIZE}")


def expression(amount: Distance) -> Expr:
    """Return the amount as an expression over sizes."""
    match amount:
        case int():
            return integer(amount)
        case Amount():
            return amount.plain()
        case _:
            assert_never(amount)


def names_in_amount(amount: Distance) -> tuple[str, ...]:
    """Return the names of sizes or loops in an expression."""
    found = (part.name for part in walk(expression(amount)) if isinstance(part, Param))
    return tuple(dict.fromkeys(found))


def check_sum(amount: Distance, step: str) -> None:
    """Raise `ScheduleError` PO0327 for an amount that is not affine in the sizes."""
    for atom, _ in linear(expression(amount)).terms:
        if not isinstance(atom, Param):
            raise ScheduleError("PO0327", f"{step}: {show(atom)} is no size", hint=_HINT)


def size_function(
    amount: Distance, space: isl.Space, step: str, loops: tuple[str, ...] = ()
) -> isl.PwAff:
    """Return the amount as a function on the set `space`; raises `ScheduleError` PO0327.

    `loops` are parameters of `space` that stand for loops.
    """
    expr = expression(amount)
    known = param_names(space)
    for part in walk(expr):
        if isinstance(part, Param) and part.name not in known:
            raise unknown_size(part.name, step, [name for name in known if name not in loops])
    try:
        return pw_aff(expr, space)
    except NotAffine as error:
        raise ScheduleError("PO0327", f"{step}: {error}", hint=_HINT) from None


def unknown_size(name: str, step: str, known: list[str]) -> ScheduleError:
    """Return the error for an unknown size."""
    near = nearest(name, known)
    hint = f"the sizes are {', '.join(known)}" if known else "the program has no sizes"
    if near is not None:
        hint = f"did you mean `{near}`? {hint}"
    return ScheduleError("PO0327", f"{step}: the program has no size `{name}`", hint=hint)
