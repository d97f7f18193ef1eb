"""List the events of the loops: accesses of their iterations, and their counterparts in the source.

In: the runs and how each computes its statement.  Out: `Event`s, `run:n` for the write of run
number n and `run:n:k` for its reads, and the tags that map them to events of the source.
Refuses (`Unproven`, `NotAffine`): data-dependent elements in other storage.
"""

from __future__ import annotations

import islpy as isl

from polyopt.dataclass import dataclass, field
from polyopt.ir.expr import (
    BinaryOp,
    Const,
    Expr,
    Load,
    Symbol,
    Unary,
    UnaryOp,
    integer,
    loads,
    walk,
)
from polyopt.ir.extremum import Update, chosen, update_by
from polyopt.ir.scop import Access, AccessKind, Statement
from polyopt.ir.types import DType
from polyopt.proof.accesses import Copies, Unproven, own_element
from polyopt.proof.events import (
    OLD,
    Effect,
    Event,
    UnorderedSums,
    at_time,
    is_accumulator,
    may_leave,
)
from polyopt.proof.paths import Holds, Path
from polyopt.proof.reading import Run, RunTree, runs_with_times
from polyopt.proof.sharing import Use
from polyopt.proof.source import SourcePart
from polyopt.proof.values import Match

_IN, _OUT = isl.dim_type.in_, isl.dim_type.out
Time = tuple[Expr, ...]


@dataclass(eq=False)
class LoopEvents:
    """The events of the loops.

    `writes` and `reads` are tags, event of the loops -> event of the source.  `copies` and `joins`
    map the write of a run without a statement to the read that it copies or adds; `starts` are
    constants, by the name of their event.  `uses` are all accesses.
    """

    part: SourcePart
    events: list[Event] = field(default_factory=list)
    uses: list[Use] = field(default_factory=list)
    writes: list[isl.Map] = field(default_factory=list)
    reads: list[isl.Map] = field(default_factory=list)
    copies: list[isl.Map] = field(default_factory=list)
    joins: dict[BinaryOp, list[isl.Map]] = field(default_factory=dict)
    starts: dict[str, Const] = field(default_factory=dict)


