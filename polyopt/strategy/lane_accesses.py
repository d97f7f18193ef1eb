"""Tell whether SIMD lanes across rows can load and store what recurrences along rows access.

In: statements, the directions in which loops move them.  Out: whether lanes can compute them; how
loops move subscripts.
"""

from __future__ import annotations

from collections.abc import Collection
from fractions import Fraction

from polyopt.ir.expr import (
    Binary,
    Compare,
    Const,
    Expr,
    Load,
    Param,
    Select,
    Symbol,
    Unary,
    children,
)
from polyopt.ir.scop import Access, Scop, Statement
from polyopt.ir.source import Layout
from polyopt.ir.types import DType
from polyopt.schedule.schedule import Schedule
from polyopt.schedule.tree import Band, find_band, path_to, statements_of
from polyopt.strategy.strides import accesses, change_of, directions

LANES = frozenset({DType.FLOAT32, DType.FLOAT64, DType.INT32, DType.INT64})


def reaches_all_elements(
    schedule: Schedule, outer: Band, labels: list[str], own: Collection[str]
) -> bool:
    """Tell whether the lanes of all recurrences can load and store every access.

    An access may be the same for all rows, contiguous across rows in a temporary, or in square
    tiles that are transposed in registers.  `labels` are innermost bands below `outer`, whose first
    loop runs over rows, `own` temporaries whose layout may change.
    """
    for label in labels:
        path, domain = path_to(schedule.tree, schedule.scop, label)
        members = (*path, *find_band(schedule.tree, label).members)
        row = members.index(outer.members[0])
        for name in statements_of(schedule.scop, domain):
            statement = schedule.scop.statement(name)
            moves = directions(members, schedule.scop, statement)
            if not is_arithmetic(statement.value) or not all(
                _is_reached(access, schedule.scop, statement, (moves[row], moves[-1]), own)
                for access in accesses(statement)
            ):
                return False
    return True


def is_arithmetic(value: Expr) -> bool:
    """Tell whether a value consists of operators that lanes compute."""
    kinds = Binary | Unary | Load | Const | Param | Symbol
    if isinstance(value, Select):
        condition = value.condition
        parts = (*children(condition), value.then, value.otherwise)
        return isinstance(condition, Compare) and all(map(is_arithmetic, parts))
    if isinstance(value, Load):
        return value.dtype in LANES
    return (
        isinstance(value, kinds)
        and value.dtype in LANES
        and all(map(is_arithmetic, children(value)))
    )


def _is_reached(
    access: Access,
    scop: Scop,
    statement: Statement,
    moves: tuple[tuple[Fraction, ...] | None, tuple[Fraction, ...] | None],
    own: Collection[str],
) -> bool:
    """Tell whether lanes can load or store an access, given the directions of rows and steps.

    `own` are temporaries of a row whose layout may change.
    """
    across, along = (change_of(access, statement, move) for move in moves)
    array = scop.array(access.array)
    if across is None or along is None or array.layout not in (Layout.C, Layout.ROWS):
        return False
    if not any(across):
        return True
    if access.array in own and sum(map(bool, across)) == 1:
        return True
    if not any(across[:-1]):
        return across[-1] == 1
    return not across[-1] and not any(along[:-1]) and abs(along[-1]) == 1


def moved_subscript(
    access: Access, statement: Statement, direction: tuple[Fraction, ...] | None
) -> int | None:
    """Return the only subscript that a step along `direction` moves, by one; else None."""
    steps = change_of(access, statement, direction)
    if steps is None or any(step not in (0, 1) for step in steps):
        return None
    found = [dimension for dimension, step in enumerate(steps) if step]
    return found[0] if len(found) == 1 else None
