"""A kernel in a few facts: what each nest does, how long it takes, and why it is no faster.

In: what a compilation made, sizes, a machine and its rates.  Out: a `Summary`; `summary_text` and
`summary_html` show it.
Products that a BLAS library would compute sooner than its loops.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import cached_property

import islpy as isl

from polyopt.dataclass import dataclass, replace
from polyopt.errors import BudgetError, PolyoptError, ScheduleError
from polyopt.ir.blas import LibraryProduct
from polyopt.ir.budget import Budget, query
from polyopt.ir.interp import fix_params
from polyopt.ir.loops import For, Kernel, LoopFunction
from polyopt.ir.nodes import all_nodes
from polyopt.ir.parameters import param_names
from polyopt.ir.program import Program, all_parts
from polyopt.ir.scop import Scop, Statement
from polyopt.machine import Machine, Rates
from polyopt.model.amount import amount
from polyopt.model.library import LibraryTime, library_time
from polyopt.model.nests import Nest, nests
from polyopt.report.blockers import blocker, is_free, lift, region_text
from polyopt.report.cost import show_time
from polyopt.report.names import Names, lines_text, loop_name, statement_line
from polyopt.report.nests import Loop, loops_of
from polyopt.report.roles import roles_of, tiles_of
from polyopt.schedule import Schedule, source_schedule
from polyopt.schedule.large_parts import schedule_in_source_order
from polyopt.transforms.library import Library

SHOWN = 6
"""Nests that a summary is about, those that take longest."""
MOST_LIFTS = 4
SECONDS = 20.0  # for all reasons together
SERIAL = "serial"
SOONER = 1.1  # a library that is predicted to be faster by less is not worth a word
WORTH = 0.01  # of the time: a smaller loss is none

LIMITS = {
    "arithmetic": "compute",
    "instructions": "the number of instructions",
    "branches": "branches at the ends of loops",
    "latency": "the latency of operations that wait for each other",
    "L1": "L1 bandwidth",
    "L2": "L2 bandwidth",
    "L3": "L3 bandwidth",
    "memory": "memory bandwidth",
}


@dataclass(frozen=True, slots=True)
class NestFacts:
    """A nest in words; `seconds` is None where nothing is predicted."""

    number: int
    where: str
    around: tuple[str, ...]
    seconds: float | None
    share: float
    limit: str
    parallel: tuple[str, ...]
    vector: tuple[str, ...]
    tiles: tuple[tuple[str, tuple[int, ...]], ...]
    fused: str
    lacks: tuple[str, ...]
    calls: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a loop is not parallel, or not in vectors; `loss` is what that costs, in seconds."""

    what: str
    why: str
    loss: float
    lift: str = ""


@dataclass(frozen=True, eq=False, slots=True)
class _Question:
    """A loop, what it is not, the seconds that costs, and what would save them."""

    loop: Loop
    what: str
    loss: float
    means: str = ""

    def joined(self, other: _Question) -> _Question:
        """Return the question that costs more, with both losses."""
        return replace(max(self, other, key=lambda one: one.loss), loss=self.loss + other.loss)


@dataclass(frozen=True, slots=True)
class Summary:
    """All of it; `nests` are the `SHOWN` slowest of `count`, `reasons` those with most loss first.

    `rest` are the seconds of the nests that are not shown.
    """

    name: str
    place: str
    target: str
    sizes: str
    cores: int
    is_measured: bool
    is_guess: bool
    seconds: float | None
    nests: tuple[NestFacts, ...]
    count: int
    rest: float
    reasons: tuple[Reason, ...]


