"""How long loops take: what they need of each part of the machine, and which part binds.

In: the final loops, values of sizes, a machine and its rates.  Out: `Prediction`, whose amounts
have formulas.  After Williams, Waterman and Patterson, "Roofline: An Insightful Visual Performance
Model", 2009, with a roof for every cache.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, unique
from typing import TYPE_CHECKING

from polyopt.dataclass import dataclass, replace
from polyopt.ir.loops import Body, DeclareArray, For, LoopFunction, LoopKind
from polyopt.ir.nodes import all_nodes
from polyopt.late import named
from polyopt.machine import Machine, Rates, Speeds
from polyopt.model.amount import ONE, ZERO, Amount, total
from polyopt.model.caches import caches_of
from polyopt.model.counting import Tally, tally
from polyopt.model.footprint import Memory
from polyopt.model.ranges import point
from polyopt.model.traffic import Known, Room, enter, traffic

if TYPE_CHECKING:
    from polyopt.ir.blas import LibraryProduct
    from polyopt.model.library import LibraryTime


@dataclass(frozen=True, slots=True)
class Limit:
    """Something that a kernel needs: how much of it, and the seconds that this alone takes.

    Arithmetic counts places in vector units, latency cycles, the others bytes that are moved.
    """

    name: str
    amount: Amount
    seconds: float


@dataclass(frozen=True, slots=True)
class Prediction:
    """What a call needs; `seconds` is the sum over its nests of what binds each of them.

    `overhead` of starting threads is in `seconds`.  `is_guess`: a loop's length, or what a library
    does, is unknown.
    """

    limits: tuple[Limit, ...]
    operations: Amount
    seconds: float
    overhead: float
    is_guess: bool

    @property
    def binding(self) -> Limit:
        """The limit that takes longest."""
        return max(self.limits, key=lambda limit: limit.seconds)


@unique
class Form(Enum):
    """How loops run: as they are, or as if across all cores, or in full vectors."""

    AS_IS = "as is"
    PARALLEL = "parallel"
    VECTOR = "vector"


def known_at(
    fn: LoopFunction, sizes: Mapping[str, Amount], machine: Machine
) -> tuple[Known, Memory]:
    """Return the ranges of the sizes, and the arrays of `fn`, for predictions of its parts."""
    ranges = {name: point(value) for name, value in sizes.items()}
    declared = (node.array for node in all_nodes(fn.body) if isinstance(node, DeclareArray))
    arrays = {array.name: array for array in (*fn.arrays, *declared)}
    return ranges, Memory(arrays, ranges, machine.line)


def predict(
    fn: LoopFunction, sizes: Mapping[str, Amount], machine: Machine, rates: Rates
) -> Prediction:
    """Return what a call of `fn` needs for these values of its size parameters."""
    ranges, memory = known_at(fn, sizes, machine)
    parts = [predict_body((node,), dict(ranges), memory, machine, rates) for node in fn.body]
    rows = zip(*(part.limits for part in parts), strict=True)
    limits = tuple(
        Limit(row[0].name, total(one.amount for one in row), sum(one.seconds for one in row))
        for row in rows
    )
    return Prediction(
        limits or (Limit("arithmetic", ZERO, 0.0),),
        total(part.operations for part in parts),
        sum(part.seconds for part in parts),
        sum(part.overhead for part in parts),
        any(part.is_guess for part in parts),
    )


def predict_body(
    body: Body,
    ranges: Known,
    memory: Memory,
    machine: Machine,
    rates: Rates,
    form: Form = Form.AS_IS,
) -> Prediction:
    """Return what running `body` once needs, as it is or in another `form`."""
    match body:
        case (For(kind=LoopKind.LIBRARY) as loop,):
            return _of_library(loop, ranges, machine, rates)
    done = tally(body, ranges, machine)
    is_parallel = done.regions.value > 0 and machine.cores > 1
    if form is Form.PARALLEL and not is_parallel:
        done = replace(done, places=done.places + done.serial, serial=ZERO, regions=ONE)
        is_parallel = machine.cores > 1
    if form is Form.VECTOR:
        lanes = max(1, machine.vector_bytes // 8)
        done = replace(
            done, places=done.places / lanes, serial=done.serial / lanes, chain=done.chain / lanes
        )
    threads = machine.cores if is_parallel else 1
    speeds = rates.speeds(threads, machine)
    limits = [
        *_computing(done, threads, speeds, machine, rates),
        Limit("L1", done.loaded, done.loaded.value / speeds.l1),
    ]
    sources = (("L2", speeds.l2, 1), ("L3", speeds.l3, 1), ("memory", speeds.memory, threads))
    for cache, (name, rate, sharing) in zip(caches_of(machine), sources, strict=True):
        moved = traffic(body, dict(ranges), memory, Room(cache.size, sharing))
        limits.append(Limit(name, moved, moved.value / rate))
    overhead = done.regions.value * rates.region if is_parallel else 0.0
    seconds = max(limit.seconds for limit in limits) + overhead
    return Prediction(tuple(limits), done.operations, seconds, overhead, done.is_guess)


def _of_library(loop: For, ranges: Known, machine: Machine, rates: Rates) -> Prediction:
    """Return what a product needs that a library computes."""
    product: LibraryProduct = named("polyopt", "ir.blas.nest_of")(loop).product
    node: object = loop
    trips: dict[str, Amount] = {}
    while isinstance(node, For):
        trips[node.iter], ranges = enter(node, ranges)
        (node,) = node.body
    count = {name: max(0, round(amount.value)) for name, amount in trips.items()}
    columns = None if product.columns is None else count[product.columns]
    dtype = product.target.dtype
    time: LibraryTime = named("polyopt", "model.library.library_time")(
        count[product.rows], columns, count[product.terms], dtype, machine, rates
    )
    work = ONE
    for one in trips.values():
        work = work * one
    idle = [Limit(name, ZERO, 0.0) for name in ("latency", "L1", "L2", "L3")]
    limits = (Limit("arithmetic", work, time.arithmetic), *idle, Limit("memory", work, time.memory))
    return Prediction(limits, work * 2, time.seconds, 0.0, False)


def _computing(
    done: Tally, threads: int, speeds: Speeds, machine: Machine, rates: Rates
) -> tuple[Limit, Limit]:
    """Return the limits of the vector units: how many places they have, how long each takes."""
    lanes = max(1, machine.vector_bytes // 8)
    pair = 2 if machine.fma else 1  # operations in a place at most
    alone, together = rates.one.float64 / (pair * lanes), speeds.float64 / (pair * lanes)
    seconds = done.places.value / together + done.serial.value / alone
    hertz = alone / machine.fma_units
    waiting = done.chain.value / hertz / threads
    return (
        Limit("arithmetic", done.places + done.serial, seconds),
        Limit("latency", done.chain, waiting),
    )
