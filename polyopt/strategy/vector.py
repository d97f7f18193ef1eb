"""Choose and vectorize the innermost loop of every nest.

In: a schedule.  Out: the schedule with a contiguous, dependence-free loop innermost where one
exists, bodies distributed where only that makes them vectorizable, and the loop marked.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

import islpy as isl

from polyopt import transforms
from polyopt.ir.expr import is_function, walk
from polyopt.ir.loops import LoopKind
from polyopt.ir.scop import Role, Scop, Statement
from polyopt.schedule.isl_bridge import coefficients
from polyopt.schedule.schedule import Schedule, Transform
from polyopt.schedule.tree import (
    Band,
    BandMember,
    Sequence,
    bands,
    find_band,
    path_to,
    statement_function,
    statements_at,
    statements_of,
    tuple_names,
)
from polyopt.strategy.extents import are_near, values_of
from polyopt.strategy.strides import Stride, accesses, along_row, directions, stride_of
from polyopt.transforms import Cut, Distribute, Fuse, Interchange, Peel, Vectorize

NONE: Mapping[str, tuple[str, ...]] = {}
_GAIN = {Stride.CONTIGUOUS: 2, Stride.INVARIANT: 1, Stride.STRIDED: -4}


def vectorize_innermost(schedule: Schedule) -> Schedule:
    """Return `schedule` with the best loop of every innermost band last and vectorized if legal."""
    for label in [band.label for band in bands(schedule.tree) if is_innermost(band)]:
        schedule = vectorize_band(schedule, label)
    return schedule


def is_innermost(band: Band) -> bool:
    """Tell whether no band lies below."""
    return next(iter(bands(band.child)), None) is None


def vectorize_band(schedule: Schedule, label: str) -> Schedule:
    """Return `schedule` with the best loop of an innermost band last and vectorized if legal."""
    members = find_band(schedule.tree, label).members
    if any(member.kind is LoopKind.VECTOR for member in members):
        return schedule
    for position in ranked_positions(schedule, label):
        found = _with_vector(schedule, label, position)
        if found is not None:
            return found
    return schedule


def ranked_positions(schedule: Schedule, label: str) -> list[int]:
    """Return the loops of a band worth vectorizing, best first."""
    band = find_band(schedule.tree, label)
    gains = [
        (vector_gain(schedule, label, position, chosen_rows=True), position)
        for position in range(len(band.members))
        if band.members[position].kind is LoopKind.SEQUENTIAL
    ]
    return [position for gain, position in sorted(gains, key=lambda g: (-g[0], -g[1])) if gain > 0]


def vector_gain(
    schedule: Schedule,
    label: str,
    position: int,
    nests: Mapping[str, tuple[str, ...]] = NONE,
    *,
    chosen_rows: bool = False,
) -> int:
    """Return a score for vectorizing the loop, from its contiguous accesses.

    An element that data say where it lies is tested and loaded by itself: lanes gain something only
    by functions of it.  With `chosen_rows`, elements along a row that data choose are contiguous.
    Temporaries whose values live in one iteration of all loops around it, as `nests` says, are
    rows along it: they have no other dimension when loops are made.
    """
    path, domain = path_to(schedule.tree, schedule.scop, label)
    band = find_band(schedule.tree, label)
    members = (*path, *band.members)
    total = 0
    statements = [schedule.scop.statement(s) for s in statements_of(schedule.scop, domain)]
    targets = frozenset(statement.target.array for statement in statements)
    written = targets if chosen_rows else None
    for statement in statements:
        direction = directions(members, schedule.scop, statement)[len(path) + position]
        if direction is None or not any(direction):
            continue
        write, *reads = accesses(statement)
        moves = [along_row(a, schedule.scop, statement, direction, written) for a in reads]
        if not _calls(statement) and any(
            moved is None and not read.exact for moved, read in zip(moves, reads, strict=True)
        ):
            return -100
        is_row = [len(nests.get(a.array, ())) == len(path) > 0 for a in (write, *reads)]
        steps = [
            Stride.CONTIGUOUS if own else stride_of(a, schedule.scop, statement, direction, written)
            for a, own in zip((write, *reads), is_row, strict=True)
        ]
        if Stride.CONTIGUOUS not in steps or steps[0] is Stride.STRIDED:
            return -100
        total += _GAIN[steps[0]]
        total += sum(
            _GAIN[Stride.CONTIGUOUS] if own else _gain(moved)
            for moved, own in zip(moves, is_row[1:], strict=True)
        )
    return total


def _calls(statement: Statement) -> bool:
    """Tell whether a statement calls functions such as exp."""
    return any(map(is_function, walk(statement.value)))


def _gain(moved: Fraction | None) -> int:
    """Return the score of a read; a row that is read backwards is reversed in a register."""
    if moved in (0, -1):
        return _GAIN[Stride.INVARIANT]
    return _GAIN[Stride.CONTIGUOUS if moved == 1 else Stride.STRIDED]


def _with_vector(schedule: Schedule, label: str, position: int) -> Schedule | None:
    band = find_band(schedule.tree, label)
    last = len(band.members) - 1
    moves: list[Transform] = [
        Interchange(f"{label}[{p}]", f"{label}[{p + 1}]") for p in range(position, last)
    ]
    whole = schedule.attempt(*moves, Vectorize(f"{label}[{last}]"))
    if whole is not None and (not _is_guarded(whole, label) or _keeps_locals(whole, label)):
        return whole
    moved = schedule.attempt(*moves) if moves else schedule
    if moved is None:
        return None
    return _split(moved, label) or whole or _peel(moved, label)


def _is_guarded(schedule: Schedule, label: str) -> bool:
    """Tell whether some lanes run fewer statements than others: their vectors are in parts."""
    first, *others = _lane_values(schedule, label)
    return not all(first.is_equal(other) for other in others)


def _keeps_locals(schedule: Schedule, label: str) -> bool:
    """Tell whether lanes that run all but a few of the same iterations share temporaries.

    Loops of their own would keep these in rows; code for a few iterations costs less.
    """
    first, *others = _lane_values(schedule, label)
    if not all(are_near(first, other) for other in others):
        return False
    return bool(_local_temporaries(schedule, [label]))


def _lane_values(schedule: Schedule, label: str) -> list[isl.UnionSet]:
    """Return the iterations of a band's last loop in which each part of its body runs."""
    band = find_band(schedule.tree, label)
    _, domain = path_to(schedule.tree, schedule.scop, label)
    body = band.child
    parts = [p.domain for p in body.parts] if isinstance(body, Sequence) else [domain]
    return [values_of(domain.intersect(part), band.members[-1]) for part in parts]


