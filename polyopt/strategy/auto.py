"""Compose the automatic schedule for CPUs.

In: a Scop and a machine.  Out: a proven schedule: fused, tiled, parallel outside, SIMD inside.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial

from polyopt import strategy, transforms
from polyopt.dataclass import replace
from polyopt.errors import BudgetError
from polyopt.ir.budget import note_dropped, optional
from polyopt.ir.expr import BinaryOp
from polyopt.ir.loops import LoopFunction
from polyopt.ir.scop import Role, Scop
from polyopt.machine import Machine
from polyopt.schedule.schedule import Schedule, source_schedule
from polyopt.schedule.tree import bands
from polyopt.strategy.contraction import find_roles
from polyopt.strategy.driver import BUDGET, MOST, State, marked, new_labels, run, within_budget
from polyopt.strategy.large_programs import schedule_nests, size_in_words
from polyopt.strategy.memory_limits import keeps_scalars_small
from polyopt.strategy.parallel_reductions import serial
from polyopt.strategy.row_expansion import expand_rows
from polyopt.strategy.rules import NESTS, ORDER, SUMS
from polyopt.strategy.tiling import outer_bands, parallelize_outer
from polyopt.transforms import Affine, Fusion, Separate

SURE = 1.25  # times as long: the model is not wrong by more where it compares
SAME = 1.01  # times as long, where the model sees no difference


def auto_schedule(
    scop: Scop,
    machine: Machine,
    *,
    is_inner: bool = False,
    is_part: bool = False,
    outgrowing: Callable[[Schedule], Collection[str]] = lambda _: (),
    source: Schedule | None = None,
    seconds: Callable[[Schedule], float] | None = None,
) -> Schedule:
    """Return a legal schedule of `scop` chosen for `machine`.

    `is_inner`: a data-dependent loop is around the Scop, as around a sparse row; its sums are
    short.  `is_part`: it is one of several parts of a program; the certificate applies laws of
    arithmetic to programs of one part alone.  Schedules in which the temporaries `outgrowing` take
    more memory than the program's own arrays are passed over.  Decisions that take more than
    `BUDGET` isl operations, or most of the time left, are skipped.  `source` is another schedule to
    begin with.  `seconds` predicts how long a schedule takes; without it, what comes first is
    taken.
    """
    source = source or source_schedule(scop)
    scalars = {array.name for array in scop.arrays if not array.shape}
    size = size_in_words(source)
    if size is not None:
        reason = f"the program has {size}: its nests stay as they are"
        note_dropped("other orders of nests", BudgetError("PO0701", reason))
        found = within_budget("parallel loops", source, schedule_nests)
        return source if outgrowing(found) else found
    with optional("the automatic schedule"):
        start: Schedule | None = source
        cells = Counter[str]()
        while start is not None:
            large: Collection[str] = ()
            for found in _candidates(
                start, machine, split=not is_inner, laws=not is_part, seconds=seconds
            ):
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


def has_maxima(scop: Scop) -> bool:
    """Tell whether a statement takes a maximum."""
    rules = (statement.reduction for statement in scop.statements)
    return any(rule is not None and rule.op is BinaryOp.MAX for rule in rules)


def _mirrored(source: Schedule, machine: Machine) -> Schedule:
    """Return `source` with one triangle of symmetric sums, if a statement has a matrix of sums."""
    sums = (s for s in source.scop.statements if s.reduction is not None)
    if not any(len(s.iters) > len(s.target.index) > 1 for s in sums):
        return source
    mirror = strategy.mirrored_sums.mirror_sums
    return within_budget("mirrored sums", source, lambda s: mirror(s, machine))


def _candidates(
    source: Schedule,
    machine: Machine,
    *,
    split: bool = True,
    laws: bool = True,
    seconds: Callable[[Schedule], float] | None = None,
) -> Iterator[Schedule]:
    """Yield candidate schedules, best first, each made on demand."""
    carried = source
    if laws and has_maxima(source.scop):
        carry = strategy.online_sums.carry_sums
        carried = within_budget("carried sums", source, lambda s: carry(s, machine))
    if carried is not source:
        yield _beside(carried, source, machine, split=split)
    source = _mirrored(source, machine) if laws else source
    affine = Affine(Fusion.MIN)
    start = within_budget(str(affine), source, lambda s: s.attempt(affine) or s)
    found = _sketch(start, machine)
    apart = _with_rows(source, found, machine)
    if apart is not None:
        yield _finish(apart, split=split)
    if start is not source and count_tiled_contractions(found.schedule) < count_contractions(
        source
    ):
        unmoved = _sketch(source, machine)
        if count_tiled_contractions(unmoved.schedule) > count_tiled_contractions(found.schedule):
            yield _finish(unmoved, split=split)
    is_serial = any(serial(found.schedule.tree)) and not count_tiled_contractions(found.schedule)
    is_first = start is not source and not is_serial
    if is_first:
        yield from _ranked(source, found, split=split, seconds=seconds)
    own = within_budget(
        "private loops", source, lambda s: strategy.loop_privatization.privatize_loops(s)
    )
    if own is not source:
        yield _finish(_sketch(own, machine), split=split)
    if not is_first:
        yield _finish(found, split=split)
    if own is source is not start:
        yield _finish(_sketch(source, machine), split=split)
    yield within_budget("parallel loops", source, lambda s: parallelize_outer(s, machine))


def predicted_seconds(
    lower: Callable[[Sequence[Schedule]], LoopFunction], machine: Machine, schedule: Schedule
) -> float:
    """Return the predicted seconds of a program whose only schedule this is."""
    return strategy.ranking.predicted_seconds(lower((schedule,)), machine)


def _ranked(
    source: Schedule, found: State, *, split: bool, seconds: Callable[[Schedule], float] | None
) -> Iterator[Schedule]:
    """Yield the schedule of a sketch, after that of `source` where this is predicted to be faster.

    Only nests that were taken apart are compared: what they pass on goes through memory, so that
    `source` is taken where data choose elements and the model sees no difference.
    """
    first = _finish(found, split=split)
    if seconds is not None and _takes_apart(source, first):
        whole = _finish(_sketch(source, found.machine), split=split)
        is_faster = False
        with optional("the faster schedule", BUDGET, part=MOST):
            own, apart = seconds(whole), seconds(first)
            is_same = own / SAME <= apart <= SAME * own
            is_faster = apart > SURE * own or (is_same and _is_chosen_by_data(source.scop))
        if is_faster:
            yield whole
    yield first


def _is_chosen_by_data(scop: Scop) -> bool:
    """Tell whether data choose which elements some statement reads."""
    return not all(read.exact for statement in scop.statements for read in statement.reads)


def _takes_apart(source: Schedule, found: Schedule) -> bool:
    """Tell whether nests of the source became several, without products being gained."""
    are_more = len(outer_bands(found.tree)) > len(outer_bands(source.tree))
    return are_more and not count_tiled_contractions(found)


def _beside(carried: Schedule, source: Schedule, machine: Machine, *, split: bool) -> Schedule:
    """Return `carried` with the nests that `source` has, too, finished."""
    if len(outer_bands(carried.tree)) == 1:
        return carried
    sketch = _sketch(carried, machine)
    settled = sketch.settled | new_labels(source, carried)
    return _finish(replace(sketch, settled=settled), split=split)


def _or_same(stage: Callable[[Schedule], Schedule | None], schedule: Schedule) -> Schedule:
    return stage(schedule) or schedule


def _with_rows(source: Schedule, found: State, machine: Machine) -> State | None:
    """Return a sketch in which copies of rows make more products than `found` has, or None."""
    affine = Affine(Fusion.MIN)
    for expand in (expand_rows, partial(expand_rows, whole=True)):
        rows = within_budget("copies of rows", source, partial(_or_same, expand))
        if rows is not source:
            moved = within_budget(str(affine), rows, lambda s: s.attempt(affine) or s)
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
    fused = within_budget(str(affine), source, lambda s: s.attempt(affine) or s)
    if fused is not source:
        yield _improve(fused, machine)


def _improve(start: Schedule, machine: Machine) -> Schedule:
    """Return `start` fused, tiled, parallel outside and vectorized inside."""
    return _finish(_sketch(start, machine))


def _sketch(start: Schedule, machine: Machine) -> State:
    """Return `start` with products and sums tiled: enough to choose which one to finish."""
    state = run(SUMS, run(ORDER, State.of(start, machine)))
    tree = state.schedule.tree
    return replace(state, settled=new_labels(state.begun, state.schedule) | marked(tree))


def _finish(sketch: State, *, split: bool = True) -> Schedule:
    """Return a sketch's schedule fused, parallel outside and vectorized inside.

    `split`: sums over whole nests get partial results.
    """
    return run(NESTS, replace(sketch, split=split)).schedule


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
