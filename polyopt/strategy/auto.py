"""Compose the automatic schedule for CPUs.

In: a Scop and a machine.  Out: a proven schedule: fused, tiled, parallel outside, SIMD inside.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator
from functools import partial

from polyopt import strategy, transforms
from polyopt.dataclass import dataclass
from polyopt.errors import BudgetError
from polyopt.ir.budget import note_dropped, optional
from polyopt.ir.expr import loads
from polyopt.ir.loops import LoopKind
from polyopt.ir.scop import Array, Role, Scop
from polyopt.machine import Machine
from polyopt.schedule.contraction import contraction_loops
from polyopt.schedule.schedule import Schedule, source_schedule
from polyopt.schedule.tree import Band, BandMember, Tree, bands, children, find_band
from polyopt.strategy.blocked_factorization import block_factorization
from polyopt.strategy.column_strips import strip_columns
from polyopt.strategy.contraction import contraction, find_roles
from polyopt.strategy.extents import growing_rank
from polyopt.strategy.function_vectorization import vectorize_functions
from polyopt.strategy.fusion import fuse_nests
from polyopt.strategy.fusion_interchange import fuse_interchanged
from polyopt.strategy.intervals import intervals
from polyopt.strategy.large_programs import schedule_nests, size_in_words
from polyopt.strategy.narrow_contraction import add_versions, narrow_contraction
from polyopt.strategy.order import contiguous_innermost
from polyopt.strategy.outer_vectorization import vectorize_outer_loops
from polyopt.strategy.parallel_reductions import parallelize_reductions, serial
from polyopt.strategy.reduction_fusion import fuse_reductions, fusible_reductions
from polyopt.strategy.register_blocking import block_sums_in_registers
from polyopt.strategy.row_expansion import expand_rows
from polyopt.strategy.row_recurrences import jam_recurrences
from polyopt.strategy.row_sum_fusion import fuse_row_sums
from polyopt.strategy.row_sweep_fusion import fuse_row_sweeps
from polyopt.strategy.semiring_closure import blocked_closure
from polyopt.strategy.sums import sums
from polyopt.strategy.tiling import outer_bands, parallelize_outer
from polyopt.strategy.unroll_and_jam import jam_row_sums, passes_with_sums, row_sums
from polyopt.strategy.vector import vectorize_innermost
from polyopt.transforms import Affine, Fusion, Separate

BUDGET = 20_000_000  # isl operations for one stage of decisions: a few seconds
MOST = 0.4  # of the time that is left, for one stage of decisions
MAX_EXPANSION = 2  # dimensions; as much memory as a matrix
ARGUMENTS = frozenset({Role.INPUT, Role.INOUT, Role.OUTPUT})


def auto_schedule(
    scop: Scop,
    machine: Machine,
    *,
    is_inner: bool = False,
    outgrowing: Callable[[Schedule], Collection[str]] = lambda _: (),
) -> Schedule:
    """Return a legal schedule of `scop` chosen for `machine`.

    `is_inner`: a data-dependent loop is around the Scop, as around a sparse row; its sums are
    short. Schedules in which the temporaries `outgrowing` take more memory than the program's own
    arrays are passed over. Decisions that take more than `BUDGET` isl operations, or most of the
    time left, are skipped.
    """
    source = source_schedule(scop)
    scalars = {array.name for array in scop.arrays if not array.shape}
    size = size_in_words(source)
    if size is not None:
        reason = f"the program has {size}: its nests stay as they are"
        note_dropped("other orders of nests", BudgetError("PO0701", reason))
        found = _within_budget("parallel loops", source, schedule_nests)
        return source if outgrowing(found) else found
    with optional("the automatic schedule"):
        start: Schedule | None = source
        cells = Counter[str]()
        while start is not None:
            large: Collection[str] = ()
            for found in _candidates(start, machine, split=not is_inner):
                if keeps_scalars_small(found, scalars):
                    large = outgrowing(found)
                    if not large:
                        return found
            start = with_fewer_cells(source, cells, large)
    return source


def with_fewer_cells(
    source: Schedule, cells: Counter[str], names: Collection[str]
) -> Schedule | None:
    """Return the source's order with each temporary in `names` contracted by one more loop.

    `cells` counts the outermost loops around a temporary that it is contracted over already.  None
    where no temporary can be contracted further.
    """
    shapes = {a.name: a.shape for a in source.scop.arrays if a.role is Role.TEMP}
    fewer = [name for name in names if cells[name] < len(shapes.get(name, ()))]
    cells.update(fewer)
    found = source
    for name in sorted(cells):
        one = (1,) * cells[name]
        step = transforms.Contract(name, one + (0,) * (len(shapes[name]) - len(one)))
        found = found.attempt(step) or found
    return found if fewer and found is not source else None


def _candidates(source: Schedule, machine: Machine, *, split: bool = True) -> Iterator[Schedule]:
    """Yield candidate schedules, best first, each made on demand."""
    affine = Affine(Fusion.MIN)
    start = _within_budget(str(affine), source, lambda s: s.attempt(affine) or s)
    found = _sketch(start, machine)
    apart = _with_rows(source, found, machine)
    if apart is not None:
        yield _finish(apart, machine, split=split)
    if start is not source and count_tiled_contractions(found.schedule) < count_contractions(
        source
    ):
        unmoved = _sketch(source, machine)
        if count_tiled_contractions(unmoved.schedule) > count_tiled_contractions(found.schedule):
            yield _finish(unmoved, machine, split=split)
    is_serial = any(serial(found.schedule.tree)) and not count_tiled_contractions(found.schedule)
    is_first = start is not source and not is_serial
    if is_first:
        yield _finish(found, machine, split=split)
    own = _within_budget(
        "private loops", source, lambda s: strategy.loop_privatization.privatize_loops(s)
    )
    if own is not source:
        yield _finish(_sketch(own, machine), machine, split=split)
    if not is_first:
        yield _finish(found, machine, split=split)
    if own is source is not start:
        yield _finish(_sketch(source, machine), machine, split=split)
    yield _within_budget("parallel loops", source, lambda s: parallelize_outer(s, machine))


def _or_same(stage: Callable[[Schedule], Schedule | None], schedule: Schedule) -> Schedule:
    return stage(schedule) or schedule


def _with_rows(source: Schedule, found: _Sketch, machine: Machine) -> _Sketch | None:
    """Return a sketch in which copies of rows make more products than `found` has, or None."""
    affine = Affine(Fusion.MIN)
    for expand in (expand_rows, partial(expand_rows, whole=True)):
        rows = _within_budget("copies of rows", source, partial(_or_same, expand))
        if rows is not source:
            moved = _within_budget(str(affine), rows, lambda s: s.attempt(affine) or s)
            apart = _sketch(moved, machine)
            if count_tiled_contractions(apart.schedule) > count_tiled_contractions(found.schedule):
                return apart
    return None


def alternatives(scop: Scop, machine: Machine) -> Iterator[Schedule]:
    """Yield proven schedules that may be faster than the automatic one, for measurement."""
    source = source_schedule(scop)
    if not any(statement.iters for statement in scop.statements):
        return
    yield from _candidates(source, machine)
    yield _improve(source, machine)
    affine = Affine(Fusion.MAX)
    fused = _within_budget(str(affine), source, lambda s: s.attempt(affine) or s)
    if fused is not source:
        yield _improve(fused, machine)


def _improve(start: Schedule, machine: Machine) -> Schedule:
    """Return `start` fused, tiled, parallel outside and vectorized inside."""
    return _finish(_sketch(start, machine), machine)


@dataclass(frozen=True)
class _Sketch:
    """A schedule whose products and sums are tiled: enough to choose which one to finish.

    `done` are the bands that need nothing more, `waiting` sums that may join a pass over the same
    rows, `rows` sums along rows that go with what makes or uses the rows, and `running` sums of
    rows that a recurrence makes.
    """

    schedule: Schedule
    done: frozenset[str]
    waiting: frozenset[str]
    rows: frozenset[str]
    running: frozenset[str]


def _sketch(start: Schedule, machine: Machine) -> _Sketch:
    """Return `start` with loops in memory order, products and sums tiled."""
    ordered = _within_budget("the order of loops", start, contiguous_innermost)
    ordered = _within_budget("versions for sizes", ordered, lambda s: add_versions(s, machine))
    streamed = _within_budget("joint sweeps", ordered, lambda s: fuse_row_sweeps(s, machine))
    joint = _new_labels(ordered, streamed)
    small = frozenset[str]()
    if _has_sums(start):
        with optional("lanes across rows", BUDGET, part=MOST):
            streamed, small = strategy.transposed_lanes.small_products(streamed, machine, joint)
    held = _within_budget("held sums", streamed, lambda s: block_sums(s, machine, joint | small))
    kept = joint if held is streamed else joint | _marked(held.tree)
    waiting = rows = running = frozenset[str]()
    with optional("sums in passes", BUDGET, part=MOST):
        waiting, rows = fusible_reductions(held, kept), row_sums(held, kept)
        if _has_temporaries(held):
            others = kept | waiting | rows | small
            running = strategy.running_rows.sums_of_running_rows(held, others)
    later = kept | waiting | rows | running | small
    summed = _within_budget("tiles of sums", held, lambda s: tile_sums(s, machine, later))
    done = _new_labels(ordered, summed) | _marked(summed.tree)
    return _Sketch(summed, done, waiting, rows, running)


def _finish(sketch: _Sketch, machine: Machine, *, split: bool = True) -> Schedule:
    """Return a sketch's schedule fused, parallel outside and vectorized inside.

    `split`: sums over whole nests get partial results.
    """
    done, waiting, start = sketch.done, sketch.waiting, sketch.schedule
    fused = _within_budget("fused nests", start, lambda s: _fuse(s, done | waiting))
    start = fused
    if _has_temporaries(fused):
        fuse_running = strategy.running_rows.fuse_running_rows
        fused = _within_budget("running rows", fused, lambda s: fuse_running(s, done | waiting))
    if sketch.running:
        others = frozenset(outer_bands(fused.tree)) - sketch.running
        fused = _within_budget("tiles of sums", fused, lambda s: tile_sums(s, machine, others))
        done |= _new_labels(start, fused) | _marked(fused.tree)
    several: list[str] = []
    if sketch.rows:
        unrolled = _within_budget(
            "rows abreast", fused, lambda s: jam_row_sums(s, sketch.rows, machine) or s
        )
        if unrolled is fused:
            others = frozenset(outer_bands(start.tree)) - sketch.rows
            start = _within_budget("tiles of sums", start, lambda s: tile_sums(s, machine, others))
            done |= _new_labels(sketch.schedule, start)
            unrolled = _within_budget("fused nests", start, lambda s: _fuse(s, done | waiting))
        else:
            several = passes_with_sums(fused, sketch.rows)
            done |= _new_labels(fused, unrolled)
        fused = unrolled
    whole = fused
    if _has_sums(fused):
        across = strategy.transposed_lanes.vectorize_rows
        fused = _within_budget(
            "lanes across rows", fused, lambda s: across(s, machine, done | waiting)
        )
    done |= _new_labels(whole, fused) | _marked(fused.tree)
    if not several:
        fused = _within_budget("joint sums", fused, lambda s: fuse_row_sums(s, done | waiting))
    if waiting:
        start = fused
        fused = _within_budget(
            "sums of columns", fused, lambda s: fuse_reductions(s, waiting, done, machine)
        )
        apart = frozenset(outer_bands(fused.tree)) - waiting
        fused = _within_budget("tiles of sums", fused, lambda s: tile_sums(s, machine, apart))
        done |= _new_labels(start, fused) | _marked(fused.tree)
    whole = fused
    if split:
        fused = _within_budget("sums in parts", fused, lambda s: parallelize_reductions(s, done))
    done |= _new_labels(whole, fused)
    whole = fused
    fused = _within_budget(
        "functions of sums", fused, lambda s: vectorize_functions(s, machine, done)
    )
    done |= _new_labels(whole, fused)
    laned = _within_budget("sunk loops", fused, lambda s: vectorize_outer_loops(s, done))
    jammed = _within_budget("strips of rows", laned, lambda s: jam_recurrences(s, machine, done))
    if len(outer_bands(jammed.tree)) > 1 and _has_sums(jammed):
        fuse_blocks = strategy.row_block_fusion.fuse_row_blocks
        jammed = _within_budget("blocks of rows", jammed, lambda s: fuse_blocks(s, machine))
    parallel = _within_budget("parallel loops", jammed, lambda s: parallelize_outer(s, machine))
    return _within_budget("SIMD lanes", parallel, vectorize_innermost)


def _new_labels(before: Schedule, after: Schedule) -> frozenset[str]:
    """Return the bands that only the later schedule has."""
    return frozenset(_labels(after.tree) - _labels(before.tree))


def _has_sums(schedule: Schedule) -> bool:
    """Whether a statement continues what it writes."""
    statements = schedule.scop.statements
    return any(s.target.array in {load.array for load in loads(s.value)} for s in statements)


def _has_temporaries(schedule: Schedule) -> bool:
    """Whether there are arrays of the kernel's own."""
    return any(array.role is Role.TEMP for array in schedule.scop.arrays)


