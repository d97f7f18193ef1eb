"""The stages of a compilation, in order.

In: a `Program`, options, a machine.  Out: `Compilation` with every stage's value and time.
`after_stage` sees each value as it is made, to dump it or to verify it.
An automatic schedule whose loops take too long to make gives way to the source's order.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cached_property, partial
from typing import TypeAlias, TypeVar

from polyopt import emit, schedule, strategy
from polyopt.dataclass import dataclass, field, replace
from polyopt.emit.lower import lower, outgrowing
from polyopt.emit.text import emit as print_loops
from polyopt.errors import BudgetError, EmitError, PolyoptError, ScheduleError
from polyopt.ir.budget import Budget, Cost, Dropped, note_dropped, optional, query
from polyopt.ir.host import DeviceProgram, Emitted
from polyopt.ir.loops import LoopFunction
from polyopt.ir.program import Program, inner_scops
from polyopt.ir.scop import Scop
from polyopt.machine import Machine
from polyopt.proof import Certificate
from polyopt.proving import Form, first_proven, holds_elements, plain_loops, sequential
from polyopt.schedule import Schedule, source_schedule
from polyopt.targets import FUSED, FpMode, Options, Target, seconds_to_compile
from polyopt.transforms import parse_schedules, refuse_mapped, show_schedules

LOWER_BUDGET = 10_000_000
"""isl operations that making a schedule's loops may take; a second is about three million."""
LONGEST = 2_000_000
"""Characters of C; a million takes a compiler minutes and gigabytes."""
FEWEST = 64  # statements that may be scheduled in several parts
MANY = 3  # static control parts: of more, each may use a third of `MOST`
MOST = 0.8  # of the time that is left, for what can be done without

AfterStage: TypeAlias = Callable[[str, object], None]
Expect: TypeAlias = Callable[[Emitted], None]
_Value = TypeVar("_Value")


@dataclass(frozen=True, eq=False)
class Compilation:
    """What each stage made; `timings` in seconds by the stage's name.

    `dropped` names what the budget did not suffice for, `costs` what each kind of question took.
    `written` is the program as the front end read it, which `certificate` is about.
    """

    program: Program
    schedules: tuple[Schedule, ...]
    loops: LoopFunction
    source: Emitted
    timings: dict[str, float]
    dropped: tuple[Dropped, ...] = ()
    costs: dict[str, Cost] = field(default_factory=dict)
    written: Program | None = None
    certificate: Certificate | None = None

    def without(self, what: str, error: PolyoptError) -> Compilation:
        """Return the same, with something more that was left out."""
        return replace(self, dropped=(*self.dropped, Dropped(what, error.message, error.code)))

    @property
    def schedule(self) -> Schedule:
        """The schedule of a program that is one static control part; raises `ScheduleError`."""
        return only_schedule(self.program, self.schedules)

    @property
    def schedule_text(self) -> str:
        """The steps of all schedules in the language of `with_schedule`."""
        return show_schedules(self.schedules)


def compile_program(
    program: Program,
    options: Options,
    machine: Machine,
    after_stage: AfterStage | None = None,
    budget: Budget | None = None,
    expect: Expect | None = None,
) -> Compilation:
    """Schedule, lower and emit `program` within the time that `budget` leaves.

    What takes too long is left out, and named in `dropped`; raises `BudgetError` where nothing is
    left that would be code.  `expect` gets the text that results if the fastest loops are proven,
    before they are: for what can be begun with it and thrown away.
    """
    meter = budget or Budget(seconds_to_compile(options))
    with meter.running():
        target = machine_for(options, machine)
        return _compile(program, options, target, after_stage, meter, expect)


def _compile(
    program: Program,
    options: Options,
    target: Machine,
    after_stage: AfterStage | None,
    budget: Budget,
    expect: Expect | None,
) -> Compilation:
    stage = _Stages(budget, after_stage)
    program = with_mode(_speculated(program), options)
    settled = in_parts(program, options)
    if not settled.is_static:
        whole = settled
        settled = stage("regions", lambda: _settled(whole))
    schedules = stage("schedule", lambda: choose_schedules(settled, options, target))
    try:
        lowered = stage("lower", lambda: _lowered(schedules, settled, options))
    except BudgetError as error:
        if options.schedule is not None:
            raise
        note_dropped("the automatic schedule", error)
        schedules = stage("schedule", lambda: tuple(map(_source, settled.scops)))
        lowered = stage("lower", lambda: bounded_lower(schedules, settled))
    forms = stage("optimize", lambda: _forms(lowered, options, target))
    if (simple := Simple(settled, options)).is_wanted:
        forms.append(Form("kernels without copies", simple.make))
    scheduled = len(forms)
    if options.schedule is None:
        written = partial(_as_written, program, options)
        forms.append(Form("local values", written))
        forms.append(Form("the order of the source", partial(written, moves=False)))
    text = _Text(stage, options.target, program)
    if expect is not None:
        text.announce(forms[0], expect)
    proven = stage("certificate", lambda: first_proven(program, forms))
    _check_memory(proven.loops, settled, options, target)
    if proven.position >= scheduled:
        schedules = tuple(map(_source, program.scops))
    elif simple.is_wanted and proven.position == scheduled - 1:
        schedules = simple.schedules
    source = text.of(proven.loops)
    dropped = tuple(dict.fromkeys(budget.dropped))
    return Compilation(
        settled, schedules, proven.loops, source, stage.timings, dropped, budget.costs, program,
        proven.certificate,
    )  # fmt: skip


