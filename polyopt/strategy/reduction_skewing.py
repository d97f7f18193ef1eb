"""Skew the terms of a sum by the rows of its result, so that operands are reused across rows.

In: a band with one sum over three loops.  Out: the band with the loop over terms skewed by the
loop over rows: the terms of `A[i, i:] @ B[i:]`, numbered by the rows of `B`, share these rows for
many `i`.  None where all operands move with the row.
"""

from __future__ import annotations

from polyopt.ir.expr import Expr, Iter
from polyopt.ir.linear import linear
from polyopt.ir.scop import Statement
from polyopt.schedule.isl_bridge import coefficients
from polyopt.schedule.schedule import Schedule
from polyopt.schedule.tree import Leaf, find_band, only_statement
from polyopt.transforms import Skew


def skew_terms(schedule: Schedule, label: str) -> Schedule | None:
    """Return `schedule` with the terms of the band's sum skewed by the rows, or None."""
    band = find_band(schedule.tree, label)
    if not band.permutable or len(band.members) != 3 or not isinstance(band.child, Leaf):
        return None
    statement = only_statement(schedule.tree, schedule.scop, label)
    if statement is None or statement.reduction is None:
        return None
    rules = [coefficients(member, schedule.scop, statement.name) for member in band.members]
    loops = {
        name: place for place, rule in enumerate(rules) for name in [_plain_iterator(rule)] if name
    }
    written = {name for index in statement.target.index for name in _factors(index)}
    for term in sorted(loops.keys() - written):
        for row in sorted(loops.keys() & written):
            factor = _offset(statement, term, row)
            if factor > 0:
                depth, outer = loops[term], loops[row]
                return schedule.attempt(Skew(f"{label}[{depth}]", f"{label}[{outer}]", factor))
    return None


def _plain_iterator(rule: dict[str, int]) -> str | None:
    """Return the iterator that a loop runs over unchanged, or None for other loops."""
    moved = [name for name, factor in rule.items() if factor]
    return moved[0] if len(moved) == 1 and rule[moved[0]] == 1 else None


def _offset(statement: Statement, term: str, row: str) -> int:
    """Return how far the subscripts along the terms move with the row, 0 where they differ."""
    found = {
        factors.get(row, 0)
        for access in statement.reads
        for index in access.index
        if (factors := _factors(index)).get(term) == 1
    }
    return found.pop() if len(found) == 1 else 0


def _factors(index: Expr) -> dict[str, int]:
    """Return the coefficient of each iterator of a subscript."""
    return {a.name: factor for a, factor in linear(index).terms if isinstance(a, Iter)}