@dataclass(frozen=True, eq=False)
class Subject:
    """What a summary is about."""

    program: Program
    schedules: tuple[Schedule, ...]
    loops: LoopFunction
    names: Names
    target: str
    threads: int | None
    sizes: Mapping[str, int]
    machine: Machine
    rates: Rates
    in_lanes: Callable[[For], bool]

    @property
    def named_sizes(self) -> Mapping[str, int]:
        """The sizes that the loops depend on."""
        return {name: self.sizes[name] for name in self.loops.params if name in self.sizes}

    @property
    def is_alone(self) -> bool:
        """Whether there is one thread only."""
        return self.machine.cores <= 1 or self.threads == 1

    @property
    def is_host(self) -> bool:
        """Whether the loops run on the processor that the predictions are of."""
        return not any(isinstance(node, Kernel) for node in all_nodes(self.loops.body))

    @cached_property
    def nests(self) -> tuple[Nest, ...]:
        """The nests of the final loops."""
        values = {name: amount(self.sizes.get(name, 1)) for name in self.loops.params}
        return nests(self.loops, values, self.machine, self.rates, self.in_lanes)

    @cached_property
    def statements(self) -> Mapping[str, Statement]:
        """The statements of the program by name."""
        return {s.name: s for scop in self.program.scops for s in scop.statements}

    @cached_property
    def sources(self) -> tuple[Schedule, ...]:
        """The source's order of every part."""
        return tuple(map(source_of, self.schedules, self.program.scops))

    @cached_property
    def source_loops(self) -> tuple[Loop, ...]:
        """The loops of the source, outermost first."""
        return loops_of(self.program, self.sources)

    @cached_property
    def parts(self) -> Mapping[str, int]:
        """The number of the static control part of each statement."""
        return {s.name: n for n, scop in enumerate(self.program.scops) for s in scop.statements}


def source_of(schedule: Schedule, scop: Scop) -> Schedule:
    """Return the order of the source; without dependences where these take too long."""
    first = schedule.history()[0]
    if not first.trace:
        return first
    try:
        with query("the order of the source", part=0.5):
            return source_schedule(scop)
    except BudgetError:
        return schedule_in_source_order(scop)


def summarize(subject: Subject) -> Summary:
    """Return the summary; what takes too long to find out is left out."""
    budget = Budget(SECONDS)
    with budget.running():
        return _summarize(subject, budget)


def _summarize(subject: Subject, budget: Budget) -> Summary:
    timed = subject.is_host
    ranked = sorted(subject.nests, key=lambda nest: -nest.seconds)
    total = sum(nest.seconds for nest in ranked)
    shown = ranked[:SHOWN] if timed else list(subject.nests[:SHOWN])
    number = {nest: n for n, nest in enumerate(subject.nests, start=1)}
    facts = tuple(nest_facts(subject, number[nest], nest, total) for nest in shown)
    reasons: list[Reason] = []
    with suppress(BudgetError):
        reasons = _reasons(subject, shown, total, budget)
    first = next((s.loc for s in subject.statements.values() if s.loc is not None), None)
    place = "" if first is None else subject.names.place(first).rpartition(":")[0]
    return Summary(
        subject.program.name,
        f"{place}:{subject.program.line}" if place else "",
        subject.target,
        subject.names.sizes(subject.named_sizes),
        subject.machine.cores if subject.threads is None else subject.threads,
        subject.rates.is_measured,
        any(nest.prediction.is_guess for nest in ranked),
        total if timed else None,
        facts,
        len(ranked),
        sum(nest.seconds for nest in ranked[SHOWN:]) if timed else 0.0,
        tuple(reasons),
    )


def nest_facts(subject: Subject, number: int, nest: Nest, total: float) -> NestFacts:
    """Return what there is to say about one nest; `total` are the seconds of all."""
    roles = roles_of(nest, subject.statements)
    inside = [subject.statements[name] for name in nest.statements if name in subject.statements]
    lines = [line for s in inside if (line := statement_line(s)) is not None]
    tiles: dict[str, list[int]] = {}
    for part in dict.fromkeys(subject.parts[s.name] for s in inside):
        tiles |= tiles_of(subject.schedules[part], nest.statements, subject.statements)
    calls = tuple(subject.program.signature.library[call.site].function for call in nest.calls)
    return NestFacts(
        number,
        lines_text(lines) if lines else "",
        tuple(_around(subject, nest)),
        nest.seconds if subject.is_host else None,
        nest.seconds / total if total > 0 else 0.0,
        LIMITS.get(nest.prediction.binding.name, nest.prediction.binding.name),
        roles.parallel if nest.is_parallel else (),
        roles.vector if nest.is_vector else (),
        tuple((name, tuple(sizes)) for name, sizes in tiles.items()),
        _fused(subject, inside),
        tuple(_missing(subject, nest)),
        calls,
    )


