"""Choose and prepare the innermost loop of every nest for SIMD.

In: a schedule.  Out: the schedule with a contiguous, dependence-free loop innermost where one
exists, bodies split where only that makes them vectorizable, and the loop marked.
"""

from __future__ import annotations

from polyopt.ir.loops import LoopKind
from polyopt.schedule.schedule import Schedule, Transform
from polyopt.schedule.tree import (
    Band,
    Sequence,
    bands,
    find_band,
    path_to,
    statements_of,
)
from polyopt.strategy.strides import Step, accesses, directions, step_of
from polyopt.transforms import Distribute, Interchange, Vectorize

_GAIN = {Step.CONTIGUOUS: 2, Step.INVARIANT: 1, Step.STRIDED: -4}


def vectorize_innermost(schedule: Schedule) -> Schedule:
    """Return `schedule` with every innermost band's best loop last and, where legal, vectorized."""
    for label in [band.label for band in bands(schedule.tree) if is_innermost(band)]:
        schedule = _vectorize_band(schedule, label)
    return schedule


def is_innermost(band: Band) -> bool:
    """Tell whether no band lies below."""
    return next(iter(bands(band.child)), None) is None


def _vectorize_band(schedule: Schedule, label: str) -> Schedule:
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
        (vector_gain(schedule, label, position), position)
        for position in range(len(band.members))
        if band.members[position].kind is LoopKind.SEQUENTIAL
    ]
    return [position for gain, position in sorted(gains, key=lambda g: (-g[0], -g[1])) if gain > 0]


def vector_gain(schedule: Schedule, label: str, position: int) -> int:
    """Return a score of running the loop in SIMD lanes: contiguous accesses count for it."""
    path, domain = path_to(schedule.tree, schedule.scop, label)
    band = find_band(schedule.tree, label)
    members = (*path, *band.members)
    total = 0
    for name in statements_of(schedule.scop, domain):
        statement = schedule.scop.statement(name)
        direction = directions(members, schedule.scop, statement)[len(path) + position]
        if direction is None or not any(direction):
            continue
        steps = [step_of(a, schedule.scop, statement, direction) for a in accesses(statement)]
        if Step.CONTIGUOUS not in steps:
            return -100
        total += sum(_GAIN[step] for step in steps)
    return total


def _with_vector(schedule: Schedule, label: str, position: int) -> Schedule | None:
    band = find_band(schedule.tree, label)
    last = len(band.members) - 1
    moves: list[Transform] = [
        Interchange(f"{label}[{p}]", f"{label}[{p + 1}]") for p in range(position, last)
    ]
    whole = schedule.attempt(*moves, Vectorize(f"{label}[{last}]"))
    if whole is not None:
        return whole
    if not isinstance(band.child, Sequence):
        return None
    moved = schedule.attempt(*moves) if moves else schedule
    if moved is None:
        return None
    split = moved.attempt(Distribute(label, 1))
    if split is None:
        return None
    marked = False
    for number in range(len(band.child.parts)):
        vector = split.attempt(Vectorize(f"{label}.{number}"))
        if vector is not None:
            split, marked = vector, True
    return split if marked else None
