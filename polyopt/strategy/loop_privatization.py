"""Parallelize loops whose iterations share only temporaries and reassociable sums.

In: a schedule in the source's order.  Out: temporaries expanded over the loops around their uses
(Li, "Array privatization for parallel execution of loops", 1992), which become locals of the loops;
partial results of sums; a parallel outer loop, the innermost one around all statements in SIMD
lanes.
Leaves: loops that carry other dependences, and sums in a single loop.
"""

from __future__ import annotations

from collections.abc import Collection

from polyopt import transforms
from polyopt.ir.scop import Role, Statement
from polyopt.schedule.contraction import contraction_loops
from polyopt.schedule.schedule import Schedule, Transform
from polyopt.schedule.tree import Band, LoopRef, Tree, bands, find_band, resolve
from polyopt.strategy.fusion import statements_in
from polyopt.strategy.parallel_reductions import is_whole, serial
from polyopt.strategy.short_loop_unrolling import trip_count
from polyopt.strategy.strides import Stride, loop_moves
from polyopt.transforms import Parallelize, Unroll, Vectorize

SHORT = 8  # iterations of a loop that lanes repeat


def privatize_loops(schedule: Schedule) -> Schedule:
    """Return `schedule` with nests parallel whose iterations share only temporaries or sums."""
    for label in list(serial(schedule.tree)):
        if label in set(serial(schedule.tree)):
            schedule = _privatized(schedule, label) or schedule
    return schedule


def _privatized(schedule: Schedule, label: str) -> Schedule | None:
    """Return `schedule` with the outer loop of a nest parallel, None where it must not be.

    Copies have to be locals: they live in one iteration of the loops around all statements.
    """
    inside = statements_in(schedule, label)
    around = _around(schedule, label)
    copies = {name: _shared(schedule, around, name) for name in _temporaries(schedule, inside)}
    if not copies:
        return None
    sums = [s.name for s in inside if is_whole(schedule, label, s)]
    if sums and all(len(s.iters) == 1 for s in inside):
        return None  # as many partial results as terms
    found = schedule.attempt(
        *(transforms.Expand(name, loops) for name, loops in copies.items() if loops),
        *(transforms.Rfactor(name, around[0]) for name in sums),
        Parallelize(around[0]),
    )
    if found is None:
        return None
    innermost = _innermost(found, label, frozenset(s.name for s in inside))
    homes = contraction_loops(found.scop, found.tree)
    made = _temporaries(found, statements_in(found, label))
    if any(homes.get(name) != str(innermost) for name in made):
        return None
    return found if innermost == LoopRef(label, 0) else _in_lanes(found, innermost)


def _around(schedule: Schedule, label: str) -> tuple[str, ...]:
    """Return the loops of a nest that are around all of its statements, outermost first."""
    found: list[str] = []
    inner: Tree = find_band(schedule.tree, label)
    while isinstance(inner, Band):
        found += [str(LoopRef(inner.label, n)) for n in range(len(inner.members))]
        inner = inner.child
    return tuple(found)


def _temporaries(schedule: Schedule, inside: Collection[Statement]) -> list[str]:
    """Return the temporaries that a nest writes and no other nest reads, sorted."""
    names = {statement.target.array for statement in inside}
    outside = {
        access.array
        for statement in schedule.scop.statements
        if statement not in inside
        for access in statement.reads
    }
    temporaries = {array.name for array in schedule.scop.arrays if array.role is Role.TEMP}
    return sorted(names & temporaries - outside)


def _shared(schedule: Schedule, around: tuple[str, ...], name: str) -> tuple[str, ...]:
    """Return the loops whose iterations write the same elements of a temporary."""
    writers = [s for s in schedule.scop.statements if s.target.array == name]
    refs = [resolve(schedule.tree, loop) for loop in around]
    return tuple(
        str(ref)
        for ref in refs
        if any(
            loop_moves(schedule, ref.label, writer)[ref.position or 0][writer.write.ref]
            is Stride.INVARIANT
            for writer in writers
        )
    )


def _innermost(schedule: Schedule, label: str, names: frozenset[str]) -> LoopRef:
    """Return the innermost loop of a nest that is around all statements called `names`."""
    last = [
        band
        for band in bands(find_band(schedule.tree, label))
        if names <= {statement.name for statement in statements_in(schedule, band.label)}
    ][-1]
    return LoopRef(last.label, len(last.members) - 1)


def _in_lanes(schedule: Schedule, lanes: LoopRef) -> Schedule:
    """Return `schedule` with a loop vectorized and the short loops inside it unrolled.

    Left alone where a longer loop is inside.
    """
    steps: list[Transform] = []
    for band in bands(find_band(schedule.tree, lanes.label).child):
        for position in range(len(band.members)):
            count = trip_count(schedule, band.label, position)
            if count is None or count > SHORT:
                return schedule
            steps.append(Unroll(str(LoopRef(band.label, position))))
    return schedule.attempt(*steps, Vectorize(str(lanes))) or schedule