class LoopReader:
    """Collects the events of a nest."""

    def __init__(
        self,
        part: SourcePart,
        nest: RunTree,
        matches: dict[int, Match],
        sums: UnorderedSums,
        watched: frozenset[str],
    ) -> None:
        self.part = part
        self.matches = matches
        self.sums = sums
        self.watched = watched
        self.places = Copies(part, nest)
        self.times = dict(runs_with_times(nest.body))
        self.found = LoopEvents(part)
        self.tested = _tested(nest.runs(), self.times)
        self.length = max((len(time) for time in self.times.values()), default=1)

    def read(self) -> LoopEvents:
        """Return the events of the nest."""
        for run in self.places.runs:
            statement = self.part.by_name.get(run.statement)
            if statement is None:
                self.untagged(run)
            else:
                self.tagged(run, statement, self.matches[id(run)])
        return self.found

    # -- runs of statements

    def tagged(self, run: Run, statement: Statement, match: Match) -> None:
        if run.path.data and not may_leave(statement):
            raise Unproven(statement.name, "it runs under a condition that is not affine")
        name = f"run:{run.number}"
        write = statement.write
        is_sum = statement.name in self.sums.operators
        operator = self.sums.operators.get(statement.name)
        tag = run.instances
        if write.array not in self.part.unordered:
            moved = match.target is not None
            place = self.place(run, statement, write, run.target, moved=moved)
            effect = Effect.ACCUMULATE if is_sum else Effect.WRITE
            self.add(run, name, place, effect, operator)
            self.found.writes.append(tag.set_tuple_name(_IN, name))
            if not is_sum and may_leave(statement):
                self.tagged_read(run, statement, write, place, OLD, ())
        tests = range(0)
        if statement.guard is not None:
            first = len(loads(statement.value))
            tests = range(first, first + len(loads(statement.guard)))
        for number, access in enumerate(statement.reads):
            goes = _moved(match, access)
            if goes is None and access.array not in self.watched:
                continue
            at = goes if goes is not None else Load(access.array, access.index, DType.BOOL)
            place = self.place(run, statement, access, at, moved=goes is not None)
            if is_sum and is_accumulator(statement, access):
                own = self.place(run, statement, write, run.target, moved=match.target is not None)
                if not place.is_equal(own):
                    raise Unproven(statement.name, "it adds to another element than it sets")
                self.found.uses.append(Use(run, place, False, operator))
                continue
            when = self.tested.get(id(run), ()) if number in tests else ()
            self.tagged_read(run, statement, access, place, str(number), when)

    def tagged_read(
        self,
        run: Run,
        statement: Statement,
        access: Access,
        place: isl.Map,
        label: str,
        when: tuple[Time, ...],
    ) -> None:
        """Record a read: at the run, or where the conditions around it are evaluated (`when`)."""
        theirs = f"{statement.name}:{label}"
        names = [f"run:{run.number}:{label}@{n}" for n in range(len(when))]
        for position, name in enumerate(names or [f"run:{run.number}:{label}"]):
            self.add(run, name, place, Effect.READ, None, when[position] if when else None)
            tag = run.instances
            if not access.exact:
                self.found.events[-1] = self.found.events[-1].each_element()
                same = isl.Set.universe(place.range().get_space()).reset_tuple_id().identity()
                tag = tag.reset_tuple_id(_OUT).flat_product(same)
                reached = self.found.events[-1].access.domain()
                tag = tag.intersect_domain(reached.reset_tuple_id())
            tag = tag.set_tuple_name(_IN, name).set_tuple_name(_OUT, theirs)
            self.found.reads.append(tag)

    def place(
        self, run: Run, statement: Statement, access: Access, at: Load | Symbol, *, moved: bool
    ) -> isl.Map:
        """Return `{ [iterators] -> place }` of an access."""
        if moved:
            if not access.exact:
                raise Unproven(access.array, f"{statement.name} finds its elements by data")
            return self.places.location(run, at)
        if self.places.homes.get(access.array, 0):
            if not access.exact:
                raise Unproven(access.array, "it is declared inside loops")
            return self.places.location(run, own_element(run, statement, access))
        return run.instances.apply_range(access.relation)

    # -- runs without a statement

    def untagged(self, run: Run) -> None:
        """Record a copy, an initialization of partial results or their join; others only write."""
        name = f"run:{run.number}"
        target = self.places.location(run, run.target)
        value = _constant(run.value)
        joined = self.join_of(run)
        is_copy = isinstance(run.value, Load | Symbol) and run.value.dtype is run.target.dtype
        if run.path.data:
            joined, is_copy, value = None, False, None
        operator = joined[0] if joined is not None else None
        effect = Effect.WRITE if joined is None else Effect.ACCUMULATE
        self.add(run, name, target, effect, operator)
        link = target.domain().identity().set_tuple_name(_IN, name)
        link = link.set_tuple_name(_OUT, f"{name}:1")
        if joined is not None:
            self.found.uses.append(Use(run, target, False, operator))
            self.single(run, joined[1])
            self.found.joins.setdefault(joined[0], []).append(link)
        elif is_copy:
            self.single(run, run.value)
            self.found.copies.append(link)
        else:
            if value is not None:
                self.found.starts[name] = value
            index = run.target.index if isinstance(run.target, Load) else ()
            for part in (run.value, *index):
                for read in walk(part):
                    if isinstance(read, Load | Symbol):
                        place = self.places.location(run, read)
                        self.found.uses.append(Use(run, place, False, None))

    def join_of(self, run: Run) -> tuple[BinaryOp, Expr] | None:
        """Return operator and partial result of a join; choices join the results of choices alone.

        Those of other extrema may be NaN, which choices pass over.
        """
        found = _join_of(run)
        if found is None:
            return None
        update, part = found
        same = [
            s
            for s in self.part.statements
            if s.reduction is not None and s.reduction.op is update.op
        ]
        if update.is_choice and not all(chosen(s.value, s.target) is update.op for s in same):
            return None
        return update.op, part

    def single(self, run: Run, value: Expr) -> None:
        assert isinstance(value, Load | Symbol)
        place = self.places.location(run, value)
        self.add(run, f"run:{run.number}:1", place, Effect.READ, None)

    def add(
        self,
        run: Run,
        name: str,
        place: isl.Map,
        effect: Effect,
        sums: BinaryOp | None,
        when: Time | None = None,
    ) -> None:
        order = self.times[run] if when is None else when
        padded = (*order, *[integer(0)] * (self.length - len(order)))
        time = at_time(run.path.frame, padded, effect).intersect_domain(run.path.domain)
        event = Event(place.set_tuple_name(_IN, name), time.set_tuple_name(_IN, name), effect)
        self.found.events.append(event)
        self.found.uses.append(Use(run, place, effect is not Effect.READ, sums))


def _moved(match: Match, access: Access) -> Load | Symbol | None:
    assert access.kind is AccessKind.READ
    for moved in match.reads:
        if (moved.load.array, moved.load.index) == (access.array, access.index):
            return moved.place
    return None


def _constant(value: Expr) -> Const | None:
    match value:
        case Const():
            return value
        case Unary(op=UnaryOp.NEG, operand=Const(value=int() | float() | complex() as number)):
            return Const(-number, value.dtype)
        case _:
            return None


def _join_of(run: Run) -> tuple[Update, Expr] | None:
    """Return the update and the partial result of `x = x op partial`."""
    update = update_by(run.value, run.target)
    if update is None or update.op not in JOINING:
        return None
    part = update.fresh
    if not isinstance(part, Load | Symbol) or part == run.target:
        return None
    return (update, part) if part.dtype is run.value.dtype is run.target.dtype else None


JOINING = (
    BinaryOp.ADD,
    BinaryOp.MUL,
    BinaryOp.MIN,
    BinaryOp.MAX,
    BinaryOp.AND,
    BinaryOp.OR,
    BinaryOp.XOR,
)


def _tested(runs: tuple[Run, ...], times: dict[Run, Time]) -> dict[int, tuple[Time, ...]]:
    """Return the times at which the conditions on data around each run are evaluated."""
    first: dict[int, Time] = {}
    found: dict[int, tuple[Time, ...]] = {}
    for run in runs:
        mine = []
        path: Path | None = run.path
        while path is not None and path.outer is not None:
            if isinstance(path.steps[-1], Holds) and len(path.data) > len(path.outer.data):
                inside = times[run][: 2 * len(path.loops) + 1]
                last = inside[-1]
                assert isinstance(last, Const)
                assert isinstance(last.value, int)
                before = (*inside[:-1], integer(last.value - 1))
                mine.append(first.setdefault(id(path), before))
            path = path.outer
        found[id(run)] = tuple(mine)
    return found
