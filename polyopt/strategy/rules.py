"""The rules of the automatic schedule for CPUs, in the order in which they decide.

In: nothing.  Out: `ORDER` of loops; `SUMS`, which tile products and sums; `NESTS`, which fuse
nests, run them in parallel and fill vectors.  Each rule is stated by properties of dependences and
accesses, in the module that it names; `docs/strategy.md` says where each comes from.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from polyopt import strategy
from polyopt.dataclass import replace
from polyopt.ir.names import reads
from polyopt.ir.scop import Role
from polyopt.machine import Machine
from polyopt.schedule.schedule import Schedule
from polyopt.schedule.tree import bands, find_band
from polyopt.strategy.blocked_factorization import block_factorization
from polyopt.strategy.column_strips import strip_columns
from polyopt.strategy.contraction import contraction
from polyopt.strategy.driver import Rule, Settles, State, labels, new_labels
from polyopt.strategy.function_vectorization import vectorize_functions
from polyopt.strategy.fusion import fuse_nests
from polyopt.strategy.fusion_interchange import fuse_interchanged
from polyopt.strategy.intervals import intervals
from polyopt.strategy.narrow_contraction import add_versions, narrow_contraction
from polyopt.strategy.order import contiguous_innermost
from polyopt.strategy.outer_vectorization import vectorize_outer_loops
from polyopt.strategy.parallel_reductions import parallelize_reductions
from polyopt.strategy.reduction_fusion import fuse_reductions, fusible_reductions
from polyopt.strategy.register_blocking import block_sums_in_registers
from polyopt.strategy.row_recurrences import jam_recurrences
from polyopt.strategy.row_sum_fusion import fuse_row_sums
from polyopt.strategy.row_sweep_fusion import fuse_row_sweeps
from polyopt.strategy.semiring_closure import blocked_closure
from polyopt.strategy.sums import sums
from polyopt.strategy.tiling import outer_bands, parallelize_outer
from polyopt.strategy.unroll_and_jam import jam_row_sums, passes_with_sums, row_sums
from polyopt.strategy.vector import vectorize_innermost

Tiling = Callable[[Schedule, str, Machine], Schedule | None]

TILINGS: tuple[Tiling, ...] = (
    narrow_contraction,
    contraction,
    block_factorization,
    sums,
    strip_columns,
    blocked_closure,
    intervals,
)
"""How a nest with sums is tiled: the first that applies."""

INNER_TILINGS: tuple[Tiling, ...] = (contraction, sums)
"""The same for nests inside a loop that carries dependences."""


# -- what rules ask -----------------------------------------------------------------------------


def has_sums(state: State) -> bool:
    """Whether a statement continues what it writes."""
    statements = state.schedule.scop.statements
    return any(s.target.array in reads(s.value) for s in statements)


def has_temporaries(state: State) -> bool:
    """Whether there are arrays of the kernel's own."""
    return any(array.role is Role.TEMP for array in state.schedule.scop.arrays)


def _has_rows(state: State) -> bool:
    return bool(state.reserved.rows)


def _has_running(state: State) -> bool:
    return bool(state.reserved.running)


def _has_columns(state: State) -> bool:
    return bool(state.reserved.columns)


# -- what they do -------------------------------------------------------------------------------


def _changed(state: State, schedule: Schedule | None) -> State:
    return state if schedule is None else replace(state, schedule=schedule)


def _skipped(state: State) -> frozenset[str]:
    """Return the bands that fusing leaves alone."""
    return state.settled | state.reserved.columns


def _order(state: State) -> State:
    return _changed(state, contiguous_innermost(state.schedule))


def _versions(state: State) -> State:
    return _changed(state, add_versions(state.schedule, state.machine))


def _sweeps(state: State) -> State:
    return _changed(state, fuse_row_sweeps(state.schedule, state.machine))


def _batches(state: State) -> State:
    found, batches = strategy.transposed_lanes.small_products(
        state.schedule, state.machine, state.settled
    )
    return replace(state, schedule=found, reserved=replace(state.reserved, batches=batches))


def _held(state: State) -> State:
    skip = state.settled | state.reserved.batches
    return _changed(state, block_sums(state.schedule, state.machine, skip))


def _reserve(state: State) -> State:
    schedule, settled = state.schedule, state.settled
    columns, rows = fusible_reductions(schedule, settled), row_sums(schedule, settled)
    reserved = replace(state.reserved, columns=columns, rows=rows)
    if has_temporaries(state):
        running = strategy.running_rows.sums_of_running_rows(schedule, settled | reserved.sums)
        reserved = replace(reserved, running=running)
    return replace(state, reserved=reserved)


def _tile(state: State) -> State:
    skip = state.settled | state.reserved.sums
    return _changed(state, tile_sums(state.schedule, state.machine, skip))


def _fuse(state: State) -> State:
    """Fuse nests, some after an interchange."""
    skip = _skipped(state)
    fused = fuse_nests(state.schedule, skip)
    interchanged = fuse_interchanged(fused, skip)
    found = fused if interchanged is fused else fuse_nests(interchanged, skip)
    return replace(state, schedule=found, fused=found)


def _fuse_running(state: State) -> State:
    fuse = strategy.running_rows.fuse_running_rows
    return _changed(state, fuse(state.schedule, _skipped(state)))


def _tile_only(state: State, wanted: Collection[str]) -> State:
    skip = state.outer.difference(wanted)
    return _changed(state, tile_sums(state.schedule, state.machine, skip))


