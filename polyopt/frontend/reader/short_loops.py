"""Tell which loops over few numbers are written out, and which count from another's iterator.

In: a loop's tree, its range.  Out: whether a condition inside compares nothing but the numbers of
such loops, as `if di != 0 or dj != 0` in a loop over neighbours; their numbers.  Written out,
iterations have no such condition; otherwise their set would be no box.
A window as `range(max(0, j - 1), min(n, j + 2))` counts from `j - 1`: the number of its iterations
is a constant then, whatever `j` is.
"""

from __future__ import annotations

import ast
from collections.abc import Collection

from polyopt.frontend.values.values import Range
from polyopt.ir.expr import Binary, BinaryOp, Const, Expr, Iter, operands, sub, walk
from polyopt.ir.linear import linear, normalize
from polyopt.ir.types import DType

MOST = 96
"""Statements that a nest of such loops is written out as."""

WIDE = 9
"""Iterations of a window that counts from another loop's iterator."""

_FUNCTIONS = frozenset({"abs", "max", "min"})


def numbers(loop: Range) -> tuple[int, ...] | None:
    """Return the numbers that a range has, if these are constants."""
    match loop.start, loop.stop:
        case Const(value=int(start)), Const(value=int(stop)):
            return tuple(range(start, stop, loop.step))
        case _:
            return None


def is_decided(node: ast.For, loop: Range, known: Collection[str]) -> bool:
    """Tell whether a loop is to be written out, where names in `known` are constants."""
    found = numbers(loop)
    if not found or not isinstance(node.target, ast.Name):
        return False
    inner = [part for part in ast.walk(node) if isinstance(part, ast.For) and part is not node]
    counts = [_count(part) for part in inner]
    total = len(found)
    for count in counts:
        total *= count or 1
    names = {node.target.id, *known}
    names |= {ast.unparse(p.target) for p, n in zip(inner, counts, strict=True) if n is not None}
    size = sum(isinstance(part, ast.stmt) for part in ast.walk(node))
    return total * size <= MOST and _chooses(node, node.target.id, names)


def _count(node: ast.For) -> int | None:
    """Return how many numbers a loop over a range of constants has, or None."""
    match node.iter:
        case ast.Call(func=ast.Name("range"), args=arguments, keywords=[]):
            try:
                return len(range(*(ast.literal_eval(part) for part in arguments)))
            except (ValueError, TypeError):
                return None
        case _:
            return None


def _chooses(node: ast.For, own: str, names: set[str]) -> bool:
    """Tell whether a test in a loop compares its number `own` with nothing but those in `names`."""
    tests = (part.test for part in ast.walk(node) if isinstance(part, ast.If | ast.IfExp))
    for test in tests:
        for part in ast.walk(test):
            if isinstance(part, ast.Compare):
                used = {p.id for p in ast.walk(part) if isinstance(p, ast.Name)} - _FUNCTIONS
                if own in used and used <= names:
                    return True
    return False


def window(loop: Range) -> tuple[Range, Expr] | None:
    """Return a window that moves with another loop from 0 on, and where it starts; else None."""
    if loop.step != 1:
        return None
    for start in operands(loop.start, BinaryOp.MAX):
        if not any(isinstance(part, Iter) for part in walk(start)):
            continue
        for end in operands(loop.stop, BinaryOp.MIN):
            count = linear(sub(end, start))
            if not count.terms and 0 < count.constant <= WIDE:
                first = _from(start, loop.start, BinaryOp.MAX)
                return Range(first, _from(start, loop.stop, BinaryOp.MIN), 1), start
    return None


def _from(start: Expr, bound: Expr, op: BinaryOp) -> Expr:
    """Return a bound, the largest or the smallest of some numbers, counted from `start`."""
    found, *others = (normalize(sub(part, start)) for part in operands(bound, op))
    for other in others:
        found = Binary(op, found, other, DType.INT64)
    return found
