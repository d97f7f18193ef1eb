"""Shapes of subscripts: integers, slices, None, `...`, index arrays and masks.

In: an array's shape and a key.  Out: the shape of what the key selects.
Refuses: too many subscripts, integers outside the array (PO0140).
What shapes broadcast to.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from polyopt.tracing.nodes import Node
from polyopt.tracing.places import refuse
from polyopt.tracing.sizes import (
    Extent,
    Shape,
    Size,
    as_extent,
    at_least_zero,
    is_extent,
    is_polynomial,
    minus,
    plus,
    quotient,
)


def is_mask(part: object) -> bool:
    """Whether a subscript selects by truth."""
    return isinstance(part, Node) and part.dtype == np.bool_ and len(part.shape) > 0


def is_plain(key: object) -> bool:
    """Whether a key gives a view: no index arrays, no masks."""
    parts = key if isinstance(key, tuple) else (key,)
    return not any(isinstance(part, Node | list) for part in parts)


def selected(shape: Shape, key: object) -> Shape | None:
    """Return the shape of `array[key]`, None where its elements decide it (masks)."""
    parts = list(key) if isinstance(key, tuple) else [key]
    if any(is_mask(part) for part in parts):
        return None
    used = sum(part is not None and part is not Ellipsis for part in parts)
    if used > len(shape):
        refuse("PO0140", f"{used} subscripts of an array of shape {show(shape)}")
    _fill(parts, len(shape) - used)
    return _selected(shape, parts)


def _fill(parts: list[object], missing: int) -> None:
    """Replace `...` by whole slices."""
    places = [n for n, part in enumerate(parts) if part is Ellipsis]
    if len(places) > 1:
        refuse("PO0140", "more than one `...` in a subscript")
    place = places[0] if places else len(parts)
    parts[place : place + len(places)] = [slice(None)] * missing


def _selected(shape: Shape, parts: Sequence[object]) -> Shape:
    result: list[Extent] = []
    gathered: list[Shape] = []
    places: list[int] = []
    d = 0
    for number, part in enumerate(parts):
        if part is None:
            result.append(1)
            continue
        match part:
            case slice():
                result.append(cut(shape[d], part))
            case Node(kind=kind):
                _require_integer(part)
                gathered.append(kind.shape)
                places.append(number)
                if len(gathered) == 1:
                    front = len(result)
            case list():
                gathered.append(np.shape(part))
                places.append(number)
                if len(gathered) == 1:
                    front = len(result)
            case _:
                _check_integer(part, shape[d])
        d += 1
    if not gathered or all(shape == () for shape in gathered):
        return tuple(result)
    together = places[-1] - places[0] == len(places) - 1
    at = front if together else 0
    return (*result[:at], *broadcast(*gathered), *result[at:])


def _require_integer(part: Node) -> None:
    if part.dtype.kind not in "iu":
        refuse("PO0140", f"a subscript of {part.dtype} elements", hint="use integers, or a mask")


def _check_integer(part: object, extent: Extent) -> None:
    if not is_extent(part):
        refuse("PO0140", f"the subscript {part!r}", hint="use integers, slices, None and `...`")
    index = as_extent(part)
    if isinstance(index, int) and isinstance(extent, int) and not -extent <= index < extent:
        refuse("PO0140", f"subscript {index} of a dimension of extent {extent}")


def cut(extent: Extent, part: slice) -> Extent:
    """Return the extent of a slice; names are taken to be large enough for constant bounds."""
    step = 1 if part.step is None else as_extent(part.step)
    if not isinstance(step, int) or step == 0:
        refuse("PO0140", f"a slice with step {step}", hint="use a nonzero constant step")
    bounds = [None if b is None else as_extent(b) for b in (part.start, part.stop)]
    if isinstance(extent, int) and not any(isinstance(b, Size) for b in bounds):
        return len(range(*slice(bounds[0], bounds[1], step).indices(extent)))
    low, high = (_bound(bound, extent) for bound in bounds)
    if step > 0:
        start, stop = low if low is not None else 0, high if high is not None else extent
        length = minus(stop, start)
    else:
        start = low if low is not None else minus(extent, 1)
        length = minus(start, high if high is not None else -1)
    stride = abs(step)
    return at_least_zero(quotient(plus(length, stride - 1), stride))


def _bound(bound: Extent | None, extent: Extent) -> Extent | None:
    """Return a bound counted from 0."""
    if bound is None or (isinstance(bound, int) and bound >= 0):
        return bound
    if isinstance(bound, int) or all(c < 0 for _, c in bound.terms):
        return plus(extent, bound)
    return bound


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