def _fuse(schedule: Schedule, skip: frozenset[str]) -> Schedule:
    """Return `schedule` with nests fused, some after an interchange."""
    fused = fuse_nests(schedule, skip)
    interchanged = fuse_interchanged(fused, skip)
    return fused if interchanged is fused else fuse_nests(interchanged, skip)


def _within_budget(
    what: str, schedule: Schedule, stage: Callable[[Schedule], Schedule]
) -> Schedule:
    """Return the result of a stage, or the schedule itself if the stage takes too long."""
    with optional(what, BUDGET, part=MOST):
        schedule = stage(schedule)
    return schedule


def block_sums(schedule: Schedule, machine: Machine, skip: frozenset[str]) -> Schedule:
    """Return `schedule` with sums over several loops blocked in registers, except in `skip`."""
    for label in outer_bands(schedule.tree):
        if label not in skip and label in _labels(schedule.tree):
            schedule = block_sums_in_registers(schedule, label, machine) or schedule
    return schedule


def tile_sums(schedule: Schedule, machine: Machine, skip: frozenset[str]) -> Schedule:
    """Return `schedule` with contractions and sums tiled in outer nests and inside time loops.

    Bands named in `skip` are left alone.
    """
    for label in outer_bands(schedule.tree):
        if label in skip or label not in _labels(schedule.tree):
            continue  # a product before may have taken it in
        outer = find_band(schedule.tree, label)
        found = narrow_contraction(schedule, label, machine)
        found = found or contraction(schedule, label, machine)
        found = found or block_factorization(schedule, label, machine)
        found = found or sums(schedule, label, machine)
        if found is None:
            found = strip_columns(schedule, label, machine)
            found = found or blocked_closure(schedule, label, machine)
            found = found or intervals(schedule, label, machine)
        schedule = found or schedule
        if found is None and not any(member.coincident for member in outer.members):
            for inner in [band.label for band in bands(outer.child)]:
                if inner in skip or inner not in _labels(schedule.tree):
                    continue
                found = contraction(schedule, inner, machine)
                found = found or sums(schedule, inner, machine)
                schedule = found or schedule
    return schedule