def _missing(subject: Subject, nest: Nest) -> Iterator[str]:
    """Yield that a nest is not parallel, that it has no vectors, and whether these would pay."""
    small = WORTH * nest.seconds
    if nest.is_library:
        yield "by a BLAS library"
    elif subject.is_host:
        yield from _sooner(subject, nest)
    if not nest.is_parallel:
        why = " (one thread)" if subject.is_alone else " (threads would not pay)"
        pays = subject.is_host and not subject.is_alone and parallel_loss(nest) > small
        yield f"not parallel{'' if pays or not subject.is_host else why}"
    if not nest.is_vector and subject.is_host:
        yield f"no vectors{'' if vector_loss(nest) > small else ' (would not pay)'}"


def _sooner(subject: Subject, nest: Nest) -> Iterator[str]:
    """Yield that a library is predicted to compute a product of a nest in less time."""
    if len(subject.schedules) != len(subject.sources):
        return
    for part in dict.fromkeys(subject.parts[s] for s in nest.statements if s in subject.parts):
        own = tuple(name for name in nest.statements if subject.parts.get(name) == part)
        found = products_of(
            own, subject.sources[part], subject.sizes, subject.machine, subject.rates
        )
        for step, time in found:
            if time.seconds < nest.seconds / SOONER:
                yield f"a BLAS library would take {show_time(time.seconds)}: {step}"


def _around(subject: Subject, nest: Nest) -> Iterator[str]:
    """Yield the user's names for the loops around a nest."""
    regions = {loop.name: loop for loop in _regions(subject, nest)}
    whiles = [loop for loop in regions.values() if _is_while(loop)]
    for loop in nest.around:
        if not isinstance(loop, For):
            yield loop_name(subject.names, whiles.pop(0)) if whiles else "a while loop"
        else:
            known = regions.get(loop.iter) or _named(subject, nest, loop.iter)
            yield loop_name(subject.names, known)


def _regions(subject: Subject, nest: Nest) -> Iterator[Loop]:
    """Yield the loops around static control parts that run a nest in order."""
    ordered = {loop.iter for loop in nest.around if isinstance(loop, For)}
    for loop in subject.source_loops:
        if loop.region is not None and (loop.name in ordered or _is_while(loop)):
            scops = [part for part in all_parts(loop.region.body) if isinstance(part, Scop)]
            if any(s.name in nest.statements for scop in scops for s in scop.statements):
                yield loop


def _is_while(loop: Loop) -> bool:
    return loop.region is not None and loop.region.upper is None


def _named(subject: Subject, nest: Nest, name: str) -> Loop:
    """Return the source's loop around a nest whose variable is called `name`."""
    for loop in subject.source_loops:
        if loop.name == name and any(own in nest.statements for own in loop.statements):
            return loop
    return Loop(name, -1)


def _fused(subject: Subject, inside: list[Statement]) -> str:
    """Return the lines whose loops of their own became one nest, "" if there is one."""
    homes: dict[str, str] = {}
    for loop in subject.source_loops:
        homes |= dict.fromkeys(loop.statements, f"{loop.part} {loop.label}")
    merged = [s for s in inside if s.name in homes]
    if len({homes[s.name] for s in merged}) < 2:
        return ""
    return lines_text([line for s in merged if (line := statement_line(s)) is not None])


def _reasons(subject: Subject, shown: list[Nest], total: float, budget: Budget) -> list[Reason]:
    """Return why loops are not parallel and not in vectors, the greatest loss first."""
    asked: dict[tuple[int, str], _Question] = {}
    for nest in shown:
        for one in _questions(subject, nest):
            key = (one.loop.part, one.loop.reference)
            asked[key] = one if key not in asked else one.joined(asked[key])
    found: list[Reason] = []
    for one in sorted(asked.values(), key=lambda one: -one.loss):
        lifts = sum(bool(reason.lift) for reason in found) < MOST_LIFTS
        with suppress(PolyoptError), budget.part("a reason", 0.3):
            reason = _reason(subject, one, lifts and one.loss > total * WORTH)
            found += [] if reason is None else [reason]
    return found


