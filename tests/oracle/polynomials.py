"""Sums of products that may be regrouped, over symbolic values: monomials with their coefficients.

In: the value of a statement that leaves its roundings open.  Out: a function from a world to its
value in each lane; two forms of one polynomial have the same term.  Coefficients count to nine
digits, because constants round when they are combined.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from math import isfinite, prod
from typing import TypeAlias

from polyopt.ir.expr import (
    Binary,
    BinaryOp,
    Broadcast,
    Call,
    Cast,
    Compare,
    Const,
    Expr,
    Iter,
    Load,
    MathFunc,
    Param,
    Select,
    Symbol,
    Unary,
    UnaryOp,
    VectorLoad,
    children,
)
from polyopt.ir.types import DType
from tests.oracle.symbolic import (
    Lanes,
    LaneThunk,
    World,
    compile_lanes,
    compile_value,
    lanes_of,
    operation,
)
from tests.oracle.terms import Number, Term, Terms, Value

MOST = 64
"""Monomials of a value that is read as its polynomial; one with more is a factor of its own,
whichever way it was computed, so that recurrences keep short polynomials."""
Monomial: TypeAlias = tuple[tuple[int, int], ...]  # fingerprints of factors, and their powers
Sum: TypeAlias = dict[Monomial, Fraction]
Sums: TypeAlias = Callable[[World], tuple[Sum, ...]]


def compile_regrouped(expr: Expr, joins: bool = False) -> LaneThunk:
    """Return a function to the value of `expr`; `joins`: its terms are those of an open sum."""
    if _adds(expr):
        sums = _sums(expr, opens=not joins)
        return lambda world: tuple(
            _interned(world.terms, s, expr.dtype, joins) for s in sums(world)
        )
    match expr:
        case Select() if lanes_of(expr) == 1:
            condition = compile_value(expr.condition)
            sides = compile_regrouped(expr.then), compile_regrouped(expr.otherwise)
            return lambda world: sides[not world.integer(condition(world))](world)
        case Const() | Iter() | Param() | Symbol() | Load() | VectorLoad() | Compare():
            return compile_lanes(expr)
        case Cast() if not expr.dtype.is_float:
            return compile_lanes(expr)
        case Broadcast():
            inner = compile_regrouped(expr.operand)
            return lambda world: inner(world) * expr.lanes
        case _:
            parts = [compile_regrouped(part) for part in children(expr)]
            width, rule = lanes_of(expr), operation(expr, joins)

            def apply(world: World) -> Lanes:
                values = [part(world) for part in parts]
                wide = [v if len(v) == width else v * width for v in values]
                return tuple(rule(world, lane) for lane in zip(*wide, strict=True))

            return apply


def _adds(expr: Expr) -> bool:
    if expr.dtype not in (DType.FLOAT32, DType.FLOAT64):
        return False
    match expr:
        case Binary(op=BinaryOp.ADD | BinaryOp.SUB | BinaryOp.MUL) | Unary(op=UnaryOp.NEG):
            return True
        case Binary(op=BinaryOp.DIV | BinaryOp.RATIO):
            return _number(expr.right) not in (None, 0)
        case Call():
            return expr.func is MathFunc.FMA
        case _:
            return False


def _number(expr: Expr) -> Fraction | None:
    if isinstance(expr, Broadcast):
        return _number(expr.operand)
    is_real = isinstance(expr, Const) and isfinite(expr.value.real)
    return Fraction(expr.value.real) if is_real and isinstance(expr, Const) else None


def _sums(expr: Expr, opens: bool) -> Sums:
    """Return a function to the polynomials of `expr` in each lane; `opens`: of its atoms, too."""
    number = _number(expr)
    if number is not None:
        return lambda world: ({(): number},)
    if not _adds(expr):
        atom = compile_regrouped(expr)
        return lambda world: tuple(_of_atom(world.terms, v, opens) for v in atom(world))
    parts = [_sums(part, opens) for part in children(expr)]
    width = lanes_of(expr)

    def run(world: World) -> tuple[Sum, ...]:
        found = [part(world) for part in parts]
        wide = [f if len(f) == width else f * width for f in found]
        return tuple(_combined(expr, lane) for lane in zip(*wide, strict=True))

    return run


def _combined(expr: Expr, parts: tuple[Sum, ...]) -> Sum:
    match expr:
        case Unary():
            return _times({(): Fraction(-1)}, parts[0])
        case Call():
            return _plus(_times(parts[0], parts[1]), parts[2], 1)
        case Binary(op=BinaryOp.ADD | BinaryOp.SUB):
            return _plus(parts[0], parts[1], 1 if expr.op is BinaryOp.ADD else -1)
        case Binary(op=BinaryOp.MUL):
            return _times(*parts)
        case _:
            return _times(parts[0], {(): 1 / parts[1][()]})


def _plus(one: Sum, other: Sum, sign: int) -> Sum:
    found = Counter(one)  # type: ignore[type-var]
    for key, value in other.items():
        found[key] += sign * value  # type: ignore[assignment]
    return dict(found)


def _times(one: Sum, other: Sum) -> Sum:
    found: Sum = {}
    for first, left in one.items():
        for second, right in other.items():
            powers = Counter(dict(first)) + Counter(dict(second))
            key = tuple(sorted(powers.items()))
            found[key] = found.get(key, Fraction(0)) + left * right
    return found


def _of_atom(terms: Terms, value: Value, opens: bool) -> Sum:
    assert isinstance(value, Term)
    terms.atoms[value.code] = value
    known = terms.sums.get(value.code) if opens else None
    if known is None or len(known) > MOST:
        return {((value.code, 1),): Fraction(1)}
    return known


def _interned(terms: Terms, found: Sum, dtype: DType, joins: bool) -> Value:
    """Return the term of a polynomial; with `joins` all of its monomials joined."""
    if joins:
        ones = [_interned(terms, {key: value}, dtype, False) for key, value in found.items()]
        total = ones[0]
        for one in ones[1:]:
            total = terms.joined(BinaryOp.ADD, dtype, total, one)
        return total
    if list(found.values()) == [1]:
        ((key,),) = (found,)
        if len(key) == 1 and key[0][1] == 1:
            return terms.atoms[key[0][0]]
    name = ("polynomial", dtype, frozenset((k, f"{float(v):.8e}") for k, v in found.items()))
    if name not in terms.table:
        codes = sorted({code for key in found for code, _ in key})

        def rule(numbers: list[Number]) -> Number:
            at = dict(zip(codes, numbers, strict=True))
            each = (float(v) * prod(at[c] ** p for c, p in k) for k, v in found.items())
            return dtype.numpy.type(sum(each))

        parts = tuple(terms.atoms[code] for code in codes)
        term = Term(hash(name) & (2**64 - 1), dtype, "polynomial", parts, rule)
        terms.table[name] = term
        terms.sums[term.code] = found
        if any(part.name == "undefined" for part in parts):
            terms.tainted.append(repr(term))
    return terms.table[name]
