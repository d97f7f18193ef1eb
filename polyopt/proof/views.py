"""Check that views name the elements that `ir/views.py` reads in their place.

In: the loops as they are printed.  Refuses (`Unclaimable`): places of another type or rank, in
arrays without contiguous rows or in other views; what may change behind the declaration: the
condition, subscripts, memory; uses of a view but to read its elements.
"""

from __future__ import annotations

from polyopt.ir.array import Array
from polyopt.ir.expr import Load, VectorLoad, walk
from polyopt.ir.loops import (
    AllocateArray,
    Body,
    CallLibrary,
    DeclareArray,
    DeclareView,
    Kernel,
    LoopFunction,
    Place,
)
from polyopt.ir.names import symbols
from polyopt.ir.nodes import all_nodes, bodies
from polyopt.ir.source import Layout
from polyopt.ir.types import DType
from polyopt.proof.certificate import Unclaimable
from polyopt.proof.nodes import set_locals, written


def check_views(function: LoopFunction) -> None:
    """Raise `Unclaimable` for a view that may name other elements than its places have."""
    every = list(all_nodes(function.body))
    local = (node.array for node in every if isinstance(node, DeclareArray))
    _body(function.body, {array.name: array for array in (*function.arrays, *local)})


def _body(body: Body, arrays: dict[str, Array]) -> None:
    for number, node in enumerate(body):
        if isinstance(node, DeclareView):
            _view(node, body[number + 1 :], arrays)
        for part in bodies(node):
            _body(part, arrays)


def _view(node: DeclareView, rest: Body, arrays: dict[str, Array]) -> None:
    name = node.array.name
    if node.condition.dtype is not DType.BOOL:
        raise Unclaimable(name, "it is chosen by no condition")
    for place in (node.then, node.otherwise):
        _place(place, node.array, arrays)
    fixed = (node.condition, *node.then.first.index, *node.otherwise.first.index)
    if any(isinstance(part, Load | VectorLoad) for one in fixed for part in walk(one)):
        raise Unclaimable(name, "where it is depends on data")
    if frozenset().union(*map(symbols, fixed)) & set_locals(rest):
        raise Unclaimable(name, "where it is depends on a local that is set later")
    if name in written(rest):
        raise Unclaimable(name, "a view is written")
    if any(isinstance(one, AllocateArray | CallLibrary | Kernel) for one in all_nodes(rest)):
        raise Unclaimable(name, "arrays get other memory behind it, or are used as a whole")


def _place(place: Place, view: Array, arrays: dict[str, Array]) -> None:
    array = arrays.get(place.first.array)
    if array is None or array.dtype is not view.dtype or array.layout is Layout.STRIDED:
        raise Unclaimable(view.name, "it names no rows of an array of its type")
    ranks = {len(steps) for steps in place.steps} | {len(place.first.index)}
    if ranks != {len(array.shape)} or len(place.steps) != len(view.shape) - 1:
        raise Unclaimable(view.name, "it has other dimensions than what it names")