def _peel(schedule: Schedule, label: str) -> Schedule | None:
    """Return `schedule` with the band's last loop peeled and its two long parts vectorized."""
    last = len(find_band(schedule.tree, label).members) - 1
    inner = f"{label}.inner" if last else label
    steps: list[Transform] = [Cut(label, last)] if last else []
    ends = [Vectorize(f"{inner}.{name}[0]") for name in ("before", "after")]
    return schedule.attempt(*steps, Peel(inner), *ends)


def _split(schedule: Schedule, label: str) -> Schedule | None:
    """Return `schedule` with the band's last loop distributed over its body and vectorized.

    Values of one array between which data choose stay in one loop: two would test twice.
    """
    body = find_band(schedule.tree, label).child
    if not isinstance(body, Sequence) or _chooses(schedule, label):
        return None
    order = dependence_order(schedule, label, body)
    if order is None:
        return None
    steps: list[Transform] = [Distribute(label, 1)]
    if order != tuple(range(len(order))):
        steps.insert(0, transforms.Reorder(label, order))
    split = schedule.attempt(*steps)
    if split is None:
        return None
    marked = False
    split, labels = _rejoined(split, [f"{label}.{number}" for number in range(len(body.parts))])
    for part in labels:
        vector = split.attempt(Vectorize(part))
        if vector is not None:
            split, marked = vector, marked or not only_checks(vector, part)
    return split if marked else None


def _chooses(schedule: Schedule, label: str) -> bool:
    """Tell whether data choose which of several statements of a band writes an element."""
    statements = statements_at(schedule.tree, schedule.scop, label)
    arrays = [s.target.array for s in statements if s.guard is not None]
    faults = {array.name for array in schedule.scop.arrays if array.role is Role.FAULT}
    return any(arrays.count(name) > 1 for name in set(arrays) - faults)