def count_tiled_contractions(schedule: Schedule) -> int:
    """Return the number of tiled contractions: those with register tiles of two loops."""
    return sum(
        isinstance(step, Separate)
        and len(step.sizes) > 1
        and all(step.sizes)
        and not step.point.endswith(".rest.point")
        for step in schedule.trace
    )


def count_contractions(schedule: Schedule) -> int:
    """Return the number of bands that are contractions, 0 when counting takes too long."""
    with optional("tiles of sums", BUDGET, part=MOST):
        return sum(find_roles(schedule, b.label) is not None for b in bands(schedule.tree))
    return 0


def _labels(tree: Tree) -> set[str]:
    return {band.label for band in bands(tree)}


def _marked(tree: Tree) -> frozenset[str]:
    """Return the labels of outer bands with a parallel loop at or below them."""
    return frozenset(
        label
        for label in outer_bands(tree)
        if any(
            member.kind is LoopKind.PARALLEL
            for band in bands(find_band(tree, label))
            for member in band.members
        )
    )


def keeps_scalars_small(schedule: Schedule, scalars: Collection[str]) -> bool:
    """Tell whether no expanded scalar takes more memory than a matrix or an argument.

    A matrix is too much if no argument has two extents that grow: a sum over pairs of points must
    not take memory quadratic in their number. A scalar with a cell per iteration is contracted
    again where one iteration writes and reads it; separate nests for writers and readers need all
    cells, or those of the loops inside common ones; a row per thread is not large.  If sums are
    blocked in registers, the cells may be a matrix, or fit in an argument; each argument stands for
    one scalar, so that all together take no more memory than the arguments do.
    """
    held = any(isinstance(step, Separate) for step in schedule.trace)
    ranks = (growing_rank(array) for array in schedule.scop.arrays if array.role in ARGUMENTS)
    widest = min(max(1, *ranks, 1), MAX_EXPANSION)

    def is_large(array: Array) -> bool:
        is_deep = len(array.shape) > MAX_EXPANSION or growing_rank(array) > widest
        return is_deep and array.name in scalars

    homes = contraction_loops(schedule.scop, schedule.tree, is_large)
    kept = []
    for array in filter(is_large, schedule.scop.arrays):
        home = homes.get(array.name)
        around = () if home is None else loops_through(schedule.tree, home)
        row = any(member.kind is LoopKind.PARALLEL for member in around)
        if len(array.shape) - len(around) > (MAX_EXPANSION if held else int(row)):
            kept.append(array)
    return not kept or (held and fit_in_arguments(kept, schedule.scop))


