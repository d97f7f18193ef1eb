"""Unroll and jam, or vectorize, independent recurrences along rows.

In: a schedule.  Out: nests with independent rows, along each of which a loop carries values, tiled
into strips of rows.  The rows of a strip take each step together: in SIMD lanes where lanes can
load the elements or the recurrence divides, else unrolled and jammed with a register for each row
(Callahan, Cocke, Kennedy, "Estimating interlock and improving balance for pipelined
architectures", 1988).
"""

from __future__ import annotations

from collections.abc import Iterator

from polyopt import strategy, transforms
from polyopt.dataclass import dataclass
from polyopt.ir.expr import Binary, BinaryOp, Call, walk
from polyopt.ir.loops import LoopKind
from polyopt.ir.scop import Scop, Statement
from polyopt.machine import Machine
from polyopt.schedule.contraction import contraction_nests
from polyopt.schedule.schedule import Schedule, Transform, attempt_each
from polyopt.schedule.tree import Band, Sequence, Tree, bands, find_band, path_to, statements_of
from polyopt.strategy.strides import accesses, loop_directions
from polyopt.strategy.tiling import outer_bands
from polyopt.strategy.vector import is_innermost, vector_gain
from polyopt.transforms import Cut, Distribute, Separate, Tile, Unroll, Vectorize

ROWS = 8  # rows in turn: as many as hide the latency of an addition and a product
VECTORS = 2  # of rows whose divisions overlap
DIVIDED = 16  # rows whose divisions overlap, where lanes have the quotients side by side
LEAST_LANES = 4  # with fewer, rows in turn hide more latency
MOST_STATEMENTS = 32  # of a nest whose bodies are repeated for each row


@dataclass(frozen=True, slots=True)
class _Strip:
    """The number of rows per strip, and whether these, and remainders, run in SIMD lanes."""

    rows: int
    lanes: bool
    few_in_lanes: bool = False


@dataclass(frozen=True, slots=True)
class _Plan:
    """Steps that are checked together, and the tree they lead to."""

    scop: Scop
    tree: Tree
    steps: tuple[Transform, ...] = ()

    def then(self, *steps: Transform) -> _Plan:
        """Return the plan with further steps."""
        tree = self.tree
        for step in steps:
            tree = step.rewrite(tree, self.scop)
        return _Plan(self.scop, tree, (*self.steps, *steps))


def jam_recurrences(schedule: Schedule, machine: Machine, skip: frozenset[str]) -> Schedule:
    """Return `schedule` with recurrences in strips of rows, except in bands named in `skip`."""
    labels = list(_nests(schedule, outer_bands(schedule.tree), skip))
    strips = {label: _strip(schedule, label, machine) for label in labels}
    schedule = _transposed_temporaries(schedule, [label for label in labels if strips[label].lanes])
    for label, strip in strips.items():
        schedule = _in_strips(schedule, label, strip) or schedule
    for label in outer_bands(schedule.tree):
        if label not in skip and label not in labels:
            schedule = _inside(schedule, label, machine) or schedule
    return schedule


def _inside(schedule: Schedule, label: str, machine: Machine) -> Schedule | None:
    """Return `schedule` with the innermost of several independent loops in strips, or None.

    The recurrences along rows are inside these loops: for each matrix of a batch, say.
    """
    band = find_band(schedule.tree, label)
    free = [member.coincident for member in band.members]
    around = free.count(True) - 1
    if around < 1 or not all(free[: around + 1]) or not _is_plain(band):
        return None
    cut = schedule.attempt(Cut(label, around)) if _is_small(schedule, label) else None
    rows = f"{label}.inner"
    if cut is None or not _has_recurrence(cut, find_band(cut.tree, rows)):
        return None
    strip = _strip(cut, rows, machine)
    return _in_strips(_transposed_temporaries(cut, [rows]) if strip.lanes else cut, rows, strip)


def _nests(schedule: Schedule, labels: list[str], skip: frozenset[str]) -> Iterator[str]:
    """Yield outermost bands with independent rows, along which recurrences run.

    Sequential loops, as over time steps, may be around them.
    """
    for label in labels:
        band = find_band(schedule.tree, label)
        if label in skip or not _is_plain(band) or not _is_small(schedule, label):
            continue
        free = [member.coincident for member in band.members]
        if free[0]:
            if not any(free[1:]) and _has_recurrence(schedule, band):
                yield label
        elif not any(free):
            yield from _nests(schedule, outer_bands(band.child), skip)


def _is_plain(band: Band) -> bool:
    """Tell whether no loop of the nest is tiled or marked."""
    return all(
        member.kind is LoopKind.SEQUENTIAL and not member.is_tile
        for inner in bands(band)
        for member in inner.members
    )


def _is_small(schedule: Schedule, label: str) -> bool:
    """Tell whether the nest has few statements, none of which writes under a condition."""
    statements = [schedule.scop.statement(name) for name in _statements(schedule, label)]
    return len(statements) <= MOST_STATEMENTS and all(s.guard is None for s in statements)


