"""Making nodes: the kind of each result is found when the operation is recorded.

In: an operation and operands made of nodes, sizes and constants.  Out: nodes.
Refuses: what NumPy would refuse (PO0140, PO0141, PO0146, PO0153) and operands of no use (PO0151).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from polyopt.ir.types import DType
from polyopt.tracing.nodes import (
    Array,
    Call,
    Captured,
    Kind,
    Method,
    Node,
    Op,
    Operator,
    Part,
    SizeValue,
    Store,
    Subscript,
    leaves,
)
from polyopt.tracing.places import here, refuse
from polyopt.tracing.reading import Found, results
from polyopt.tracing.sizes import Shape, Size, Unknown, atom
from polyopt.tracing.subscripting import broadcast, selected, shape_of, show

_INT = np.dtype(np.int64)


def make(
    op: Op,
    operands: tuple[object, ...],
    kind: Kind,
    keywords: Mapping[str, object] | None = None,
    kinds: tuple[Kind, ...] = (),
) -> Node:
    """Return a node recorded at the user's present line."""
    return Node(op, operands, tuple((keywords or {}).items()), kind, here(), kinds)


def known(dtype: np.dtype[np.generic]) -> np.dtype[np.generic]:
    """Return a supported dtype; refuse others."""
    if dtype.name not in DType._value2member_map_ or not dtype.isnative:
        hint = "use bool, 8 to 64 bit integers, float16 to float64, complex64 or complex128"
        refuse("PO0143", f"lazy arrays of {dtype} are not supported", hint=hint)
    return dtype


def captured(array: Array, name: str | None = None) -> Node:
    """Return the node of a concrete array."""
    return make(Captured(array, name), (), Kind(array.shape, known(array.dtype)))


def size_value(size: Size) -> Node:
    """Return a size as a number."""
    return make(SizeValue(size), (), Kind((), _INT, True))


def call(function: Callable[..., object], *operands: object, **keywords: object) -> Node:
    """Return the node of a call with one result."""
    found = call_any(function, operands, keywords)
    if isinstance(found, tuple):
        name = getattr(function, "__name__", str(function))
        refuse("PO0151", f"`{name}` gives several results here")
    return found


def call_any(
    function: Callable[..., object], operands: tuple[object, ...], keywords: Mapping[str, object]
) -> Node | tuple[Node, ...]:
    """Return the node, or the nodes, of a call's results."""
    _check_operands(operands, keywords)
    op = Call(function)
    found, several = results(op, operands, keywords)
    if not several:
        return _made(op, operands, found[0], keywords)
    parts = tuple(Kind((), part.dtype) for part in found)
    whole = make(op, operands, Kind((len(parts),), np.dtype(np.float64)), keywords, parts)
    return tuple(_made(Part(n), (whole,), part) for n, part in enumerate(found))


def _check_operands(operands: tuple[object, ...], keywords: Mapping[str, object]) -> None:
    for value in leaves((operands, dict(keywords))):
        if isinstance(value, np.ndarray):
            raise AssertionError("arrays are captured before")
        if callable(value) and not isinstance(value, type):
            refuse("PO0151", f"the operand {value!r}")


def operator(op: Operator, *operands: object) -> Node:
    """Return the node of a Python operator."""
    ((found,), _) = results(op, operands, {})
    return _made(op, operands, found)


def _made(
    op: Op, operands: tuple[object, ...], found: Found, keywords: Mapping[str, object] | None = None
) -> Node:
    """Return the node of a result; its value tells the extents that nothing else does."""
    node = make(op, operands, Kind((), found.dtype), keywords)
    shape = tuple(
        atom(Unknown(node, d)) if extent is None else extent for d, extent in enumerate(found.shape)
    )
    object.__setattr__(node, "kind", Kind(shape, found.dtype, found.weak))  # may name the node
    return node


def subscript(node: Node, key: object) -> Node:
    """Return `node[key]`."""
    shape = selected(node.shape, key)
    if shape is not None:
        return make(Subscript(), (node, key), Kind(shape, node.dtype))
    (mask,) = key if isinstance(key, tuple) and len(key) == 1 else (key,)
    if not isinstance(mask, Node):
        hint = "select by the mask first, then by the rest"
        refuse("PO0140", "a mask together with other subscripts", hint=hint)
    rest = node.shape[len(mask.shape) :]
    broadcast(node.shape[: len(mask.shape)], mask.shape)
    return _made(Subscript(), (node, mask), Found((None, *rest), node.dtype))


def store(node: Node, key: object, value: object) -> Node:
    """Return a copy of `node` with `value` at `key`."""
    target = selected(node.shape, key)
    if target is not None:
        _require_fits(target, shape_of(value))
    if node.dtype.kind != "c" and any(map(_is_complex, leaves(value))):
        hint = "take `.real`"
        refuse("PO0144", f"complex values do not go into an array of {node.dtype}", hint=hint)
    return make(Store(), (node, key, value), node.kind)


def _is_complex(value: object) -> bool:
    return isinstance(value, complex) or getattr(getattr(value, "dtype", None), "kind", "") == "c"


def _require_fits(target: Shape, given: Shape) -> None:
    extra = len(given) - len(target)
    if extra > 0 and all(extent == 1 for extent in given[:extra]):
        given = given[extra:]
    fits = len(given) <= len(target)
    for extent, room in zip(reversed(given), reversed(target), strict=False):
        fits = fits and (extent == 1 or room != 1)
    if not fits:
        shown = f"{show(given)} do not fit {show(target)}"
        refuse("PO0140", f"values of shape {shown}")
    broadcast(target, given)


def astype(node: Node, dtype: object) -> Node:
    """Return `node.astype(dtype)`."""
    try:
        found = known(np.dtype(dtype))  # type: ignore[call-overload]
    except TypeError:
        refuse("PO0143", f"{dtype!r} is no element type", hint="use np.float32, np.int64, bool")
    return make(Method("astype"), (node, found), Kind(node.shape, found))