class _Stages:
    """Runs each stage in its share of the time; `timings` are seconds."""

    def __init__(self, budget: Budget, after_stage: AfterStage | None) -> None:
        self.timings: dict[str, float] = {}
        self._budget, self._after_stage = budget, after_stage

    def __call__(self, name: str, make: Callable[[], _Value]) -> _Value:
        """Return what a stage makes."""
        start = time.perf_counter()
        try:
            with self._budget.share(name):
                value = make()
        finally:
            self.timings[name] = self.timings.get(name, 0.0) + time.perf_counter() - start
        if self._after_stage is not None:
            self._after_stage(name, value)
        return value


class _Text:
    """The text of loops, printed once for the same loops."""

    def __init__(self, stage: _Stages, target: Target, program: Program) -> None:
        self._stage, self._target, self._program = stage, target, program
        self._known: tuple[LoopFunction, Emitted] | None = None

    def of(self, loops: LoopFunction) -> Emitted:
        """Return the text of `loops`."""
        if self._known is None or self._known[0] is not loops:
            text = self._stage("emit", lambda: _emitted(loops, self._target, self._program))
            self._known = loops, text
        return self._known[1]

    def announce(self, form: Form, expect: Expect) -> None:
        """Tell `expect` the text of a form; what is wrong with it is told once it is proven."""
        with suppress(PolyoptError):
            expect(self.of(form.make()))


def _lowered(schedules: Sequence[Schedule], program: Program, options: Options) -> LoopFunction:
    """Return the loops; those of a processor keep what an iteration needs by thread."""
    by_thread, at_call = _threads_own(options)
    if options.schedule is not None and by_thread:
        refuse_mapped(schedules, options.schedule)
    return bounded_lower(schedules, program, by_thread=by_thread, at_call=at_call)


def _threads_own(options: Options) -> tuple[bool, bool]:
    """Return whether threads may have temporaries of their own, and of extents of the call only."""
    return options.target.is_host, options.threads == 1


def _forms(lowered: LoopFunction, options: Options, machine: Machine) -> list[Form]:
    """Return the loops in the forms that may run, the fastest first; the first one is made."""
    if not options.target.is_host:
        return _device_forms(lowered, options)
    run = sequential if options.threads == 1 else lambda loops: loops
    chosen = run(emit.conditional_stores.choose_stores(lowered, machine))
    loops = emit.optimize_loops(chosen, machine, options.fp.value)
    forms = [Form("optimized loops", lambda: loops)]
    forms.append(Form("threads", lambda: plain_loops(run(lowered))))
    started = emit.starts.start_sums(loops) if holds_elements(loops) else loops
    return forms if started is loops else [Form("started sums", lambda: started), *forms]


def _device_forms(lowered: LoopFunction, options: Options) -> list[Form]:
    """Return kernels; where nobody asked for their pipelines and instructions, also without."""
    automatic, target = options.schedule is None, options.target
    variants = [("kernels", lowered)]
    if automatic and emit.gpu.pipelines.has_pipelines(lowered):
        variants.append(("copies in turn", emit.gpu.pipelines.without_pipelines(lowered)))
    if automatic and emit.gpu.matrix.has_matrices(lowered):
        plain = emit.gpu.matrix.without_matrices(emit.gpu.pipelines.without_pipelines(lowered))
        variants.append(("no matrix instructions", plain))
    for position, (name, loops) in enumerate(variants[:-1], start=1):
        try:
            kernels = _kernels(loops, target)
        except EmitError as error:
            what = "matrix instructions" if error.code == "PO0410" else "copies ahead"
            note_dropped(what, error)
            continue
        later = [
            Form(other, partial(_kernels, loops, target)) for other, loops in variants[position:]
        ]
        return [_made(name, kernels), *later]
    name, loops = variants[-1]
    return [_made(name, _kernels(loops, target))]


def _made(name: str, loops: LoopFunction) -> Form:
    return Form(name, lambda: loops)


