"""Tell which loops are written out: few iterations, of which conditions choose some by number.

In: a loop's tree, its range.  Out: whether a condition inside compares nothing but the numbers of
such loops, as `if di != 0 or dj != 0` in a loop over neighbours; their numbers.
Written out, iterations have no such condition; otherwise their set would be no box.
"""

from __future__ import annotations

import ast
from collections.abc import Collection

from polyopt.frontend.values.values import Range
from polyopt.ir.expr import Const

MOST = 96
"""Statements that a nest of such loops is written out as."""

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