def fit_in_arguments(arrays: Collection[Array], scop: Scop) -> bool:
    """Tell whether the arrays fit in distinct arguments.

    The extents of an array are extents of its argument, in any order, with elements no larger: it
    takes no more memory, unless the argument has another extent that is 0.
    """
    left = [array for array in scop.arrays if array.role in ARGUMENTS]
    for array in sorted(arrays, key=lambda array: -len(array.shape)):
        large = [argument for argument in left if _fits(array, argument)]
        if not large:
            return False
        left.remove(min(large, key=lambda argument: (len(argument.shape), argument.dtype.size)))
    return True


def _fits(array: Array, argument: Array) -> bool:
    extents = Counter(array.shape) <= Counter(argument.shape)
    return extents and array.dtype.size <= argument.dtype.size


def loops_through(tree: Tree, home: str) -> tuple[BandMember, ...]:
    """Return the loops from the outermost to `home` (`L0[1]`), itself included."""
    label, _, position = home.partition("[")
    for above, band in _bands_below(tree, ()):
        if band.label == label:
            return (*above, *band.members[: int(position.rstrip("]")) + 1])
    raise AssertionError(f"no band {label}")


def _bands_below(
    tree: Tree, above: tuple[BandMember, ...]
) -> Iterator[tuple[tuple[BandMember, ...], Band]]:
    """Yield every band with the loops above it."""
    if isinstance(tree, Band):
        yield above, tree
        above += tree.members
    for child in children(tree):
        yield from _bands_below(child, above)