def _jam_rows(state: State) -> State:
    """Unroll and jam sums along rows; those that it takes are reserved no longer."""
    fused, rows = state.schedule, state.reserved.rows
    found = jam_row_sums(fused, rows, state.machine)
    if found is None or found is fused:
        return state
    passes = tuple(passes_with_sums(fused, rows))
    reserved = replace(state.reserved, rows=frozenset(), passes=passes)
    return replace(state, schedule=found, reserved=reserved)


def _tile_rows(state: State) -> State:
    """Tile sums along rows that were not jammed, before what was fused into running rows."""
    found = _tile_only(replace(state, schedule=state.fused), state.reserved.rows)
    return replace(found, settled=found.settled | new_labels(state.begun, found.schedule))


def _lanes_of_rows(state: State) -> State:
    if not has_sums(state):
        return state
    across = strategy.transposed_lanes.vectorize_rows
    return _changed(state, across(state.schedule, state.machine, _skipped(state)))


def _fuse_row_sums(state: State) -> State:
    return _changed(state, fuse_row_sums(state.schedule, _skipped(state)))


def _fuse_columns(state: State) -> State:
    columns, settled = state.reserved.columns, state.settled
    return _changed(state, fuse_reductions(state.schedule, columns, settled, state.machine))


def _part_sums(state: State) -> State:
    return _changed(state, parallelize_reductions(state.schedule, state.settled))


def _functions(state: State) -> State:
    return _changed(state, vectorize_functions(state.schedule, state.machine, state.settled))


def _sink(state: State) -> State:
    return _changed(state, vectorize_outer_loops(state.schedule, state.settled))


def _strips(state: State) -> State:
    return _changed(state, jam_recurrences(state.schedule, state.machine, state.settled))


def _blocks(state: State) -> State:
    fuse = strategy.row_block_fusion.fuse_row_blocks
    return _changed(state, fuse(state.schedule, state.machine))


def _parallel(state: State) -> State:
    return _changed(state, parallelize_outer(state.schedule, state.machine))


def _lanes(state: State) -> State:
    return _changed(state, vectorize_innermost(state.schedule))


ORDER = (
    Rule("the order of loops", _order),
    Rule("versions for sizes", _versions),
)

SUMS = (
    Rule("joint sweeps", _sweeps, settles=Settles.NEW),
    Rule("lanes across rows", _batches, when=has_sums),
    Rule("held sums", _held, settles=Settles.MARKED),
    Rule("sums in passes", _reserve),
    Rule("tiles of sums", _tile, settles=Settles.BOTH),
)

NESTS = (
    Rule("fused nests", _fuse),
    Rule("running rows", _fuse_running, when=has_temporaries),
    Rule(
        "tiles of sums",
        lambda state: _tile_only(state, state.reserved.running),
        when=_has_running,
        settles=Settles.BOTH,
    ),
    Rule("rows abreast", _jam_rows, when=_has_rows, settles=Settles.NEW),
    Rule("tiles of sums", _tile_rows, when=_has_rows),
    Rule("fused nests", _fuse, when=_has_rows),
    Rule("lanes across rows", _lanes_of_rows, settles=Settles.BOTH),
    Rule("joint sums", _fuse_row_sums, when=lambda state: not state.reserved.passes),
    Rule("sums of columns", _fuse_columns, when=_has_columns, settles=Settles.NEW),
    Rule(
        "tiles of sums",
        lambda state: _tile_only(state, state.reserved.columns),
        when=_has_columns,
        settles=Settles.BOTH,
    ),
    Rule("sums in parts", _part_sums, when=lambda state: state.split, settles=Settles.NEW),
    Rule("functions of sums", _functions, settles=Settles.NEW),
    Rule("sunk loops", _sink),
    Rule("strips of rows", _strips),
    Rule(
        "blocks of rows",
        _blocks,
        when=lambda state: len(state.outer) > 1 and has_sums(state),
    ),
    Rule("parallel loops", _parallel),
    Rule("SIMD lanes", _lanes),
)


def block_sums(schedule: Schedule, machine: Machine, skip: Collection[str]) -> Schedule:
    """Return `schedule` with sums over several loops blocked in registers, except in `skip`."""
    for label in outer_bands(schedule.tree):
        if label not in skip and label in labels(schedule.tree):
            schedule = block_sums_in_registers(schedule, label, machine) or schedule
    return schedule


def tile_sums(schedule: Schedule, machine: Machine, skip: Collection[str]) -> Schedule:
    """Return `schedule` with contractions and sums tiled in outer nests and inside time loops.

    Bands named in `skip` are left alone.
    """
    for label in outer_bands(schedule.tree):
        if label in skip or label not in labels(schedule.tree):
            continue  # a product before may have taken it in
        outer = find_band(schedule.tree, label)
        found = _tiled(schedule, label, machine, TILINGS)
        schedule = found or schedule
        if found is None and not any(member.coincident for member in outer.members):
            for inner in [band.label for band in bands(outer.child)]:
                if inner not in skip and inner in labels(schedule.tree):
                    schedule = _tiled(schedule, inner, machine, INNER_TILINGS) or schedule
    return schedule


def _tiled(
    schedule: Schedule, label: str, machine: Machine, tilings: tuple[Tiling, ...]
) -> Schedule | None:
    """Return the schedule by the first tiling that applies to a band, or None."""
    found = (tiling(schedule, label, machine) for tiling in tilings)
    return next((schedule for schedule in found if schedule is not None), None)