def _has_recurrence(schedule: Schedule, band: Band) -> bool:
    """Tell whether a loop below the first one of the nest carries values along rows.

    Nests that call functions in lanes along a row are left to those lanes.
    """
    inner = [each for each in bands(band) if is_innermost(each)]
    carried = [_is_recurrence(schedule, band, each) for each in inner]
    others = [each.label for each, found in zip(inner, carried, strict=True) if not found]
    names = {name for label in others for name in _statements(schedule, label)}
    return any(carried) and not any(
        isinstance(part, Call)
        for name in names
        for part in walk(schedule.scop.statement(name).value)
    )


def _is_recurrence(schedule: Schedule, outer: Band, inner: Band) -> bool:
    """Tell whether an innermost band carries values along rows and has no loop for SIMD lanes.

    Reassociable sums do not count unless the band also carries other values.
    """
    if not is_innermost(inner) or inner.members[-1].coincident:
        return False
    statements = [schedule.scop.statement(name) for name in _statements(schedule, inner.label)]
    is_open = any(s.reduction is not None and s.reduction.reassociable for s in statements)
    if is_open and not any(map(_carries_values, statements)):
        return False
    own = range(1 if inner is outer else 0, len(inner.members))
    return len(own) > 0 and not any(
        inner.members[p].coincident and vector_gain(schedule, inner.label, p) > 0 for p in own
    )


def _carries_values(statement: Statement) -> bool:
    """Tell whether a statement that is not a reduction reads elements that it wrote before."""
    return statement.reduction is None and any(
        read.array == statement.target.array and read.index != statement.write.index
        for read in statement.reads
    )


def _in_strips(schedule: Schedule, label: str, strip: _Strip) -> Schedule | None:
    """Return `schedule` with the first loop of the band in strips, or None where it does not pay.

    A strip runs each part of the body for all of its rows before the next part.
    """
    fewer = _with_few_cells(schedule, label, strip)
    if fewer is None:
        return None
    plan = _Plan(fewer.scop, fewer.tree).then(Tile(label, (strip.rows,)))
    point = f"{label}.point"
    parts = [point]
    body = find_band(plan.tree, point)
    if len(body.members) == 1 and isinstance(body.child, Sequence):
        plan = plan.then(Distribute(point, 1))
        parts = [f"{point}.{number}" for number in range(len(body.child.parts))]
    for part in parts:
        plan = _jammed(plan, part, strip)
    is_jammed = any(isinstance(step, transforms.Sink) for step in plan.steps)
    return fewer.attempt(*plan.steps) if is_jammed else None


def _with_few_cells(schedule: Schedule, label: str, strip: _Strip) -> Schedule | None:
    """Return `schedule` with temporaries of one step of a row contracted to a cell per row.

    None where temporaries that live along a whole row would take too much memory.
    """
    row = f"{label}[0]"
    steps: list[Transform] = []
    for name, homes in contraction_nests(schedule.scop, schedule.tree).items():
        if row not in homes:
            continue
        sizes = cells(schedule, name, homes[homes.index(row) :])
        if sizes is not None and sizes.count(0) == 1:
            if len(sizes) > 1:
                steps.append(transforms.Contract(name, sizes))
        elif not strip.lanes:
            return None
    return attempt_each(schedule, steps)


def cells(schedule: Schedule, name: str, homes: tuple[str, ...]) -> tuple[int, ...] | None:
    """Return the cells per dimension: 0, for all, along the first loop, 1 along the others.

    None where some loop does not advance exactly one dimension by one.
    """
    sizes = [0] * len(schedule.scop.array(name).shape)
    for number, home in enumerate(homes):
        label, _, position = home.rpartition("[")
        found = {
            dimension
            for array, dimension in _dimensions(schedule, label, int(position[:-1]))
            if array == name
        }
        if len(found) != 1 or None in found:
            return None
        for dimension in found:
            if dimension is not None:
                sizes[dimension] = 1 if number else 0
    return tuple(sizes)


def _jammed(plan: _Plan, label: str, strip: _Strip) -> _Plan:
    """Return the plan with the rows of a part innermost if the part is a recurrence."""
    band = find_band(plan.tree, label)
    if is_innermost(band) and len(band.members) == 1:
        return plan.then(Vectorize(f"{label}[0]")) if strip.lanes else plan
    inner = [b for b in bands(band) if is_innermost(b)]
    if all(b.members[-1].coincident for b in inner):
        return plan
    steps = tuple(0 for _ in band.members[1:])
    plan = plan.then(Separate(label, label, (strip.rows, *steps)))
    rest = f"{label}.rest"
    if strip.lanes and any(b.label == rest for b in bands(plan.tree)):
        if not strip.few_in_lanes:
            half = strip.rows // VECTORS
            plan = plan.then(Tile(rest, (half,)))
            rest = f"{rest}.point"
            plan = plan.then(Separate(rest, rest, (half, *steps)))
        plan = _sunk(plan, rest, Vectorize)
    return _sunk(plan, label, Vectorize if strip.lanes else Unroll)


