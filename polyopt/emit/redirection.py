"""Print nests that read a copy of an operand, or the operand itself, once.

In: a condition, under which nests behind copies read these, and otherwise the operands.
Out: the copies under the condition, pointers to what is read with strides, and the nests once.
Refuses: nests that differ in anything else, copies of computed operands, nests for threads.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import TYPE_CHECKING

from polyopt.dataclass import dataclass, replace
from polyopt.emit.banner import plain
from polyopt.emit.c_statements import Branch, Code, Line
from polyopt.emit.dialect import PRODUCT
from polyopt.emit.regions import written_arrays
from polyopt.emit.sharing import canonical
from polyopt.emit.views import View
from polyopt.ir.expr import Expr, Iter, Load, VectorLoad, add, integer, mul, sub, substitute
from polyopt.ir.linear import Linear, from_linear, linear, normalize
from polyopt.ir.loops import Assign, Body, DeclareArray, For, If, LoopKind, Node, Space
from polyopt.ir.names import has_iterator
from polyopt.ir.nodes import all_nodes, changed_body, map_inner
from polyopt.ir.scop import Array

if TYPE_CHECKING:
    from polyopt.emit.cbody import BodyEmitter


@dataclass(frozen=True, slots=True)
class Redirect:
    """`copy[p]` is `operand[origin + sum(steps[d] * p[d])]`."""

    copy: Array
    operand: str
    origin: tuple[Expr, ...]
    steps: tuple[tuple[int, ...], ...]

    def in_place(self, load: Load | VectorLoad) -> Load | VectorLoad:
        """Return the operand's element that an element of the copy holds."""
        index = list(self.origin)
        for place, steps in zip(load.index, self.steps, strict=True):
            index = [add(one, mul(integer(s), place)) for one, s in zip(index, steps, strict=True)]
        return replace(load, array=self.operand, index=tuple(index))


@dataclass(frozen=True, slots=True)
class Redirected:
    """Nodes that fill copies, and those behind them, which read the copies."""

    filling: Body
    redirects: tuple[Redirect, ...]
    rest: Body


def redirected(node: If) -> Redirected | None:
    """Return the parts of a condition whose sides differ in what they read alone."""
    count = len(node.then) - len(node.otherwise)
    filling, rest = node.then[:count], node.then[count:]
    arrays = [
        one.array
        for one in filling
        if isinstance(one, DeclareArray) and one.space is not Space.THREAD
    ]
    if not node.otherwise or not arrays:
        return None
    if not all(isinstance(one, DeclareArray | For | If) for one in node.then):
        return None
    loops = [loop for loop in all_nodes(node.then) if isinstance(loop, For)]
    if any(loop.kind is LoopKind.PARALLEL for loop in loops):
        return None
    found = [_redirect(array, filling) for array in arrays]
    redirects = {one.copy.name: one for one in found if one is not None}
    used = {*redirects, *(one.operand for one in redirects.values())}
    if len(redirects) < len(arrays) or written_arrays(rest) & used:
        return None
    if _in_place(rest, redirects) != _in_place(node.otherwise, {}):
        return None
    return Redirected(filling, tuple(redirects.values()), rest)


def without_repetition(body: Body) -> Body:
    """Return a body as it is printed: with the nests that are redirected once."""

    def once(node: Node) -> Node:
        if isinstance(node, If) and redirected(node) is not None:
            node = replace(node, otherwise=())
        return map_inner(node, once)

    return tuple(map(once, body))


def redirection(emitter: BodyEmitter, node: If) -> list[Code] | None:
    """Return the statements of a condition as this module prints it; None if it is another."""
    found = redirected(node)
    if found is None:
        return None
    name = emitter.fresh("is_copied")
    declared = tuple(one for one in found.filling if isinstance(one, DeclareArray))
    filling = tuple(one for one in found.filling if not isinstance(one, DeclareArray))
    lines: list[Code] = []
    if emitter.frame.edition.is_handed_over:
        names = " and ".join(dict.fromkeys(one.operand for one in found.redirects))
        note = f"read {plain(names)} from a copy, or in place where too little is read for one"
        lines.append(Line(f"/* {note} */"))
    lines.append(Line(f"const bool {name} = {emitter.printer.text(node.condition)};"))
    lines += emitter.body(declared)
    lines.append(Branch(name, emitter.body(filling), []))
    views = dict(emitter.frame.views)
    for one in found.redirects:
        made, view = _pointers(emitter, one, name)
        lines += made
        views[one.copy.name] = view
    frame, printer = replace(emitter.frame, views=views), replace(emitter.printer, views=views)
    return [*lines, *replace(emitter, frame=frame, printer=printer).body(found.rest)]


