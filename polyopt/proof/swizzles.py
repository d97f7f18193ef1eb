"""Check that swizzled rows of shared arrays hold each element exactly once.

In: an array.  Out: a reason why not, or None.
The column of an element depends on its row through `row % (rows * count)` only, so all cases are
enumerated.
"""

from __future__ import annotations

from polyopt.ir.array import Array
from polyopt.ir.expr import Const


def swizzle_fault(array: Array) -> str | None:
    """Return why a row of `array` does not hold each of its elements once; None if all do."""
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
