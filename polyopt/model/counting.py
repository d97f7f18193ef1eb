"""What loops make the cores do: operations, places in vector units, waiting, loads and stores.

In: nodes of the loop AST, ranges of sizes.  Out: a `Tally`.  Bounds of inner loops are taken in the
middle of the outer ones, so that triangles count half; what data decides is guessed.
"""

from __future__ import annotations

from polyopt.dataclass import dataclass, replace
from polyopt.ir.expr import Iter, Load, Param, Symbol, VectorLoad, walk
from polyopt.ir.linear import linear
from polyopt.ir.loops import (
    Assign,
    Body,
    CallLibrary,
    Declare,
    For,
    If,
    Kernel,
    LoopKind,
    SetLocal,
    While,
)
from polyopt.ir.types import DType
from polyopt.machine import Machine
from polyopt.model.amount import ONE, ZERO, Amount
from polyopt.model.contraction import LATENCY
from polyopt.model.footprint import GUESS, note_local
from polyopt.model.operations import Work, counts, work_of
from polyopt.model.ranges import range_of
from polyopt.model.traffic import Known, enter, taken

_Statement = Assign | Declare | SetLocal


@dataclass(frozen=True, slots=True)
class Tally:
    """What the statements add up to; `serial` places are outside of parallel loops.

    `chain` counts cycles of operations that wait for each other, `regions` parallel loops that
    are started, `is_guess` tells of lengths or libraries that are unknown.
    """

    operations: Amount = ZERO
    places: Amount = ZERO
    serial: Amount = ZERO
    chain: Amount = ZERO
    loaded: Amount = ZERO
    regions: Amount = ZERO
    is_guess: bool = False

    def __add__(self, other: Tally) -> Tally:
        """Return both."""
        return Tally(
            self.operations + other.operations,
            self.places + other.places,
            self.serial + other.serial,
            self.chain + other.chain,
            self.loaded + other.loaded,
            self.regions + other.regions,
            self.is_guess or other.is_guess,
        )

    def times(self, count: Amount) -> Tally:
        """Return what so many repetitions add up to."""
        return Tally(
            self.operations * count,
            self.places * count,
            self.serial * count,
            self.chain * count,
            self.loaded * count,
            self.regions * count,
            self.is_guess,
        )


NOTHING, GUESSED = Tally(), Tally(is_guess=True)


def tally(body: Body, ranges: Known, machine: Machine) -> Tally:
    """Return what running `body` once takes."""
    result = NOTHING
    for node in body:
        match node:
            case For():
                result += _of_loop(node, ranges, machine)
            case While():
                inner = tally(node.body, ranges, machine)
                result += inner.times(ONE * GUESS) + GUESSED
            case If():
                result += tally(taken(node, ranges), ranges, machine)
            case Assign():
                result += _of_statement(node)
            case Declare() | SetLocal():
                note_local(node, ranges)
                result += _of_statement(node)
            case CallLibrary() | Kernel():
                result += GUESSED
            case _:
                pass
    return result


def _of_loop(loop: For, ranges: Known, machine: Machine) -> Tally:
    trips, inner = enter(loop, ranges)
    if trips.value <= 0:
        return NOTHING
    once = tally(loop.body, inner, machine)
    if loop.kind is LoopKind.VECTOR or compiler_vectorizes(loop):
        lanes = max(loop.lanes, machine.vector_bytes // _widest(loop.body), 1)
        once = replace(once, serial=once.serial / lanes, places=once.places / lanes)
    if loop.kind in (LoopKind.SEQUENTIAL, LoopKind.EXTREMUM):
        waiting = ONE * (_updates(loop) * LATENCY)
        once = replace(once, chain=max(once.chain, waiting))
    result = once.times(trips)
    if range_of(loop.lower, ranges) is None or range_of(loop.upper, ranges) is None:
        result += GUESSED
    if loop.kind is LoopKind.PARALLEL:
        places = result.places + result.serial
        return replace(result, places=places, serial=ZERO, regions=ONE)
    return result


def compiler_vectorizes(loop: For) -> bool:
    """Tell whether a C compiler may run an innermost loop in vectors.

    Its statements access neighbouring elements or the same one again, and no element that another
    iteration of the loop writes; sums in order stay as they are.
    """
    if loop.kind not in (LoopKind.SEQUENTIAL, LoopKind.PARALLEL) or loop.lanes > 1:
        return False
    own = [node for node in loop.body if isinstance(node, Assign | Declare)]
    if len(own) < len(loop.body):
        return False
    written = [node.target for node in own if isinstance(node, Assign)]
    accesses = [
        part
        for node in own
        for part in (*walk(node.value), *written)
        if isinstance(part, Load | VectorLoad)
    ]
    return all(_stride(target, loop.iter) == 1 for target in written) and all(
        _stride(access, loop.iter) in (0, 1) and not any(_meets(access, t) for t in written)
        for access in accesses
    )


def _stride(load: Load | VectorLoad, name: str) -> int | None:
    """Return by how many elements an iteration moves an access; None where not along a row."""
    if isinstance(load, VectorLoad):
        return None
    if not load.index:
        return 0
    steps = [dict(linear(index).terms).get(Iter(name), 0) for index in load.index]
    plain = all(isinstance(a, Iter | Param) for i in load.index for a, _ in linear(i).terms)
    return steps[-1] if plain and not any(steps[:-1]) else None


def _meets(load: Load | VectorLoad, target: Load | VectorLoad) -> bool:
    """Tell whether an access of a row that is written is to another of its elements."""
    if load.array != target.array or load.index == target.index:
        return False
    return load.index[:-1] == target.index[:-1]


def _of_statement(node: _Statement) -> Tally:
    work = work_of(node.value) if _dtype(node) is not DType.INT64 else Work()
    moved = sum(map(_bytes, walk(node.value)))
    moved += _bytes(node.target) if isinstance(node, Assign) else 0
    return Tally(
        ONE * (work.operations * _lanes(node)),
        serial=ONE * work.places,
        loaded=ONE * moved,
    )


def _bytes(part: object) -> int:
    """Return what an access moves between L1 and registers."""
    match part:
        case VectorLoad():
            return part.dtype.size * part.lanes
        case Load():
            return part.dtype.size
        case _:
            return 0


def _lanes(node: _Statement) -> int:
    match node:
        case Assign(target=VectorLoad(lanes=lanes)):
            return lanes
        case Assign():
            return 1
        case _:
            return node.lanes


def _dtype(node: _Statement) -> DType:
    return node.target.dtype if isinstance(node, Assign) else node.dtype


def _widest(body: Body) -> int:
    """Return the bytes of the widest element that statements directly in `body` make."""
    own = [node for node in body if isinstance(node, Assign | Declare | SetLocal)]
    return max((_dtype(node).size for node in own), default=8)


def _updates(loop: For) -> int:
    """Return how many times an iteration updates one number, each time waiting for the last."""
    counted: dict[object, int] = {}
    for node in loop.body:
        match node:
            case SetLocal():
                place: object = node.name
                own = any(isinstance(p, Symbol) and p.name == place for p in walk(node.value))
            case Assign():
                place = node.target
                parts = [p for index in node.target.index for p in walk(index)]
                stays = all(getattr(p, "name", None) != loop.iter for p in parts)
                own = stays and any(p == place for p in walk(node.value))
            case _:
                continue
        if own and counts(_dtype(node)):
            counted[place] = counted.get(place, 0) + 1
    return max(counted.values(), default=0)