class Simple:
    """The form of a device's kernels that is quick to prove: loops on grids, no array moved."""

    def __init__(self, program: Program, options: Options) -> None:
        self.program = program
        self.options = options
        self.target = options.target
        self.is_wanted = options.schedule is None and not options.target.is_host

    @cached_property
    def schedules(self) -> tuple[Schedule, ...]:
        """A schedule for each static control part."""
        return tuple(
            strategy.gpu.auto_schedule_gpu(
                scop,
                strategy.gpu.GpuModel(shared=0),
                partial(_outgrowing, program=self.program, scop=scop, options=self.options),
            )
            for scop in self.program.scops
        )

    def make(self) -> LoopFunction:
        """Return the loops."""
        return _kernels(bounded_lower(self.schedules, self.program), self.target)


def _emitted(loops: LoopFunction, target: Target, program: Program) -> Emitted:
    """Return the text; raises `BudgetError` PO0706 for one that no compiler ends with."""
    source = print_loops(loops, target.value)
    if len(source.text) > LONGEST:
        raise BudgetError(
            "PO0706",
            f"`{loops.name}` would be {len(source.text)} characters of code, more than {LONGEST}",
            hint="unroll less, tile fewer times, or split the function",
        )
    if isinstance(source, DeviceProgram):
        return replace(source, overwritten=tuple(sorted(schedule.liveness.overwritten(program))))
    return source


def _as_written(program: Program, options: Options, *, moves: bool = True) -> LoopFunction:
    """Return the loops of the source in its own order, run by one thread.

    Without `moves` its values stay in its own arrays, and no loop is taken apart.
    """
    schedules = tuple(map(_source, program.scops))
    lowered = sequential(bounded_lower(schedules, program, moves=moves))
    return plain_loops(lowered) if options.target.is_host else _kernels(lowered, options.target)


def _kernels(lowered: LoopFunction, target: Target) -> LoopFunction:
    """Return the loops with all that touches arrays in kernels."""
    return emit.device_loops(lowered, conditional=target.conditional)


def _settled(program: Program) -> Program:
    """Return `program` with its regions judged, or as it is when that takes too long."""
    with optional("parallel regions"):
        return schedule.regions.settle_regions(program)
    return program


def prepared(program: Program, options: Options) -> Program:
    """Return `program` as it is scheduled: with what the mode leaves open, in parts."""
    settled = in_parts(with_mode(_speculated(program), options), options)
    return schedule.regions.settle_regions(settled)


def in_parts(program: Program, options: Options) -> Program:
    """Return `program` with what is too large to be scheduled at once in several parts."""
    is_small = all(len(scop.statements) < FEWEST for scop in program.scops)
    if is_small or not options.target.is_host:
        return program
    return schedule.large_parts.split_large(program)


def _speculated(program: Program) -> Program:
    """Return `program` with scalars that conditions set made in each iteration anew."""
    if all(s.guard is None for scop in program.scops for s in scop.statements):
        return program
    program = schedule.speculation.with_speculated_scalars(program)
    return schedule.definite_assignment.with_set_scalars(program)


def with_mode(program: Program, options: Options) -> Program:
    """Return `program` with what the mode leaves open: orders of sums, roundings of terms."""
    program = schedule.forwarded_elements.with_forwarded_elements(program)
    if options.fp is FpMode.STRICT:
        return program
    is_c = options.target.is_host
    program = schedule.reductions.reassociated(program, choices=True)
    program = schedule.float32_functions.with_float32_functions(program)
    rounds = options.fp is FpMode.FAST and not is_c
    halves = any(array.dtype.is_half for scop in program.scops for array in scop.arrays)
    if is_c or not (rounds or halves):  # matrix instructions multiply whole tiles
        program = schedule.masked_terms.with_masked_terms_left_out(program)
    program = schedule.deferred_divisions.with_deferred_divisions(program)
    if is_c:
        program = schedule.inplace.with_sums_in_place(schedule.powers.with_products(program))
        program = schedule.reciprocals.with_reciprocals(schedule.scales.with_scaled_rows(program))
    program = schedule.carried_sums.with_carried_sums(program)
    program = schedule.fusible_products.with_fusible_products(program)
    return schedule.reductions.rounding(program) if rounds else program


def bounded_lower(
    schedules: Sequence[Schedule],
    program: Program,
    *,
    moves: bool = True,
    by_thread: bool = False,
    at_call: bool = False,
) -> LoopFunction:
    """Return the loops of `schedules`; raises `BudgetError` when making them takes too long."""
    with query("making loops", LOWER_BUDGET):
        return lower(schedules, program, moves=moves, by_thread=by_thread, at_call=at_call)


def machine_for(options: Options, machine: Machine) -> Machine:
    """Return the machine as the options let it be used."""
    return machine if options.threads is None else replace(machine, cores=options.threads)


