"""Read panels, where they were filled, and the operands themselves elsewhere, by the same nodes.

In: the nodes that fill panels, those that read them, what each panel holds, when it is filled.
Out: the nodes once, with views of the panels or of the operands in their place.
Refuses: operands that are computed, have no contiguous rows or change, and nodes for threads.
"""

from __future__ import annotations

from collections.abc import Collection

from polyopt.dataclass import dataclass, replace
from polyopt.emit.regions import written_arrays
from polyopt.ir.expr import Expr, Iter, Load, Symbol, add, integer, sub, substitute
from polyopt.ir.linear import Linear, from_linear, linear, normalize
from polyopt.ir.loops import (
    AllocateArray,
    Body,
    CallLibrary,
    Declare,
    DeclareArray,
    DeclareView,
    For,
    If,
    LoopKind,
    Node,
    Place,
)
from polyopt.ir.names import fresh_name, has_iterator
from polyopt.ir.nodes import all_nodes, changed_body
from polyopt.ir.scop import Array
from polyopt.ir.types import DType


@dataclass(frozen=True, slots=True)
class Panel:
    """An array whose elements `cell` are `load`, for all iterations of `loops`."""

    array: Array
    cell: Load
    load: Expr
    loops: tuple[For, ...]


def through_views(
    filling: Body,
    rest: Body,
    panels: tuple[Panel, ...],
    condition: Expr,
    rows: Collection[str],
    taken: set[str],
) -> Body | None:
    """Return `filling` under `condition` and `rest` behind views of the panels or operands.

    `rows` are the arrays with contiguous rows, `taken` the names that are, to which some are added.
    """
    places = [_place(panel) for panel in panels]
    found = [place for place in places if place is not None and place.first.array in rows]
    operands = {place.first.array for place in found}
    if len(found) < len(panels) or operands & written_arrays(rest) or not _is_for_one(rest):
        return None
    name = fresh_name("is_copied", taken)
    taken.add(name)
    is_copied = Symbol(name, DType.BOOL)
    declared = tuple(node for node in filling if isinstance(node, DeclareArray))
    fills = tuple(node for node in filling if not isinstance(node, DeclareArray))
    views: list[Node] = []
    names: dict[str, str] = {}
    for panel, place in zip(panels, found, strict=True):
        view = replace(panel.array, name=fresh_name(f"{place.first.array}_from", taken))
        taken.add(view.name)
        views.append(DeclareView(view, is_copied, _whole(panel), place))
        names[panel.array.name] = view.name

    def rule(expr: Expr) -> Expr | None:
        if isinstance(expr, Load) and expr.array in names:
            return replace(expr, array=names[expr.array])
        return None

    chosen = Declare(name, DType.BOOL, 1, condition)
    return (chosen, *declared, If(is_copied, fills), *views, *changed_body(rest, rule))


def _is_for_one(body: Body) -> bool:
    """Tell whether one thread runs nests that leave memory where it is."""
    if not all(isinstance(node, DeclareArray | For | If) for node in body):
        return False
    return not any(
        isinstance(node, AllocateArray | CallLibrary)
        or (isinstance(node, For) and node.kind is LoopKind.PARALLEL)
        for node in all_nodes(body)
    )


def _whole(panel: Panel) -> Place:
    """Return the place of a panel's own elements."""
    rank = len(panel.array.shape)
    steps = tuple(tuple(int(d == e) for e in range(rank)) for d in range(rank - 1))
    return Place(replace(panel.cell, index=(integer(0),) * rank), steps)


def _place(panel: Panel) -> Place | None:
    """Return where the elements are in the operand; None if they are not in rows of one."""
    if not isinstance(panel.load, Load):
        return None
    names = [f"={d}" for d in range(len(panel.loops))]
    known: dict[str, Expr] = {}  # iterators in terms of the panel's subscripts
    for name, loop, subscript in zip(names, panel.loops, panel.cell.index, strict=True):
        origin = substitute(sub(Iter(loop.iter), subscript), known)
        known[loop.iter] = normalize(add(Iter(name), origin))
    index = [linear(substitute(subscript, known)) for subscript in panel.load.index]
    *steps, last = (tuple(dict(i.terms).get(Iter(name), 0) for i in index) for name in names)
    first = tuple(_without(subscript, names) for subscript in index)
    if last != (*(0 for _ in index[1:]), 1) or any(has_iterator(i, names) for i in first):
        return None
    return Place(replace(panel.load, index=first), tuple(steps))


def _without(value: Linear, names: list[str]) -> Expr:
    kept = tuple((a, c) for a, c in value.terms if not (isinstance(a, Iter) and a.name in names))
    return normalize(from_linear(Linear(value.constant, kept)))