def _questions(subject: Subject, nest: Nest) -> Iterator[_Question]:
    """Yield the loops in order around a nest, then what its own loops lack."""
    roles = roles_of(nest, subject.statements)
    yield from (_Question(loop, SERIAL, 0.0) for loop in _regions(subject, nest))
    own: list[Loop] = []
    for loop in subject.source_loops:
        inside = [name for name in loop.statements if name in nest.statements]
        if any(loop.depth in roles.within.get(name, ()) for name in inside):
            own.append(loop)
        elif inside and not is_free(subject.sources[loop.part], loop):
            yield _Question(loop, SERIAL, 0.0)
    if own and subject.is_host:
        yield from _lacks(subject, nest, own)


def _lacks(subject: Subject, nest: Nest, own: list[Loop]) -> Iterator[_Question]:
    """Yield the loops of a nest that should be parallel or in vectors, and are not."""
    free = [loop for loop in own if is_free(subject.sources[loop.part], loop)]
    if nest.is_parallel or subject.is_alone:
        yield from (_Question(loop, SERIAL, 0.0) for loop in own if loop not in free)
    else:
        outer = min(free or own, key=lambda loop: loop.depth)
        yield _Question(outer, "not parallel", parallel_loss(nest), "threads")
    if not nest.is_vector:
        inner = max(own, key=lambda loop: loop.depth)
        yield _Question(inner, "not in vectors", vector_loss(nest), "vectors")


def parallel_loss(nest: Nest) -> float:
    """Return the seconds that threads would save."""
    return 0.0 if nest.if_parallel is None else nest.seconds - nest.if_parallel


def vector_loss(nest: Nest) -> float:
    """Return the seconds that vectors would save."""
    return 0.0 if nest.if_vector is None else nest.seconds - nest.if_vector


def _reason(subject: Subject, asked: _Question, lifts: bool) -> Reason | None:
    loop = asked.loop
    name = loop_name(subject.names, loop)
    place = f" ({subject.names.place(loop.place)})" if name.startswith("loop ") else ""
    head = f"{name}{place} is {asked.what}"
    if loop.region is not None:
        return Reason(head, region_text(subject.names, loop.region), asked.loss)
    source = subject.sources[loop.part]
    found = blocker(source, loop, subject.names)
    if found is None:
        why = f"nothing blocks it; {asked.means} were not judged to pay"
        return Reason(head, why, asked.loss) if asked.loss > 0 else None
    if asked.loss <= 0 and (found.is_sum or loop.loc is None):
        return None
    advice = lift(source, loop, lanes=asked.means == "vectors") if lifts else ""
    return Reason(head, found.text, asked.loss, advice)


def products_of(
    statements: tuple[str, ...],
    source: Schedule,
    sizes: Mapping[str, int],
    machine: Machine,
    rates: Rates,
) -> Iterator[tuple[Library, LibraryTime]]:
    """Yield the steps that hand statements to a library, and the time of all of its calls."""
    for name in statements:
        step = Library(name)
        with suppress(ScheduleError):
            product = step.product(source.tree, source.scop)
            lengths = _lengths(source.scop, name, product, sizes)
            if lengths is not None:
                rows, columns, terms = lengths
                dtype = product.target.dtype
                yield step, library_time(rows, columns, terms, dtype, machine, rates)


def _lengths(
    scop: Scop, name: str, product: LibraryProduct, sizes: Mapping[str, int]
) -> tuple[int, int | None, int] | None:
    """Return the lengths of rows, columns and terms; None where a loop is around the product."""
    statement = scop.statement(name)
    if not sizes.keys() >= set(param_names(statement.domain)):
        return None
    domain = fix_params(statement.domain, sizes)
    wanted = (product.rows, product.columns, product.terms)
    if set(statement.iters) != {one for one in wanted if one} or domain.is_empty():
        return None
    found = [None if one is None else _length(domain, statement.iters.index(one)) for one in wanted]
    rows, columns, terms = found
    assert rows is not None
    assert terms is not None
    return rows, columns, terms


def _length(box: isl.Set, place: int) -> int:
    last, first = box.dim_max_val(place), box.dim_min_val(place)
    return int(last.sub(first).to_python()) + 1
