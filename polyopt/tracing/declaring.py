"""Where lazy arrays come from: inputs that are declared, arrays that are captured, sizes."""

from __future__ import annotations

import keyword

import numpy as np

from polyopt.frontend.syntax.annotations import Annotation
from polyopt.tracing import recording
from polyopt.tracing.arrays import LazyArray
from polyopt.tracing.nodes import Kind, Placeholder
from polyopt.tracing.places import refuse
from polyopt.tracing.sizes import Extent, Shape, Size, as_extent, is_extent, parse


def tensor(name: str, shape: object, dtype: object = None) -> LazyArray:
    """Declare an input.

    >>> import numpy as np, polyopt as po
    >>> po.tensor("x", po.f32["N,D"])
    <LazyArray (N, D) float32>
    >>> po.tensor("w", ("D", 64), np.float64)
    <LazyArray (D, 64) float64>
    """
    if not isinstance(name, str) or not name.isidentifier() or keyword.iskeyword(name):
        refuse("PO0806", f"{name!r} is no name for an input")
    if name in ("np", "po", "ml_dtypes"):
        refuse("PO0806", f"the name {name!r} stands for a module in the function that is made")
    if isinstance(shape, Annotation):
        extents, found = _annotated(shape), shape.dtype.numpy
    else:
        parts = shape if isinstance(shape, tuple | list) else (shape,)
        extents = tuple(_declared(part) for part in parts)
        found = _element_type(dtype)
    return LazyArray(recording.make(Placeholder(name), (), Kind(extents, found)))


def _annotated(note: Annotation) -> Shape:
    dims = note.dims or ()
    if any(dim == ":" for dim in dims):
        refuse("PO0806", f"the dimensions of `{note}` need names or numbers")
    return tuple(_checked(parse(dim)) for dim in dims)


def _declared(part: object) -> Extent:
    if isinstance(part, str):
        return _checked(parse(part))
    if not is_extent(part):
        refuse("PO0806", f"{part!r} is no size")
    return _checked(as_extent(part))


def _checked(extent: Extent) -> Extent:
    if isinstance(extent, int) and extent < 0:
        refuse("PO0806", f"the size {extent} is negative")
    return extent


def _element_type(dtype: object) -> np.dtype[np.generic]:
    if isinstance(dtype, Annotation):
        return dtype.dtype.numpy
    if dtype is None:
        refuse("PO0806", "the element type of an input is not given")
    try:
        return recording.known(np.dtype(dtype))  # type: ignore[call-overload]
    except TypeError:
        refuse("PO0806", f"{dtype!r} is no element type")


def lazy(array: object, name: str | None = None) -> LazyArray:
    """Capture a concrete array: its contents are those at the time of each call.

    >>> import numpy as np, polyopt as po
    >>> float((po.lazy(np.arange(3.0)) * 2).sum().compute())
    6.0
    """
    if isinstance(array, LazyArray):
        return array
    if name is not None and (not name.isidentifier() or keyword.iskeyword(name)):
        refuse("PO0806", f"{name!r} is no name for an array")
    return LazyArray(recording.captured(np.asarray(array), name))


def as_lazy(value: object) -> LazyArray:
    """Return a size as a lazy number, an array as a lazy one."""
    if isinstance(value, Size):
        return LazyArray(recording.size_value(value))
    return lazy(value)