def choose_schedules(program: Program, options: Options, machine: Machine) -> tuple[Schedule, ...]:
    """Return the schedules the options ask for, proven, one for each static control part."""
    match options.schedule:
        case None if options.memory is not None and options.target.is_host:
            return _within_memory(program, options, machine)
        case None:
            shares = [MOST / min(number, MANY) for number in range(len(program.scops), 0, -1)]
            pairs = zip(program.scops, shares, strict=True)
            return tuple(_automatic(program, scop, machine, options, part) for scop, part in pairs)
        case "source":
            return tuple(map(_source, program.scops))
        case name if name == FUSED:
            sources = map(source_schedule, program.scops)
            return tuple(map(partial(strategy.recomputation.fused, options.target), sources))
        case text:
            return parse_schedules(tuple(map(source_schedule, program.scops)), text)


def _within_memory(program: Program, options: Options, machine: Machine) -> tuple[Schedule, ...]:
    """Return schedules whose temporaries take at most `options.memory` bytes.

    Raises `ScheduleError` PO0708 where none was found, PO0709 where the bytes are not known.
    """

    def peak(schedules: tuple[Schedule, ...]) -> tuple[int, tuple[str, ...]]:
        lowered = _lowered(schedules, program, options)
        return _peak(_forms(lowered, options, machine)[0].make(), program, options, machine)

    def scheduled(sources: tuple[Schedule, ...]) -> tuple[Schedule, ...]:
        pairs = zip(program.scops, sources, strict=True)
        return tuple(_automatic(program, s, machine, options, source=one) for s, one in pairs)

    sources = tuple(map(source_schedule, program.scops))
    return strategy.memory_budget.within_memory(sources, scheduled, peak, options.memory or 0)


def _check_memory(
    loops: LoopFunction, program: Program, options: Options, machine: Machine
) -> None:
    """Raise `ScheduleError` PO0708 where temporaries take more than `options.memory` bytes."""
    if options.memory is not None:
        taken = _peak(loops, program, options, machine)
        if taken[0] > options.memory:
            raise strategy.memory_budget.too_large(options.memory, taken, program.scops)


def _peak(
    loops: LoopFunction, program: Program, options: Options, machine: Machine
) -> tuple[int, tuple[str, ...]]:
    """Return the bytes of temporaries and their names; raises `ScheduleError` PO0709."""
    return emit.peaks.planned_peak(loops, program, options.threads or machine.cores)


def _automatic(
    program: Program,
    scop: Scop,
    machine: Machine,
    options: Options,
    part: float = 1.0,
    source: Schedule | None = None,
) -> Schedule:
    """Return the automatic schedule of a part of `program`, made in a part of the time left.

    Statements without loops have nothing to choose; what cannot be analysed in time runs as
    written.
    """
    with optional("the automatic schedule", part=part):
        if not any(statement.iters for statement in scop.statements):
            return source_schedule(scop)
        large = partial(_outgrowing, program=program, scop=scop, options=options)
        if options.target.is_host:
            lowered = partial(bounded_lower, program=program)
            seconds = partial(strategy.predicted_seconds, lowered, machine)
            return strategy.auto_schedule(
                scop, machine, is_inner=id(scop) in inner_scops(program), outgrowing=large,
                is_part=not program.is_static, source=source,
                seconds=seconds if len(program.scops) == 1 else None,
            )  # fmt: skip
        model = strategy.gpu.GpuModel.of(options.target)
        return strategy.gpu.auto_schedule_gpu(scop, model, large)
    return schedule.large_parts.schedule_in_source_order(scop)


def _outgrowing(
    schedule: Schedule, program: Program, scop: Scop, options: Options
) -> frozenset[str]:
    """Return the temporaries of a schedule that take more memory than the program's own arrays."""
    by_thread, at_call = _threads_own(options)
    with query("making loops", LOWER_BUDGET):
        return outgrowing(schedule, program, scop, by_thread=by_thread, at_call=at_call)


def fits(schedule: Schedule, program: Program, scop: Scop, options: Options) -> bool:
    """Tell whether no temporary of a part's schedule outgrows the program's own arrays.

    A schedule whose loops take too long to make does not fit.
    """
    try:
        return not _outgrowing(schedule, program, scop, options)
    except BudgetError:
        return False


def _source(scop: Scop) -> Schedule:
    """Return the order of the source, with dependences if there is time for them."""
    with optional("private scalars", part=MOST):
        return source_schedule(scop)
    return schedule.large_parts.schedule_in_source_order(scop)


def only_schedule(program: Program, schedules: tuple[Schedule, ...]) -> Schedule:
    """Return the schedule of a program that is one static control part; raises `ScheduleError`."""
    if len(schedules) == 1:
        return schedules[0]
    raise ScheduleError(
        "PO0325",
        f"`{program.name}` has {len(schedules)} static control parts, each with its own schedule",
        hint="ask for `schedules`; in a schedule's text `part(1)` says which part follows",
    )
