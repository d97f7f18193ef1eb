"""Extents of lazy arrays: what operands have, and what they broadcast to.

Refuses: extents that differ (PO0140).
"""

from __future__ import annotations

from collections.abc import Sequence

from polyopt.tracing.nodes import Node
from polyopt.tracing.places import refuse
from polyopt.tracing.sizes import Extent, Shape, Size, is_polynomial


def shape_of(value: object) -> Shape:
    """Return the extents of an operand."""
    match value:
        case Node():
            return value.shape
        case tuple() | list():
            inner = shape_of(value[0]) if value else ()
            return (len(value), *inner)
        case _:
            return ()


def show(shape: Shape) -> str:
    """Return a shape as text."""
    return f"({', '.join(map(str, shape))}{',' if len(shape) == 1 else ''})"


def broadcast(*shapes: Shape) -> Shape:
    """Return the common shape."""
    rank = max((len(shape) for shape in shapes), default=0)
    result: list[Extent] = []
    for d in range(rank):
        column = [shape[d - rank + len(shape)] for shape in shapes if d - rank + len(shape) >= 0]
        result.append(_common(column, shapes))
    return tuple(result)


def _common(column: Sequence[Extent], shapes: Sequence[Shape]) -> Extent:
    wide = [extent for extent in column if extent != 1]
    if not wide:
        return 1
    best = next((e for e in wide if isinstance(e, int)), wide[0])
    for extent in wide:
        if not _may_equal(best, extent):
            shown = " and ".join(show(shape) for shape in shapes)
            refuse("PO0140", f"the shapes {shown} do not broadcast: {best} is not {extent}")
    return best


def _may_equal(left: Extent, right: Extent) -> bool:
    """Names that differ are taken to differ; a name may turn out to be a number."""
    if left == right:
        return True
    if isinstance(left, int) or isinstance(right, int):
        return isinstance(left, Size) or isinstance(right, Size)
    return not (is_polynomial(left) and is_polynomial(right))
