"""Rows of shared arrays that are turned: is every element in one place of its own row?

In: an array.  Out: the reason why not, or None.
Which column holds an element depends on its row through `row % (rows * count)` only, so all cases
are looked at, one by one.
"""

from __future__ import annotations

from polyopt.ir.array import Array
from polyopt.ir.expr import Const


def why_not_turned(array: Array) -> str | None:
    """Return why the rows of `array` do not hold each of their elements once; None if they do."""
    turn = array.turn
    if turn is None:
        return None
    if min(turn.group, turn.rows, turn.count) < 1 or not 0 < turn.back < len(array.shape):
        return "its rows are turned by nothing"
    match array.shape[-1]:
        case Const(value=int(length)):
            pass
        case _:
            return "its turned rows have no constant length"
    for row in range(turn.rows * turn.count):
        if {turn.place(row, column) for column in range(length)} != set(range(length)):
            return f"the turned row {row} does not hold each of its elements once"
    return None