def _pointers(emitter: BodyEmitter, one: Redirect, name: str) -> tuple[list[Code], View]:
    """Return the declarations of a pointer to the first element and of strides, and the view."""
    printer, view = emitter.printer, emitter.frame.views[one.copy.name]
    own = [linear(extent).constant for extent in one.copy.shape]
    widths = [prod(own[d + 1 :]) for d in range(len(own))]
    there = _strides(emitter, one.operand)
    pointer = emitter.fresh(f"{one.operand}_from")
    first = f"&{view.name}{'[0]' * len(own)}"
    ctype = one.copy.dtype.ctype
    place = printer.address(one.operand, one.origin)
    lines: list[Code] = [Line(f"const {ctype} *{pointer} = {name} ? {first} : {place};")]
    strides: list[str] = []
    values: list[str] = []
    for number, (width, steps) in enumerate(zip(widths[:-1], one.steps, strict=False)):
        stride = emitter.fresh(f"{one.operand}_s{number}")
        parts = [
            text if step == 1 else str(step) if text == "1" else f"{step} * {text}"
            for step, text in zip(steps, there, strict=True)
            if step
        ]
        strides.append(stride)
        values.append(f"{stride} = {name} ? {width} : {' + '.join(parts) or '0'}")
    if values:
        lines.append(Line(f"const int64_t {', '.join(values)};"))
    strides.append("1")
    made = View(one.copy, pointer, pointer, False, tuple(strides), is_redirected=True)
    return lines, made


def _strides(emitter: BodyEmitter, array: str) -> list[str]:
    """Return C of how many elements neighbours along each dimension of an array are apart."""
    view = emitter.frame.views[array]
    if view.strides:
        return list(view.strides)
    strides: list[Expr] = [integer(1)]
    for extent in reversed(view.array.shape[1:]):
        strides.append(mul(strides[-1], extent))
    return [emitter.printer.text(normalize(one), PRODUCT) for one in reversed(strides)]


def _redirect(copy: Array, filling: Body) -> Redirect | None:
    """Return where the elements of a copy are in its operand; None if that is not one place."""
    loops = {loop.iter for loop in all_nodes(filling) if isinstance(loop, For)}
    fills = {n for n in all_nodes(filling) if isinstance(n, Assign) and n.target.array == copy.name}
    fill = fills.pop() if len(fills) == 1 else None
    if any(linear(extent).terms for extent in copy.shape):
        return None
    if fill is None or type(fill.target) is not Load or type(fill.value) is not Load:
        return None
    known: dict[str, Expr] = {}  # iterators in terms of the copy's subscripts
    for d, place in enumerate(fill.target.index):
        value = linear(substitute(place, known))
        own = [a for a, c in value.terms if isinstance(a, Iter) and a.name in loops and c == 1]
        if len(own) != 1:
            return None
        known[own[0].name] = sub(Iter(f"={d}"), sub(from_linear(value), own[0]))
    index = [linear(substitute(place, known)) for place in fill.value.index]
    names = [f"={d}" for d in range(len(fill.target.index))]
    steps = tuple(tuple(dict(one.terms).get(Iter(name), 0) for one in index) for name in names)
    origin = tuple(_without(one, names) for one in index)
    is_row = steps[-1] == (*(0 for _ in index[1:]), 1)
    if not is_row or any(has_iterator(one, {*loops, *names}) for one in origin):
        return None
    return Redirect(copy, fill.value.array, origin, steps)


def _without(value: Linear, names: list[str]) -> Expr:
    kept = tuple((a, c) for a, c in value.terms if not (isinstance(a, Iter) and a.name in names))
    return normalize(from_linear(Linear(value.constant, kept)))


def _in_place(body: Body, redirects: Mapping[str, Redirect]) -> Body:
    """Return nodes as they are compared: with operands read themselves, subscripts in one form."""

    def rule(expr: Expr) -> Expr | None:
        if not isinstance(expr, Load | VectorLoad):
            return None
        load = redirects[expr.array].in_place(expr) if expr.array in redirects else expr
        return replace(load, index=tuple(map(normalize, load.index)))

    return canonical(changed_body(body, rule))
