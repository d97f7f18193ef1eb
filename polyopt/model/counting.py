"""What loops make the cores do: operations, instructions, waiting, loads and stores.

In: nodes of the loop AST, ranges of sizes.  Out: a `Tally`.  Bounds of inner loops are taken in the
middle of the outer ones, so that triangles count half; what data decides is guessed.
"""

from __future__ import annotations

from collections.abc import Iterator

from polyopt.dataclass import dataclass, replace
from polyopt.ir.expr import Iter, Load, Param, Symbol, VectorLoad, walk
from polyopt.ir.linear import linear, slope_of
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
from polyopt.ir.names import iterators
from polyopt.ir.types import DType
from polyopt.machine import Machine, Rates
from polyopt.model.amount import ONE, ZERO, Amount, amount
from polyopt.model.contraction import LOADS
from polyopt.model.footprint import GUESS, note_local
from polyopt.model.operations import Work, work_of
from polyopt.model.ranges import range_of
from polyopt.model.traffic import Known, enter, taken
from polyopt.model.waiting import waits

STARTED = 4  # instructions in a cycle
EXPECTED = 32  # iterations after which the end of a loop is expected, if there are always as many
TURN = 2.0  # instructions of a loop's iteration beside its body: an addition, a test with a branch
LEAVING = 12.0  # cycles to leave a loop: the branch was expected to go on
WINDOW = 256.0  # instructions among which a core finds those that can start

_Statement = Assign | Declare | SetLocal
_Access = Load | VectorLoad


@dataclass(frozen=True, slots=True)
class Core:
    """What keeps a core busy.

    `places` in vector units and `scalars`, the same of single numbers; `instructions`; bytes that
    are `loaded` into registers and `stored`, and how many `accesses` that takes; `chain`, cycles of
    operations that wait for each other; `stalls`, cycles in which nothing is started.  `work` are
    the seconds of what binds each loop if nothing waits, `waiting` those that chains add.
    """

    places: Amount = ZERO
    scalars: Amount = ZERO
    instructions: Amount = ZERO
    loaded: Amount = ZERO
    stored: Amount = ZERO
    accesses: Amount = ZERO
    chain: Amount = ZERO
    stalls: Amount = ZERO
    work: Amount = ZERO
    waiting: Amount = ZERO

    def parts(self) -> tuple[Amount, ...]:
        """Return the amounts in order."""
        return (
            self.places, self.scalars, self.instructions, self.loaded,
            self.stored, self.accesses, self.chain, self.stalls, self.work, self.waiting,
        )  # fmt: skip

    def __add__(self, other: Core) -> Core:
        """Return both."""
        return Core(*(a + b for a, b in zip(self.parts(), other.parts(), strict=True)))

    def times(self, count: Amount) -> Core:
        """Return what so many repetitions add up to."""
        return Core(*(part * count if part.value else part for part in self.parts()))


IDLE = Core()


@dataclass(frozen=True, slots=True)
class Tally:
    """What the statements add up to: `alone` outside of parallel loops, and what threads `share`.

    `regions` counts parallel loops that are started, `is_guess` tells of lengths or libraries that
    are unknown.
    """

    operations: Amount = ZERO
    alone: Core = IDLE
    shared: Core = IDLE
    regions: Amount = ZERO
    is_guess: bool = False

    def __add__(self, other: Tally) -> Tally:
        """Return both."""
        return Tally(
            self.operations + other.operations,
            self.alone + other.alone,
            self.shared + other.shared,
            self.regions + other.regions,
            self.is_guess or other.is_guess,
        )

    def times(self, count: Amount, vectors: Amount | None = None) -> Tally:
        """Return what so many repetitions add up to, in so many `vectors` of them."""
        runs = count if vectors is None else vectors
        return Tally(
            self.operations * count,
            self.alone.times(runs),
            self.shared.times(runs),
            self.regions * runs,
            self.is_guess,
        )


NOTHING, GUESSED = Tally(), Tally(is_guess=True)


