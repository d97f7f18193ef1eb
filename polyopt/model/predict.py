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
from polyopt.ir.views import without_views
from polyopt.late import named
from polyopt.machine import Machine, Rates
from polyopt.model.amount import ONE, ZERO, Amount, total
from polyopt.model.caches import caches_of
from polyopt.model.counting import IDLE, Core, Pace, tally
from polyopt.model.footprint import Memory
from polyopt.model.ranges import point
from polyopt.model.traffic import Known, Room, enter, traffic

if TYPE_CHECKING:
    from polyopt.ir.blas import LibraryProduct
    from polyopt.model.library import LibraryTime


LIMITS = ("arithmetic", "instructions", "L1", "latency", "branches", "L2", "L3", "memory")


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
    parts = [
        predict_body((node,), dict(ranges), memory, machine, rates)
        for node in without_views(fn.body)
    ]
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
    pace = Pace.of(machine, rates)
    done = tally(body, ranges, pace)
    is_parallel = done.regions.value > 0 and machine.cores > 1
    if form is Form.PARALLEL and not is_parallel:
        done = replace(done, shared=done.shared + done.alone, alone=IDLE, regions=ONE)
        is_parallel = machine.cores > 1
    if form is Form.VECTOR:
        lanes = max(1, machine.vector_bytes // 8)
        done = replace(
            done, alone=_in_lanes(done.alone, lanes), shared=_in_lanes(done.shared, lanes)
        )
    threads = machine.cores if is_parallel else 1
    limits = list(map(_both, _busy(done.alone, 1, pace), _busy(done.shared, threads, pace)))
    seconds = _seconds(done.alone, pace) + _seconds(done.shared, pace) / threads
    speeds = rates.speeds(threads, machine)
    before = speeds.l1
    sources = (("L2", speeds.l2, 1), ("L3", speeds.l3, 1), ("memory", speeds.memory, threads))
    for cache, (name, rate, sharing) in zip(caches_of(machine), sources, strict=True):
        moved = traffic(body, dict(ranges), memory, Room(cache.kept, sharing))
        limits.append(Limit(name, moved, moved.value / rate))
        seconds += moved.value * max(0.0, 1 / rate - 1 / before)
        before = rate
    overhead = done.regions.value * rates.region if is_parallel else 0.0
    return Prediction(tuple(limits), done.operations, seconds + overhead, overhead, done.is_guess)


def _in_lanes(core: Core, lanes: int) -> Core:
    """Return what single numbers would take in vectors."""
    return replace(core.times(ONE / lanes), stalls=core.stalls)


def _seconds(core: Core, pace: Pace) -> float:
    """Return the seconds of one core: of what binds each loop, waiting, and branches."""
    return core.work.value + core.waiting.value + core.stalls.value * pace.cycle


def _busy(core: Core, threads: int, pace: Pace) -> tuple[Limit, ...]:
    """Return what each part of so many cores takes by itself."""
    waiting = (("latency", core.chain), ("branches", core.stalls))
    found = [*pace.limits(core).items()]
    found += [(name, (amount, amount.value * pace.cycle)) for name, amount in waiting]
    return tuple(Limit(name, amount, seconds / threads) for name, (amount, seconds) in found)


def _both(one: Limit, two: Limit) -> Limit:
    return Limit(one.name, one.amount + two.amount, one.seconds + two.seconds)


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
    idle = [Limit(name, ZERO, 0.0) for name in LIMITS[1:-1]]
    limits = (Limit("arithmetic", work, time.arithmetic), *idle, Limit("memory", work, time.memory))
    return Prediction(limits, work * 2, time.seconds, 0.0, False)
