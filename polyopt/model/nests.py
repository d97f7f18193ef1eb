"""The nests of a function's loops, and how long each takes.

In: the final loops, values of sizes, a machine and its rates.  Out: `Nest`s in the order of the
text.  A loop that runs several nests in order is around them, not one of them; a tile loop is part
of its nest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from polyopt.dataclass import dataclass, replace
from polyopt.ir.expr import Binary, Compare, Const, Expr, Param, Unary, walk
from polyopt.ir.loops import (
    Assign,
    Body,
    CallLibrary,
    Declare,
    For,
    If,
    Kernel,
    LoopFunction,
    LoopKind,
    Node,
    SetLocal,
    While,
)
from polyopt.ir.nodes import all_nodes, has_loop, map_bodies
from polyopt.ir.views import without_views
from polyopt.machine import Machine, Rates
from polyopt.model.amount import Amount
from polyopt.model.footprint import GUESS, Memory
from polyopt.model.predict import Form, Prediction, known_at, predict_body
from polyopt.model.ranges import holds
from polyopt.model.traffic import Known, enter, is_tile

_Instance = Assign | Declare | SetLocal
_OF_SIZES = (Param, Const, Unary, Binary, Compare)
_ORDERED = (LoopKind.SEQUENTIAL, LoopKind.UNROLL)
_SHARED = (LoopKind.PARALLEL, LoopKind.LIBRARY)


@dataclass(frozen=True, eq=False)
class Nest:
    """Loops over some statements; `seconds` are those of all of its runs.

    `if_parallel` and `if_vector` are seconds that it would take on all cores, or in vectors; None
    where it runs so.  `around` are the loops that run it again, outermost first; `in_lanes` tells
    of loops that the text has the compiler vectorize.
    """

    body: Body
    around: tuple[For | While, ...]
    statements: tuple[str, ...]
    prediction: Prediction
    seconds: float
    if_parallel: float | None
    if_vector: float | None
    in_lanes: Callable[[For], bool]

    @property
    def is_parallel(self) -> bool:
        """Whether threads, or blocks of a device, share it."""
        return any(
            isinstance(n, Kernel) or (isinstance(n, For) and n.kind in _SHARED)
            for n in all_nodes(self.body)
        )

    @property
    def is_library(self) -> bool:
        """Whether a library computes a product of it."""
        return has_loop(self.body, LoopKind.LIBRARY)

    @property
    def is_vector(self) -> bool:
        """Whether it has explicit vectors, or loops across lanes."""
        return self.is_library or any(is_vector(n, self.in_lanes) for n in all_nodes(self.body))

    @property
    def calls(self) -> tuple[CallLibrary, ...]:
        """The calls of library functions in it."""
        return tuple(node for node in all_nodes(self.body) if isinstance(node, CallLibrary))


@dataclass(frozen=True, eq=False)
class _Place:
    """Loops around a body, how often they run it, and what is known there."""

    around: tuple[For | While, ...]
    runs: float
    ranges: Known


@dataclass(frozen=True, eq=False)
class _Model:
    memory: Memory
    machine: Machine
    rates: Rates
    in_lanes: Callable[[For], bool]

    def predict(self, body: Body, ranges: Known, form: Form = Form.AS_IS) -> Prediction:
        return predict_body(body, dict(ranges), self.memory, self.machine, self.rates, form)


def nests(
    fn: LoopFunction,
    sizes: Mapping[str, Amount],
    machine: Machine,
    rates: Rates,
    in_lanes: Callable[[For], bool],
) -> tuple[Nest, ...]:
    """Return the nests of `fn` that run at these sizes, with predictions."""
    ranges, memory = known_at(fn, sizes, machine)
    model = _Model(memory, machine, rates, in_lanes)
    return tuple(
        nest
        for body in groups(_at_sizes(without_views(fn.body), ranges))
        for nest in _nests(body, _Place((), 1.0, ranges), model)
    )


def _at_sizes(body: Body, ranges: Known) -> Body:
    """Return a body without the branches that do not run at these sizes."""
    found: list[Node] = []
    for node in body:
        known = None
        if isinstance(node, If) and _is_of_sizes(node.condition):
            known = holds(node.condition, ranges)
        if isinstance(node, If) and known is not None:
            found += _at_sizes(node.then if known else node.otherwise, ranges)
        else:
            found.append(map_bodies(node, _at_sizes, ranges))
    return tuple(found)


def _is_of_sizes(condition: Expr) -> bool:
    return all(isinstance(part, _OF_SIZES) for part in walk(condition))


def groups(body: Body) -> tuple[Body, ...]:
    """Return the parts of a body that have loops: those of the same statements together.

    What has no statement, a copy, belongs to the part after it, or to the last one.
    """
    found: list[Body] = []
    waiting: Body = ()
    for node in body:
        own = statements_of((node,))
        if not own and not isinstance(node, CallLibrary):
            waiting = (*waiting, node)
            continue
        if found and own and set(own) & set(statements_of(found[-1])):
            found[-1] = (*found[-1], *waiting, node)
        elif has_work(node):
            found.append((*waiting, node))
        waiting = ()
    if any(map(has_work, waiting)):
        found[-1:] = [(*found[-1], *waiting)] if found else [waiting]
    return tuple(found)


def has_work(node: Node) -> bool:
    """Tell whether a node has a loop, or calls a library."""
    return any(isinstance(one, For | While | CallLibrary | Kernel) for one in all_nodes((node,)))


def statements_of(body: Body) -> tuple[str, ...]:
    """Return the names of the statements with instances in `body`, in the order of the text."""
    named = (node.statement for node in all_nodes(body) if isinstance(node, _Instance))
    return tuple(dict.fromkeys(name for name in named if name))


def _nests(body: Body, place: _Place, model: _Model) -> list[Nest]:
    """Return the nests of a part, whose seconds add up to those of the part."""
    inner = _merged(_inside(body, place, model))
    whole = model.predict(body, place.ranges)
    seconds = whole.seconds * place.runs
    if len(inner) > 1:
        apart = sum(nest.seconds for nest in inner)
        scale = seconds / apart if apart > 0 and len(place.around) == 0 else 1.0
        return [_scaled(nest, scale) for nest in inner]
    found = Nest(
        body, place.around, statements_of(body), whole, seconds, None, None, model.in_lanes
    )
    shared = lanes = None
    if not found.is_parallel:
        shared = model.predict(body, place.ranges, Form.PARALLEL).seconds * place.runs
    if not found.is_vector and not found.calls:
        lanes = model.predict(body, place.ranges, Form.VECTOR).seconds * place.runs
    return [replace(found, if_parallel=shared, if_vector=lanes)]


def _merged(found: Iterable[Nest]) -> list[Nest]:
    """Return nests of which no two run the same statement: such are parts of one."""
    result: list[Nest] = []
    for nest in found:
        own = set(nest.statements)
        same = next((n for n, one in enumerate(result) if own & set(one.statements)), None)
        if same is None:
            result.append(nest)
        else:
            result[same] = _together(result[same], nest)
    return result


def _together(one: Nest, other: Nest) -> Nest:
    def both(first: float | None, second: float | None) -> float | None:
        if first is None and second is None:
            return None
        return (one.seconds if first is None else first) + (
            other.seconds if second is None else second
        )

    return replace(
        max(one, other, key=lambda nest: nest.seconds),
        body=(*one.body, *other.body),
        statements=tuple(dict.fromkeys((*one.statements, *other.statements))),
        seconds=one.seconds + other.seconds,
        if_parallel=both(one.if_parallel, other.if_parallel),
        if_vector=both(one.if_vector, other.if_vector),
    )


def _scaled(nest: Nest, scale: float) -> Nest:
    def times(seconds: float | None) -> float | None:
        return None if seconds is None else seconds * scale

    return replace(
        nest, seconds=nest.seconds * scale, if_parallel=times(nest.if_parallel),
        if_vector=times(nest.if_vector),
    )  # fmt: skip


def _inside(body: Body, place: _Place, model: _Model) -> Iterator[Nest]:
    """Yield the nests inside of loops that run in order; none where `body` has another loop."""
    busy = [node for node in body if has_work(node) and _matters((node,))]
    if not all(map(_is_around, busy)):
        return
    for node in busy:
        match node:
            case For():
                trips, ranges = enter(node, place.ranges)
                around = (*place.around, node)
                inner = _Place(around, place.runs * max(trips.value, 0.0), ranges)
                parts = groups(node.body)
            case While():
                inner = _Place((*place.around, node), place.runs * GUESS, place.ranges)
                parts = groups(node.body)
            case If():
                inner, parts = place, (*groups(node.then), *groups(node.otherwise))
            case _:
                continue
        for part in filter(_matters, parts):
            yield from _nests(part, inner, model)


def _matters(body: Body) -> bool:
    return bool(statements_of(body)) or any(isinstance(n, CallLibrary) for n in all_nodes(body))


def _is_around(node: Node) -> bool:
    """Tell whether a node runs nests in order: no tile loop, no choice of two versions of one."""
    match node:
        case For():
            return node.kind in _ORDERED and not is_tile(node)
        case While():
            return True
        case If():
            own = [name for part in (node.then, node.otherwise) for name in statements_of(part)]
            return len(own) == len(set(own))
        case _:
            return False


def is_vector(node: Node, in_lanes: Callable[[For], bool]) -> bool:
    """Tell whether a node has several elements at a time."""
    match node:
        case For():
            wide = node.lanes > 1 and node.kind is not LoopKind.THREAD
            return wide or node.kind is LoopKind.VECTOR or in_lanes(node)
        case Declare() | SetLocal():
            return node.lanes > 1
        case Assign(target=target):
            return getattr(target, "lanes", 1) > 1
        case _:
            return False
