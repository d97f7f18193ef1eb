"""How a schedule is mapped to a device, in words.

In: a Schedule.  Out: for every nest whose loops run across threads which loops those are, and how
neighbouring threads walk memory; the nests that run in one thread, or around kernels.
"""

from __future__ import annotations

from collections.abc import Iterator

import islpy as isl

from polyopt.errors import BudgetError
from polyopt.ir.affine import only_value, pieces_of, quota
from polyopt.ir.annotations import Pipeline
from polyopt.ir.expr import Load
from polyopt.ir.loops import LoopKind
from polyopt.ir.names import iterators
from polyopt.ir.scop import Access, Statement
from polyopt.ir.showing import show
from polyopt.ir.source import Layout
from polyopt.schedule.schedule import Schedule
from polyopt.schedule.tree import BandMember, leaves, statement_function, statements_of
from polyopt.strategy.gpu.time_tiles import traffic, untiled
from polyopt.strategy.strides import Stride, accesses, directions, stride_of
from polyopt.transforms import Overlap

_WALKS = {
    Stride.CONTIGUOUS: "neighbouring elements",
    Stride.INVARIANT: "the same element",
    Stride.STRIDED: "elements apart",
}
QUOTA = 200_000
_IN, _OUT = isl.dim_type.in_, isl.dim_type.out
_MAPPED = (LoopKind.BLOCK, LoopKind.THREAD)


def explain_mapping(schedule: Schedule) -> tuple[str, ...]:
    """Return lines on every nest, in the order of the tree; none without a mapping."""
    found = list(leaves(schedule.tree, schedule.scop.domain))
    if not any(member.kind in _MAPPED for path, _ in found for member in path):
        return ()
    grids = {id(path[0]) for path, _ in found if any(m.kind is LoopKind.BLOCK for m in path)}
    lines = (line for path, domain in found for line in _nest(schedule, path, domain, grids))
    return (*_moved_memory(schedule), *lines)


def _moved_memory(schedule: Schedule) -> Iterator[str]:
    """Yield what tiles of several time steps save: bytes of memory, for an element and a step."""
    for one in schedule.history():
        step = one.trace[-1] if one.trace else None
        if isinstance(step, Overlap) and one.before is not None:
            plan = step.plan(one.before.tree, one.before.scop)
            tiled, without = traffic(plan).memory, untiled(plan).memory
            what = "bytes of memory for each element and time step"
            yield f"{step}: {tiled:.1f} {what}, {without:.1f} without"


def _nest(
    schedule: Schedule, path: tuple[BandMember, ...], domain: isl.UnionSet, grids: set[int]
) -> Iterator[str]:
    """Say how a nest is run; `grids` are outermost loops that have grids inside."""
    names = statements_of(schedule.scop, domain)
    first = next((n for n, member in enumerate(path) if member.kind in _MAPPED), len(path))
    runs = "the host runs" if path and id(path[0]) in grids else "one block runs"
    parts = [_loops(runs, path[:first])] if first and first < len(path) else []
    parts += [_loops(what, [m for m in path if m.kind is kind]) for what, kind in _PLACES]
    across = (LoopKind.THREAD, LoopKind.LANE)
    threads = [n for n, member in enumerate(path) if member.kind in across]
    inside = path[threads[-1] + 1 :] if threads else ()
    parts.append(_loops("each thread runs", inside))
    if all(_is_copy(schedule.scop.statement(name)) for name in names):
        parts += [_pipeline(member.name, member.pipeline) for member in path if member.pipeline]
    where = "; ".join(part for part in parts if part) or "one thread"
    yield f"{', '.join(names)}: {where}"
    if threads:
        yield from _walks(schedule, path, threads[-1], names)


_PLACES = (
    ("blocks of", LoopKind.BLOCK),
    ("threads of", LoopKind.THREAD),
    ("neighbouring threads combine", LoopKind.LANE),
    ("threads scan", LoopKind.SCAN),
)


