"""Views of lazy arrays: how elements that are stored into a view reach the array below it.

In: what makes a view, and the nodes of both.  Out: the array with the view's new elements.
Refuses: stores into views that cannot be written, and stores of which only the layout of memory
tells what else they change (PO0804).
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from polyopt.dataclass import dataclass
from polyopt.tracing import recording
from polyopt.tracing.nodes import MOVES, Call, Captured, Node, Operator, Store, Subscript, nodes_in
from polyopt.tracing.places import refuse
from polyopt.tracing.subscripting import is_plain

if TYPE_CHECKING:
    from polyopt.tracing.arrays import LazyArray

Put: TypeAlias = Callable[[Node, Node], Node]
"""The array below and the view's new elements -> the array below."""

REGROUPS = frozenset([np.reshape, np.ravel])
"""Functions that give a view or a copy, as the layout of memory is."""

_ITS_OWN_INVERSE = frozenset([np.swapaxes, np.flip, np.flipud, np.fliplr])
_IN_ORDER = frozenset([
    *REGROUPS, np.expand_dims, np.squeeze, np.atleast_1d, np.atleast_2d, np.atleast_3d,
])  # fmt: skip
_PARTS = frozenset([np.split, np.array_split, np.hsplit, np.vsplit, np.dsplit])

VIEWS = MOVES | _IN_ORDER | _PARTS | {np.real, np.imag, np.rot90}
"""NumPy's functions whose results are views of their first operand."""


@dataclass(frozen=True, slots=True, eq=False)
class Link:
    """How a view is taken from `owner` (by `key` where it is a subscript), and put back.

    `in_order`: its elements lie in C order if those of `owner` do.  `put`: None for a view that
    cannot be written.
    """

    owner: LazyArray
    take: Callable[[Node], Node]
    put: Put | None
    in_order: bool
    key: object = None


def link(
    function: Callable[..., object],
    array: LazyArray,
    result: LazyArray | tuple[LazyArray, ...],
    rest: tuple[object, ...],
    options: Mapping[str, object],
) -> None:
    """Note that the results of `function` are views of `array`, or may be."""
    found = result if isinstance(result, tuple) else (result,)
    in_order = _keeps_order(function, options)
    if function in REGROUPS and not (in_order and _is_run_of(array)):
        root = _root(array)
        for one in found:
            one._perhaps = weakref.ref(root)
            root._views.add(one)
        return
    put = _putting(function, rest, options)
    for number, one in enumerate(found):
        place = number if isinstance(result, tuple) else None
        array._lend(
            one, Link(array, partial(_taken, function, rest, options, place), put, in_order)
        )


def check_store(array: LazyArray) -> None:
    """Refuse a store of which only the layout of memory tells what else it changes."""
    view, root = array, _root(array)
    while view._link is not None:
        if view._link.put is None:
            refuse("PO0804", "a store into a view that cannot be written")
        view = view._link.owner
    given = root._perhaps() if root._perhaps is not None else None
    if given is not None or _has_copies(root):
        refuse("PO0804", "a store while an array is in use that may be a view or a copy")


def _has_copies(array: LazyArray) -> bool:
    """Whether an array is in use that may be a view of this one, or of a view of it."""
    return any(view._perhaps is not None or _has_copies(view) for view in array._views)


def _root(array: LazyArray) -> LazyArray:
    """Return the array whose elements these are."""
    return array if array._link is None else _root(array._link.owner)


def _is_run_of(array: LazyArray) -> bool:
    """Whether the elements are sure to follow each other in memory, in C order."""
    if array._link is None:
        return is_in_order(array._node)
    return array._link.in_order and _is_run_of(array._link.owner)


def _taken(
    function: Callable[..., object],
    rest: tuple[object, ...],
    options: Mapping[str, object],
    place: int | None,
    node: Node,
) -> Node:
    """Return `function(node, *rest, **options)`; number `place` of several results."""
    found = recording.call_any(function, (node, *rest), options)
    if isinstance(found, tuple):
        return found[place or 0]
    return found


def _putting(
    function: Callable[..., object], rest: tuple[object, ...], options: Mapping[str, object]
) -> Put | None:
    """Return how elements stored into `function(array, *rest, **options)` go back."""
    if function is np.transpose:
        axes = rest[0] if rest else options.get("axes")
        return lambda array, new: recording.call(np.transpose, new, _back(axes, len(new.shape)))
    if function is np.moveaxis:
        source, target = (*rest, *options.values())
        return lambda array, new: recording.call(np.moveaxis, new, target, source)
    if function is np.rot90:
        turns, *axes = (*rest, *options.values()) or (1,)
        assert isinstance(turns, int)
        back = -turns
        return lambda array, new: recording.call(np.rot90, new, back, *axes)
    if function in _ITS_OWN_INVERSE:
        return lambda array, new: recording.call(function, new, *rest, **options)
    if function in _IN_ORDER:
        order = {"order": options["order"]} if "order" in options else {}
        return lambda array, new: recording.call(np.reshape, new, array.shape, **order)
    return None


def _back(axes: object, rank: int) -> tuple[int, ...] | None:
    """Return the axes that undo a transposition."""
    if not isinstance(axes, tuple | list):
        return None
    order = [axis % rank for axis in axes]
    return tuple(order.index(axis) for axis in range(rank))


def _keeps_order(function: Callable[..., object], options: Mapping[str, object]) -> bool:
    """Whether a view of elements in C order has them in C order."""
    return function in _IN_ORDER and options.get("order", "C") == "C"


def has_dots(key: object) -> bool:
    """Whether a key has `...`, so that it selects an array also where it names one element."""
    return any(part is Ellipsis for part in (key if isinstance(key, tuple) else (key,)))


def is_run(key: object) -> bool:
    """Whether a key selects elements that follow each other in C order."""
    parts = list(key) if isinstance(key, tuple) else [key]
    while parts and not isinstance(parts[0], slice) and parts[0] is not Ellipsis:
        parts.pop(0)
    if parts and isinstance(parts[0], slice) and parts[0].step in (None, 1):
        parts.pop(0)
    return all(part is Ellipsis or part == slice(None) for part in parts)


def is_in_order(node: Node) -> bool:
    """Whether NumPy is sure to make the value in C order; arrays of a call count as such."""
    match node.op:
        case Captured(array=array):
            return array.flags.c_contiguous
        case Operator(text="@") | Call(function=np.matmul | np.dot):
            return True
        case Call(function=np.einsum):
            return False
        case Call(function=function) if function in MOVES and function not in _IN_ORDER:
            return False
        case Subscript() if not is_plain(node.operands[1]) or not is_run(node.operands[1]):
            return len(node.shape) < 2
        case Store():
            base = node.operands[0]
            return isinstance(base, Node) and is_in_order(base)
        case _:
            return len(node.shape) < 2 or all(map(is_in_order, nodes_in(node.operands)))