def only_checks(schedule: Schedule, label: str) -> bool:
    """Tell whether the statements of a band only note which subscripts are outside."""
    faults = {array.name for array in schedule.scop.arrays if array.role is Role.FAULT}
    if not faults:
        return False
    return faults.issuperset(
        s.target.array for s in statements_at(schedule.tree, schedule.scop, label)
    )


def _rejoined(schedule: Schedule, labels: list[str]) -> tuple[Schedule, list[str]]:
    """Return `schedule` with adjacent loops as one, and their labels, where values need no memory.

    The joint loops are vectorizable, run all statements for the same elements, and keep all uses of
    some temporary in one iteration.
    """
    joint, kept = schedule, labels[:1]
    places = {label: _places(schedule, label) for label in labels}
    for label in labels[1:]:
        is_near = len(places[label]) == 1 and places[label] == places[kept[-1]]
        fused = joint.attempt(Fuse(kept[-1], label, 1)) if is_near else None
        whole = None if fused is None else fused.attempt(Vectorize(kept[-1]))
        if fused is not None and whole is not None and not _is_guarded(fused, kept[-1]):
            joint = fused
        else:
            kept.append(label)
    gained = _local_temporaries(joint, kept) > _local_temporaries(schedule, labels)
    return (joint, kept) if gained else (schedule, labels)


def _places(schedule: Schedule, label: str) -> frozenset[tuple[str, ...]]:
    """Return, for each statement of a band, how the loops around it move, and their shifts."""
    path, domain = path_to(schedule.tree, schedule.scop, label)
    members = (*path, *find_band(schedule.tree, label).members)
    return frozenset(
        tuple(part for member in members for part in _place(member, schedule.scop, name))
        for name in statements_of(schedule.scop, domain)
    )


def _place(member: BandMember, scop: Scop, name: str) -> tuple[str, ...]:
    pieces: list[isl.Aff] = []
    statement_function(member, scop, name).foreach_piece(lambda _, aff: pieces.append(aff))
    shifts = (str(aff.get_constant_val()) for aff in pieces)
    return (*map(str, coefficients(member, scop, name).values()), *shifts)


def _local_temporaries(schedule: Schedule, labels: list[str]) -> frozenset[str]:
    """Return the temporaries that only statements of one of several bands access."""
    scop = schedule.scop
    around = {
        name: label
        for label in labels
        for name in statements_of(scop, path_to(schedule.tree, scop, label)[1])
    }
    users: dict[str, set[str]] = {}
    for statement in scop.statements:
        for access in (statement.write, *statement.reads):
            users.setdefault(access.array, set()).add(around.get(statement.name, ""))
    temporary = (array.name for array in scop.arrays if array.role is Role.TEMP and array.shape)
    return frozenset(name for name in temporary if "" not in users[name] and len(users[name]) == 1)


def dependence_order(schedule: Schedule, label: str, body: Sequence) -> tuple[int, ...] | None:
    """Return an order of the parts in which each comes after those it depends on.

    Dependences inside one iteration of all loops but the band's last count; None if they are
    cyclic.
    """
    band = find_band(schedule.tree, label)
    path, domain = path_to(schedule.tree, schedule.scop, label)
    found = schedule.dependences.among(frozenset(tuple_names(domain)))
    pairs = schedule.dependences.union(d for d in found if not d.reduction)
    for member in (*path, *band.members[:-1]):
        pairs = pairs.eq_at_multi_union_pw_aff(member.function)
    waits: dict[int, set[int]] = {}
    for late, target in enumerate(body.parts):
        into = pairs.intersect_range(target.domain)
        waits[late] = {
            early
            for early, source in enumerate(body.parts)
            if early != late and not into.intersect_domain(source.domain).is_empty()
        }
    order: list[int] = []
    while len(order) < len(waits):
        ready = [p for p in waits if p not in order and waits[p] <= set(order)]
        if not ready:
            return None
        order.append(ready[0])
    return tuple(order)