@dataclass(frozen=True, slots=True)
class Pace:
    """How long one core takes for what a `Core` counts: the seconds of each."""

    machine: Machine
    place: float
    scalar: float
    instruction: float
    loaded: float
    access: float
    cycle: float

    @staticmethod
    def of(machine: Machine, rates: Rates) -> Pace:
        """Return the pace of one core with these speeds."""
        lanes = max(1, machine.vector_bytes // 8)
        pair = 2 if machine.fma else 1  # operations in a place at most
        cycle = 1 / rates.hertz
        return Pace(
            machine,
            pair * lanes / rates.one.float64,
            cycle / machine.fma_units,
            cycle / STARTED,
            1 / rates.one.l1,
            cycle / LOADS,
            cycle,
        )

    def limits(self, core: Core) -> dict[str, tuple[Amount, float]]:
        """Return the amount of each part that is needed, and its seconds."""
        moved = max(core.loaded.value, core.stored.value * LOADS) * self.loaded
        arithmetic = core.places.value * self.place + core.scalars.value * self.scalar
        return {
            "arithmetic": (core.places + core.scalars, arithmetic),
            "instructions": (core.instructions, core.instructions.value * self.instruction),
            "L1": (core.loaded + core.stored, max(moved, core.accesses.value * self.access)),
        }

    def busy(self, core: Core) -> float:
        """Return the seconds of what binds."""
        return max(seconds for _, seconds in self.limits(core).values())


@dataclass(frozen=True, slots=True)
class Place:
    """Where statements stand: in the `inner` loop, and in iterations of `across` in `lanes`."""

    pace: Pace
    inner: For | None = None
    across: str = ""
    lanes: int = 1


def tally(body: Body, ranges: Known, pace: Pace) -> Tally:
    """Return what running `body` once takes."""
    return _whole(*_of_body(body, ranges, Place(pace)), pace)


def _whole(own: Tally, inner: Tally, pace: Pace) -> Tally:
    """Return what statements of a body take by what binds them, with what its loops take."""
    work = amount(pace.busy(own.alone))
    return replace(own, alone=replace(own.alone, work=work)) + inner


def _of_body(body: Body, ranges: Known, place: Place) -> tuple[Tally, Tally]:
    """Return what the statements of a body take, and what its loops take."""
    own = inner = NOTHING
    loaded: set[_Access] = set()
    for node in body:
        match node:
            case For():
                inner += _of_loop(node, ranges, place)
            case While():
                once = _whole(*_of_body(node.body, ranges, place), place.pace)
                inner += once.times(ONE * GUESS) + GUESSED
            case If():
                found = _of_body(taken(node, ranges), ranges, place)
                own, inner = own + found[0], inner + found[1]
            case Assign():
                own += _of_statement(node, place, loaded)
            case Declare() | SetLocal():
                note_local(node, ranges)
                own += _of_statement(node, place, loaded)
            case CallLibrary() | Kernel():
                inner += GUESSED
            case _:
                pass
    return own, inner


def _of_loop(loop: For, ranges: Known, place: Place) -> Tally:
    trips, inside = enter(loop, ranges)
    if trips.value <= 0:
        return NOTHING
    pace = place.pace
    here, lanes = replace(place, inner=loop), 1
    if loop.kind is LoopKind.VECTOR or compiler_vectorizes(loop):
        lanes = max(loop.lanes, pace.machine.vector_bytes // _widest(loop.body), 1)
        here = replace(here, across=loop.iter, lanes=lanes)
    own, inner = _of_body(loop.body, inside, here)
    if loop.kind is not LoopKind.UNROLL:
        own += Tally(alone=Core(instructions=amount(TURN)))
    once = _whole(own, inner, pace)
    turns = _vectors(loop, trips, lanes, pace.machine) if lanes > 1 else trips
    result = once.times(trips, turns)
    result = replace(result, alone=_waiting(loop, once.alone, result.alone, turns, pace))
    if range_of(loop.lower, ranges) is None or range_of(loop.upper, ranges) is None:
        result += GUESSED
    if loop.kind is LoopKind.PARALLEL:
        return replace(result, shared=result.shared + result.alone, alone=IDLE, regions=ONE)
    return result


def _waiting(loop: For, once: Core, every: Core, turns: Amount, pace: Pace) -> Core:
    """Return what all iterations take with their branches and with waiting.

    Iterations that do not wait for each other overlap where they are short.
    """
    each = waits(loop) if loop.kind is not LoopKind.PARALLEL else 0.0
    chain, waiting = every.chain, every.waiting.value
    if each > once.chain.value:
        chain = turns * each
        waiting = max(waiting, chain.value * pace.cycle - every.work.value)
    elif not each and waiting:
        abreast = max(1.0, WINDOW / max(1.0, once.instructions.value))
        abreast = min(max(1.0, turns.value), abreast)
        chain = chain / abreast
        waiting = max(0.0, (every.work.value + waiting) / abreast - every.work.value)
    leaving = ZERO if loop.kind is LoopKind.UNROLL or _is_short(loop) else amount(LEAVING)
    return replace(every, chain=chain, waiting=amount(waiting), stalls=every.stalls + leaving)


def _is_short(loop: For) -> bool:
    """Tell whether a loop has few iterations, always as many: its end is expected."""
    low, high = linear(loop.lower), linear(loop.upper)
    return low.terms == high.terms and high.constant - low.constant <= EXPECTED * loop.step


def _vectors(loop: For, trips: Amount, lanes: int, machine: Machine) -> Amount:
    """Return how many vectors iterations take; those left over take one, or one each.

    Of lengths that change with the loops around, on average half of a vector is left over.
    """
    whole = trips.value // lanes
    left = trips.value - whole * lanes
    if iterators(loop.lower, loop.upper):
        whole, left = trips.value / lanes - (lanes - 1) / (2 * lanes), (lanes - 1) / 2
    is_masked = machine.has_masks and loop.kind is LoopKind.VECTOR
    rest = min(left, 1.0) if is_masked else left
    return Amount(max(0.0, whole) + rest, (trips / lanes).formula)


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


def _stride(load: _Access, name: str) -> int | None:
    """Return by how many elements an iteration moves an access; None where not along a row."""
    if isinstance(load, VectorLoad):
        return None
    if not load.index:
        return 0
    steps = [slope_of(index, name) for index in load.index]
    plain = all(isinstance(a, Iter | Param) for i in load.index for a, _ in linear(i).terms)
    return steps[-1] if plain and not any(steps[:-1]) else None


def _meets(load: _Access, target: _Access) -> bool:
    """Tell whether an access of a row that is written is to another of its elements."""
    if load.array != target.array or load.index == target.index:
        return False
    return load.index[:-1] == target.index[:-1]


def _of_statement(node: _Statement, place: Place, loaded: set[_Access]) -> Tally:
    """Return what an execution takes; elements in `loaded` are in registers already."""
    work = work_of(node.value) if _dtype(node) is not DType.INT64 else Work()
    lanes = _lanes(node)
    wide = max(lanes, place.lanes) > 1
    read = [one for one in _read(node) if one not in loaded and not _stays(one, place)]
    loaded.update(read)
    written = [node.target] if isinstance(node, Assign) and not _stays(node.target, place) else []
    bytes_read, reading = _moved(read, place)
    bytes_written, writing = _moved(written, place)
    places = ONE * work.places
    return Tally(
        ONE * (work.operations * lanes),
        Core(
            places=places if wide else ZERO,
            scalars=ZERO if wide else places,
            instructions=ONE * (work.steps + reading + writing),
            loaded=ONE * bytes_read,
            stored=ONE * bytes_written,
            accesses=ONE * (reading + writing),
        ),
    )


def _read(node: _Statement) -> Iterator[_Access]:
    return (part for part in walk(node.value) if isinstance(part, Load | VectorLoad))


def _stays(access: _Access, place: Place) -> bool:
    """Tell whether an element is in a register for all iterations of the innermost loop."""
    loop = place.inner
    if loop is None:
        return False
    if loop.iter in iterators(*access.index) or any(map(_is_local, access.index)):
        return False
    stored = [n.target for n in loop.body if isinstance(n, Assign)]
    return not any(one.array == access.array and one.index != access.index for one in stored)


def _is_local(index: object) -> bool:
    return any(isinstance(part, Symbol | Load) for part in walk(index))  # type: ignore[arg-type]


def _moved(accesses: list[_Access], place: Place) -> tuple[float, float]:
    """Return bytes, and how many accesses move them: lanes that lie apart have their own."""
    moved = count = 0.0
    for one in accesses:
        if isinstance(one, VectorLoad):
            moved += one.dtype.size * one.lanes
            count += 1.0 if one.step == 1 else one.lanes
            continue
        stride = _stride(one, place.across) if place.lanes > 1 else 0
        moved += one.dtype.size * (1 if stride == 0 else place.lanes)
        count += 1.0 if stride in (-1, 0, 1) else place.lanes
    return moved, count


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