def _loops(what: str, members: tuple[BandMember, ...] | list[BandMember]) -> str:
    return f"{what} {', '.join(member.name for member in members)}" if members else ""


def _is_copy(statement: Statement) -> bool:
    return statement.origin is not None and not statement.origin.statement


def _pipeline(loop: str, pipeline: Pipeline) -> str:
    how = "in the background" if pipeline.is_async else "at once"
    return f"{pipeline.stages - 1} ahead in {loop}, {how}"


def _walks(
    schedule: Schedule, path: tuple[BandMember, ...], fastest: int, names: list[str]
) -> Iterator[str]:
    """Say what neighbouring threads do to every access: they differ in the loop `fastest`."""
    for name in names:
        statement = schedule.scop.statement(name)
        direction = directions(path[: fastest + 1], schedule.scop, statement)[fastest]
        neighbours = _neighbours(schedule, path, fastest, statement)
        for access in accesses(statement):
            step = _moved(schedule, neighbours, access)
            if step is None and _stays(schedule, path[fastest], statement, access):
                step = Stride.INVARIANT
            step = step or stride_of(access, schedule.scop, statement, direction)
            verb = "write" if access is statement.write else "read"
            load = Load(access.array, access.index, schedule.scop.array(access.array).dtype)
            yield f"    neighbouring threads {verb} {_WALKS[step]}: {show(load)}"


def _neighbours(
    schedule: Schedule, path: tuple[BandMember, ...], fastest: int, statement: Statement
) -> isl.Map | None:
    """Return the pairs of instances that neighbouring threads run at the same time, if any."""
    try:
        with quota(QUOTA):
            times: isl.Map | None = None
            for member in path:
                function = statement_function(member, schedule.scop, statement.name)
                own = isl.Map.from_pw_aff(function).intersect_domain(statement.domain)
                times = own if times is None else times.flat_range_product(own)
            assert times is not None
            loops = times.range().get_space()
            same = isl.Map.universe(loops.map_from_set())
            for position in range(len(path)):
                same = same.equate(_IN, position, _OUT, position) if position != fastest else same
            step = isl.Constraint.alloc_equality(isl.LocalSpace.from_space(same.get_space()))
            step = step.set_coefficient_val(_OUT, fastest, isl.Val(1))
            step = step.set_coefficient_val(_IN, fastest, isl.Val(-1))
            same = same.add_constraint(step.set_constant_val(isl.Val(-1)))
            pairs = times.apply_range(same).apply_range(times.reverse())
            return None if pairs.is_empty() else pairs
    except BudgetError:
        return None


def _moved(schedule: Schedule, neighbours: isl.Map | None, access: Access) -> Stride | None:
    """Return how far apart the elements of neighbours are, or None where there are none."""
    if neighbours is None or not access.exact:
        return None
    try:
        with quota(QUOTA):
            own = access.relation
            elements = own.reverse().apply_range(neighbours).apply_range(own)
            if not elements.dim(_OUT):
                return Stride.INVARIANT
            apart = elements.deltas()
    except BudgetError:
        return None
    last = apart.dim(isl.dim_type.set) - 1
    if any(only_value(apart, dim) != 0 for dim in range(last)):
        return Stride.STRIDED
    layout = schedule.scop.array(access.array).layout
    unit = 1 if layout in (Layout.C, Layout.ROWS) else None
    return {0: Stride.INVARIANT, unit: Stride.CONTIGUOUS}.get(
        only_value(apart, last), Stride.STRIDED
    )


def _stays(schedule: Schedule, loop: BandMember, statement: Statement, access: Access) -> bool:
    """Tell whether a loop moves no iterator that an access speaks of."""
    function = statement_function(loop, schedule.scop, statement.name)
    rules = pieces_of(function)
    moved = {
        name
        for position, name in enumerate(statement.iters)
        if any(rule.involves_dims(_IN, position, 1) for rule in rules)
    }
    spoken = iterators(*access.index)
    return access.exact and moved.isdisjoint(spoken)
