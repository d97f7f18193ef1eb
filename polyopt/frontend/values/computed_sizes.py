"""Computed sizes: products and quotients of sizes, such as `B * T` and `C // H`.

In: an INT64 expression over parameters.  Out: an affine one, whose parts that are not affine are
parameters of their own; a call computes them before it runs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from polyopt.frontend.integers.affine_integers import (
    ONE,
    TRUE,
    compare,
    constant,
    floordiv,
    is_affine,
    is_nonnegative,
    modulo,
    plus,
    select,
    times,
)
from polyopt.frontend.program.builder import Builder
from polyopt.frontend.program.drafts import is_dynamic_name
from polyopt.frontend.program.facts import Facts
from polyopt.ir.expr import (
    Binary,
    BinaryOp,
    CompareOp,
    Const,
    Expr,
    Param,
    Unary,
    integer,
    rewrite,
    walk,
)
from polyopt.ir.linear import from_linear, linear
from polyopt.ir.showing import show
from polyopt.ir.types import DType

_DIVIDING = (BinaryOp.FLOORDIV, BinaryOp.MOD)
_OPERATIONS = (
    BinaryOp.ADD, BinaryOp.SUB, BinaryOp.MUL, BinaryOp.MIN, BinaryOp.MAX, *_DIVIDING,
)  # fmt: skip


def as_affine(facts: Facts, expr: Expr) -> Expr:
    """Return `expr` with its parts over parameters that are not affine as computed sizes."""
    value = linear(expr)
    total: Expr = integer(value.constant)
    for atom, factor in value.terms:
        total = plus(total, times(_computed(facts, atom), factor))
    return total


def _computed(facts: Facts, atom: Expr) -> Expr:
    if is_affine(atom) or not is_over_params(atom):
        return atom
    value = reduced(facts.expanded(atom))
    if is_affine(value):
        return value
    scale, factors = factored(value)
    if scale != 1:
        return times(as_affine(facts, product(factors)), scale)
    text = show(value)
    name = f"[{text}]" if is_nonnegative(value) or _is_product_of_sizes(value) else f"({text})"
    known = (old for old, definition in facts.computed.items() if definition == value)
    name = next(known, name)
    facts.computed[name] = value
    return Param(name)


def is_over_params(expr: Expr) -> bool:
    """Whether `expr` is integer arithmetic on parameters that a call knows."""
    for part in walk(expr):
        match part:
            case Param(name=name) if not is_dynamic_name(name):
                continue
            case Const(value=bool()):
                return False
            case Const() | Unary() if part.dtype is DType.INT64:
                continue
            case Binary(op=op) if part.dtype is DType.INT64 and op in _OPERATIONS:
                continue
            case _:
                return False
    return True


def quotient(b: Builder, name: str, left: Expr, right: Expr) -> Expr | None:
    """Return `left // right` or `left % right` of integers that only a call knows, else None.

    A divisor of zero becomes a check of the call.
    """
    known = b.scope.guard == TRUE and constant(right) is None
    if not known or not (is_over_params(left) and is_over_params(right)):
        return None
    b.demand(
        compare(CompareOp.NE, as_affine(b.facts, right), integer(0)),
        "PO0147",
        f"`{show(left)}` is divided by `{show(right)}`, which must not be zero",
        b.loc,
    )
    whole = (floordiv if name == "floor_divide" else modulo)(left, right)
    return as_affine(b.facts, whole)


# -- products ---------------------------------------------------------------------------------


def factored(expr: Expr) -> tuple[int, tuple[Expr, ...]]:
    """Return `expr` as a constant times factors that are no products, in a fixed order."""
    number = constant(expr)
    if number is not None:
        return number, ()
    value = linear(expr)
    if value.constant == 0 and len(value.terms) == 1:
        ((atom, scale),) = value.terms
        if isinstance(atom, Binary) and atom.op is BinaryOp.MUL:
            left, right = factored(atom.left), factored(atom.right)
            factors = sorted((*left[1], *right[1]), key=show)
            return scale * left[0] * right[0], tuple(factors)
        return scale, (atom,)
    return 1, (expr,)


def product(factors: Iterable[Expr]) -> Expr:
    """Return the product of `factors`."""
    total: Expr = ONE
    for factor in factors:
        total = factor if total == ONE else Binary(BinaryOp.MUL, total, factor, DType.INT64)
    return total


def product_of(facts: Facts, shape: Sequence[Expr]) -> Expr:
    """Return the product of extents over the parameters that a call gives, in one order."""
    return reduced(product(facts.expanded(extent) for extent in shape))


def divided(expr: Expr, by: Expr) -> Expr | None:
    """Return `expr` without the factors of `by`, None when it lacks some of them."""
    (scale, factors), (other, gone) = factored(expr), factored(by)
    left, less = Counter(factors), Counter(gone)
    if other == 0 or scale % other or less - left:
        return None
    rest = (left - less).elements()
    return times(product(sorted(rest, key=show)), scale // other)


def reduced(expr: Expr) -> Expr:
    """Return `expr` with products in one order and common factors cancelled."""
    match expr:
        case Binary(op=BinaryOp.MUL):
            scale, factors = factored(
                Binary(BinaryOp.MUL, reduced(expr.left), reduced(expr.right), DType.INT64)
            )
            return times(product(factors), scale)
        case Binary(op=BinaryOp.FLOORDIV):
            left, right = reduced(expr.left), reduced(expr.right)
            exact = divided(left, right)
            return floordiv(left, right) if exact is None else exact
        case Binary():
            return Binary(expr.op, reduced(expr.left), reduced(expr.right), DType.INT64)
        case _:
            return from_linear(linear(expr))


def _is_product_of_sizes(expr: Expr) -> bool:
    scale, factors = factored(expr)
    return scale >= 0 and len(factors) > 1 and all(is_nonnegative(factor) for factor in factors)


def safe(expr: Expr) -> Expr:
    """Return `expr` with divisions by zero as 0: the call's checks refuse them with a reason."""

    def rule(part: Expr) -> Expr | None:
        if not (isinstance(part, Binary) and part.op in _DIVIDING):
            return None
        left, right = safe(part.left), safe(part.right)
        whole = Binary(part.op, left, right, DType.INT64)
        if constant(right) is not None:
            return whole
        nonzero = compare(CompareOp.NE, right, integer(0))
        return select(nonzero, whole, integer(0))

    return rewrite(expr, rule)
