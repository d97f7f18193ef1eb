"""Print tests of an iterator against its bound without floor division where possible.

In: a value and its limit, INT64.  Out: comparisons: `i < (n - 1) // 8 + 1` is `8 * i < n`.
Also derives the ranges that a loop's bounds give its iterator.
Comparisons with a quotient become comparisons with its dividend.
"""

from __future__ import annotations

from polyopt.dataclass import replace
from polyopt.emit.ranges import Ranges
from polyopt.ir.expr import (
    Binary,
    BinaryOp,
    Compare,
    CompareOp,
    Const,
    Expr,
    add,
    conjunction,
    integer,
    mul,
    operands,
    sub,
)
from polyopt.ir.linear import Linear, from_linear, linear, normalize
from polyopt.ir.loops import For
from polyopt.ir.types import DType


def tests_below(value: Expr, limit: Expr) -> tuple[Expr, ...]:
    """Return comparisons that are equivalent to `value < limit`."""
    return tuple(_test(value, part) for part in operands(limit, BinaryOp.MIN))


def without_quotient(condition: Expr) -> Expr:
    """Return a condition without the quotient that a number is compared with."""
    match condition:
        case Compare(op=CompareOp.LT, left=left, right=right) if _is_quotient(right):
            return all_of(tests_below(left, right))
        case _:
            return condition


def _is_quotient(limit: Expr) -> bool:
    atoms = [atom for atom, _ in linear(limit).terms] if limit.dtype is DType.INT64 else []
    return any(isinstance(atom, Binary) and atom.op is BinaryOp.FLOORDIV for atom in atoms)


def all_of(tests: tuple[Expr, ...]) -> Expr:
    """Return one condition."""
    return conjunction(part for test in tests for part in operands(test, BinaryOp.AND))


def _test(value: Expr, limit: Expr) -> Expr:
    total = linear(limit)
    for atom, factor in total.terms:
        match atom:
            case Binary(op=BinaryOp.FLOORDIV, right=Const(value=int(by))) if by > 0 and factor == 1:
                rest = from_linear(
                    Linear(total.constant - 1, tuple(t for t in total.terms if t[0] != atom))
                )
                scaled = linear(mul(integer(by), sub(value, rest)))
                right = linear(sub(atom.left, integer(scaled.constant - 1)))
                return _compare(Linear(0, scaled.terms), right)
            case _:
                pass
    return Compare(CompareOp.LT, value, limit)


def _compare(left: Linear, right: Linear) -> Expr:
    """Return `left < right`, no atom on both sides."""
    if {atom for atom, _ in left.terms} & {atom for atom, _ in right.terms}:
        gap = linear(sub(from_linear(right), from_linear(left)))
        left = Linear(0, tuple((atom, -factor) for atom, factor in gap.terms if factor < 0))
        right = Linear(gap.constant, tuple(term for term in gap.terms if term[1] > 0))
    return Compare(CompareOp.LT, from_linear(left), from_linear(right))


def ranges_inside(ranges: Ranges, loop: For) -> Ranges:
    """Return what is known inside `loop`, its last iteration by its steps."""
    inside = ranges.inside(loop)
    least, first, end = (
        ranges.least(loop.lower), ranges.most(loop.lower), ranges.most(loop.upper),
    )  # fmt: skip
    if least is None or least != first or end is None or end <= least:
        return inside
    last = least + (end - 1 - least) // loop.step * loop.step
    return replace(inside, upper={**inside.upper, loop.iter: last})


def undivided(test: Expr) -> Expr:
    """Return `a < b // c + d` as `c * (a - d + 1) - 1 < b`, `a <= b // c + d` alike."""
    match test:
        case Compare(op=CompareOp.LT | CompareOp.LE, left=left, right=right) if (
            left.dtype is DType.INT64
        ):
            pass
        case _:
            return test
    gap = linear(sub(right, left))
    for atom, factor in gap.terms:
        match atom:
            case Binary(op=BinaryOp.FLOORDIV, left=over, right=Const(value=int(by))) if (
                factor == 1 and by > 0
            ):
                rest = Linear(gap.constant, tuple(t for t in gap.terms if t[0] != atom))
                least = mul(integer(-by), from_linear(rest))
                if test.op is CompareOp.LT:
                    least = add(integer(by - 1), least)
                found = replace(test, left=normalize(least), right=normalize(over))
                return undivided(found)
            case _:
                pass
    return test