def _sunk(plan: _Plan, label: str, mark: type[Vectorize] | type[Unroll]) -> _Plan:
    """Return the plan with the first loop of a band sunk to every leaf and marked."""
    before = {band.label for band in bands(plan.tree)}
    plan = plan.then(transforms.Sink(f"{label}[0]"))
    made = [b.label for b in bands(plan.tree) if b.label not in before and ".lanes" in b.label]
    return plan.then(*(mark(f"{lanes}[0]") for lanes in made))


def _strip(schedule: Schedule, label: str, machine: Machine) -> _Strip:
    """Return the size of a nest's strips, and whether they run in lanes."""
    band = find_band(schedule.tree, label)
    inner = [b.label for b in bands(band) if _is_recurrence(schedule, band, b)]
    names = {name for each in inner for name in _statements(schedule, each)}
    statements = [schedule.scop.statement(name) for name in sorted(names)]
    size = max(schedule.scop.array(s.target.array).dtype.size for s in statements)
    lanes = max(1, machine.vector_bytes // size)
    heavy = [statement for statement in statements if _is_heavy(statement)]
    own = _own(schedule, [label])
    if heavy:
        is_kept = {statement.target.array for statement in heavy} <= own
        return _Strip(
            max(lanes * VECTORS, DIVIDED if is_kept else 0), lanes=True, few_in_lanes=True
        )
    if lanes >= LEAST_LANES and strategy.lane_accesses.reaches_all_elements(
        schedule, band, inner, own
    ):
        return _Strip(lanes * VECTORS, lanes=True)
    return _Strip(ROWS, lanes=False)


def _is_heavy(statement: Statement) -> bool:
    """Tell whether a statement divides or calls a function, which SIMD lanes overlap."""
    return any(
        (isinstance(part, Binary) and part.op in (BinaryOp.DIV, BinaryOp.RATIO))
        or isinstance(part, Call)
        for part in walk(statement.value)
    )


def _statements(schedule: Schedule, label: str) -> list[str]:
    _, domain = path_to(schedule.tree, schedule.scop, label)
    return statements_of(schedule.scop, domain)


def _transposed_temporaries(schedule: Schedule, labels: list[str]) -> Schedule:
    """Return `schedule` with temporaries of rows transposed, so that lanes access neighbours.

    All nests must agree on the dimension of the rows.
    """
    own = _own(schedule, labels)
    rows: dict[str, set[int | None]] = {}
    for label in labels:
        for name, dimension in _dimensions(schedule, label, 0):
            rows.setdefault(name, set()).add(dimension)
    in_lanes = _in_lanes(schedule)
    steps: list[Transform] = []
    for name, found in rows.items():
        array = schedule.scop.array(name)
        if name not in own or name in in_lanes or len(found) != 1 or None in found:
            continue
        others = [transforms.Dimension(d) for d in range(len(array.shape)) if d not in found]
        last = [transforms.Dimension(d) for d in found if d is not None]
        if last[0].old != len(others):
            steps.append(transforms.LayOut(name, (*others, *last)))
    return attempt_each(schedule, steps)


def _own(schedule: Schedule, labels: list[str]) -> set[str]:
    """Return the temporaries of a row that only recurrences access.

    Others are read along the row in lanes and stay as they are.
    """
    homes = contraction_nests(schedule.scop, schedule.tree)
    rows = {f"{label}[0]" for label in labels}
    read = {name for label in labels for name in _read_along(schedule, label)}
    return {name for name, found in homes.items() if rows & set(found) and name not in read}


def _read_along(schedule: Schedule, label: str) -> set[str]:
    """Return the arrays read by independent innermost loops along the rows."""
    outer = find_band(schedule.tree, label)
    free = [b for b in bands(outer) if is_innermost(b) and b.members[-1].coincident]
    names = (n for b in free if b is not outer for n in _statements(schedule, b.label))
    return {read.array for name in names for read in schedule.scop.statement(name).reads}


def _dimensions(schedule: Schedule, label: str, position: int) -> Iterator[tuple[str, int | None]]:
    """Yield for each access the array and the only subscript that the loop moves, by one."""
    for statement, moves in loop_directions(schedule, label):
        direction = moves[position]
        for access in accesses(statement):
            if access.index:
                yield (
                    access.array,
                    strategy.lane_accesses.moved_subscript(access, statement, direction),
                )


def _in_lanes(schedule: Schedule) -> set[str]:
    """Return the arrays that vectorized nests access."""
    found: set[str] = set()
    for band in bands(schedule.tree):
        if any(member.kind is LoopKind.VECTOR for member in band.members):
            for name in _statements(schedule, band.label):
                statement = schedule.scop.statement(name)
                found.update(access.array for access in accesses(statement))
    return found
