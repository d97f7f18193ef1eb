"""Claims about a program's loops, judged one by one: none hides behind the refusal of another.

In: a Program, and claims: a loop is parallel, two loops may be fused, steps are legal.
Out: `Finding`s, each with its place and, where it does not hold, the witness.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from functools import cached_property

import islpy as isl

from polyopt.dataclass import dataclass, replace
from polyopt.errors import BudgetError, IllegalSchedule, Loc, PolyoptError, ScheduleError
from polyopt.ir.program import Program
from polyopt.ir.scop import Scop
from polyopt.report.findings import Finding, RelatedLocation, Verdict
from polyopt.report.nests import Loop, loops_of, named
from polyopt.schedule import (
    Repair,
    Schedule,
    Transform,
    Witness,
    compute_dependences,
    source_schedule,
)
from polyopt.schedule.legality import carried_pairs, mark_facts
from polyopt.schedule.regions import independent
from polyopt.schedule.witness_text import to_record
from polyopt.transforms import Fuse, Parallelize, Vectorize
from polyopt.transforms.text import PlacedStep, read_steps

_VERBS = {"flow": ("writes", "reads"), "anti": ("reads", "writes"), "output": ("writes", "writes")}


@dataclass(frozen=True, eq=False)
class Judged:
    """Verdicts on steps, and the schedules after those that are legal or were repaired."""

    findings: tuple[Finding, ...]
    schedules: tuple[Schedule, ...]


@dataclass(frozen=True, eq=False)
class Subject:
    """A program that claims are made about, in the order of its source."""

    program: Program
    function: str

    @cached_property
    def schedules(self) -> tuple[Schedule, ...]:
        """The source's order of every part, with its dependences."""
        return tuple(source_schedule(scop) for scop in self.program.scops)

    @cached_property
    def loops(self) -> tuple[Loop, ...]:
        """All loops."""
        return loops_of(self.program, self.schedules)

    @property
    def statements(self) -> int:
        """How many statements there are."""
        return sum(len(scop.statements) for scop in self.program.scops)

    # -- parallel loops -------------------------------------------------------------------------

    def parallel(self, name: str) -> tuple[Finding, ...]:
        """Judge that every loop called `name` is parallel."""
        found = named(self.loops, name)
        if not found:
            return (self._misfit(f"loop `{name}` is parallel", self.unknown(name), None),)
        return tuple(self._parallel(loop) for loop in found)

    def parallel_at(self, loc: Loc, reducing: bool = False) -> tuple[Finding, ...]:
        """Judge that the loop that the source has at `loc` is parallel.

        `reducing`: it may make sums and the like, of which each thread has a part.
        """
        found = self._at(loc)
        if not found:
            return (self._nothing(f"the loop on line {loc.line} is parallel", loc),)
        return tuple(self._parallel(loop, reducing) for loop in found)

    def fuse_at(self, first: Loc, second: Loc) -> Finding:
        """Judge that the loops that the source has at two places may run as one."""
        claim = f"the loops on lines {first.line} and {second.line} may be fused"
        one, two = self._at(first), self._at(second)
        if len(one) != 1 or len(two) != 1:
            return self._nothing(claim, second)
        return self._fused(one[0], two[0])

    def _at(self, loc: Loc) -> tuple[Loop, ...]:
        place = (loc.file, loc.line, loc.col)
        return tuple(
            loop
            for loop in self.loops
            if loop.loc is not None and (loop.loc.file, loop.loc.line, loop.loc.col) == place
        )

    def _nothing(self, claim: str, loc: Loc) -> Finding:
        """Return that a loop of the source is not one loop of the program."""
        error = ScheduleError(
            "PO0339",
            f"{self.function}: {claim}: no single loop of the program is the one written there",
            loc=loc,
            hint="loops over tuples are written out, and loops without effect are left out; "
            "say it of another loop",
        )
        return Finding(self.function, claim, Verdict.OPEN, loc, error)

    def _parallel(self, loop: Loop, reducing: bool = False) -> Finding:
        started = time.perf_counter()
        claim = f"loop {loop} is parallel"
        if loop.region is not None:
            return self._region(loop, claim, started)
        schedule = self.schedules[loop.part]
        step = Parallelize(loop.reference)
        finding, _ = self._applied(claim, schedule, step, loop.place, started)
        if not reducing or finding.verdict is Verdict.PROVEN:
            return finding
        reduced = _as_reduction(schedule, loop)
        if not reduced:
            return finding
        claim = f"{claim} as a reduction of {', '.join(reduced)}"
        seconds = time.perf_counter() - started
        return Finding(self.function, claim, Verdict.PROVEN, loop.place, seconds=seconds)

    def _region(self, loop: Loop, claim: str, started: float) -> Finding:
        assert loop.region is not None
        seconds = time.perf_counter() - started
        if independent(self.program, loop.region):
            return Finding(self.function, claim, Verdict.PROVEN, loop.place, seconds=seconds)
        error = ScheduleError(
            "PO0338",
            f"the loop `{loop.name}` is not proven parallel: what it runs over, or touches, is "
            "decided while it runs",
            loc=loop.place,
            hint="it may be parallel all the same; give each iteration elements of its own, "
            "by subscripts that are sums of loop variables and sizes",
        )
        return Finding(self.function, claim, Verdict.OPEN, loop.place, error, seconds=seconds)

    # -- fusion -----------------------------------------------------------------------------------

    def fuse(self, first: str, second: str) -> Finding:
        """Judge that two loops may run as one."""
        claim = f"loops `{first}` and `{second}` may be fused"
        pairs = []
        for name in (first, second):
            found = named(self.loops, name)
            if len(found) != 1:
                error = self.several(name, found) if found else self.unknown(name)
                return self._misfit(claim, error, None)
            pairs.append(found[0])
        return self._fused(pairs[0], pairs[1])

    def _fused(self, one: Loop, two: Loop) -> Finding:
        started = time.perf_counter()
        claim = f"loops {one} and {two} may be fused"
        if one.region or two.region or one.part != two.part:
            error = ScheduleError(
                "PO0305",
                f"{claim}: what lies between them is decided while the function runs",
                loc=two.place,
                hint="only loops whose bounds are known before they run are fused",
            )
            return self._misfit(claim, error, two.place)
        if one.position != two.position or one.label == two.label:
            error = ScheduleError(
                "PO0305",
                f"{claim}: they are not at the same depth of two nests",
                loc=two.place,
                hint="name loops of two nests that follow each other",
            )
            return self._misfit(claim, error, two.place)
        step = Fuse(one.label, two.label, one.position + 1)
        schedule = self.schedules[one.part]
        return self._applied(claim, schedule, step, two.place, started)[0]

    # -- steps ------------------------------------------------------------------------------------

    def steps(self, text: str, repair: bool = False) -> Judged:
        """Judge every step of a schedule's text.

        A refused step is left out for those after it, or with `repair` replaced by what is legal.
        """
        try:
            placed = read_steps(text)
        except ScheduleError as error:
            found = (self._misfit("the schedule can be read", error, error.loc),)
            return Judged(found, self.schedules)
        if not placed:
            claim = "the order of the source is legal"
            return Judged((Finding(self.function, claim, Verdict.PROVEN),), self.schedules)
        return self._steps(placed, repair)

    def _steps(self, placed: tuple[PlacedStep, ...], repair: bool) -> Judged:
        current = list(self.schedules)
        found: list[Finding] = []
        refused: dict[int, PlacedStep] = {}
        for one in placed:
            claim = f"{one.step} is legal"
            if one.part >= len(current):
                error = ScheduleError(
                    "PO0324",
                    f"{one.step}: there is no part {one.part}",
                    loc=one.loc,
                    hint=f"parts are numbered from 0 to {len(current) - 1}",
                )
                found.append(self._misfit(claim, error, one.loc))
                continue
            started = time.perf_counter()
            place = None if one.loc.file.startswith("<") else one.loc
            before = current[one.part]
            finding, after = self._applied(claim, before, one.step, place, started)
            if after is None and repair:
                after = _repaired(before, finding.error)
                finding = replace(finding, is_mended=after is not None)
            if after is None and one.part in refused and finding.verdict is Verdict.MISFIT:
                earlier = refused[one.part].step
                assert finding.error is not None
                finding.error.notes = (*finding.error.notes, f"`{earlier}` before it was refused")
            if after is None:
                refused.setdefault(one.part, one)
            else:
                current[one.part] = after
            found.append(finding)
        return Judged(tuple(found), tuple(current))

    # -- verdicts ---------------------------------------------------------------------------------

    def _applied(
        self, claim: str, schedule: Schedule, step: Transform, place: Loc | None, started: float
    ) -> tuple[Finding, Schedule | None]:
        """Judge one step; return the schedule after it where it is legal."""

        def finding(verdict: Verdict, error: PolyoptError | None = None) -> Finding:
            seconds = time.perf_counter() - started
            where = place or (None if error is None else error.loc)
            if error is not None:
                error.loc = where
            return Finding(
                self.function, claim, verdict, where, error, tuple(_places(error, schedule.scop)),
                _witness(error, schedule.scop), _repair(error), seconds,
            )  # fmt: skip

        try:
            after = schedule.apply(step)
        except IllegalSchedule as error:
            witness = error.witness
            sure = not isinstance(witness, Witness) or witness.exact
            if str(step) not in claim:  # the person did not write the step
                asked, said = f"{step} is not legal", "refuted" if sure else "not proven"
                error.message = error.message.replace(asked, f"{claim}: {said}", 1)
            return finding(Verdict.REFUTED if sure else Verdict.OPEN, error), None
        except BudgetError as error:
            return finding(Verdict.OPEN, error), None
        except ScheduleError as error:
            return finding(Verdict.MISFIT, error), None
        return finding(Verdict.PROVEN), after

    def _misfit(self, claim: str, error: PolyoptError, loc: Loc | None) -> Finding:
        error.loc = error.loc or loc
        return Finding(self.function, claim, Verdict.MISFIT, error.loc, error)

    def unknown(self, name: str) -> ScheduleError:
        """Return the error for a name of no loop."""
        known = ", ".join(dict.fromkeys(map(str, self.loops))) or "none"
        line = (
            f"no loop stands on line {name}" if name.isdecimal() else f"no loop is called `{name}`"
        )
        return ScheduleError("PO0301", f"{self.function}: {line}", hint=f"loops: {known}")

    def several(self, name: str, found: tuple[Loop, ...]) -> ScheduleError:
        """Return the error for a name of several loops where one is needed."""
        lines = ", ".join(
            str(loop.loc.line) if loop.loc is not None else loop.reference for loop in found
        )
        return ScheduleError(
            "PO0302",
            f"{self.function}: `{name}` names several loops",
            hint=f"say which one by its line: {lines}",
        )


def _as_reduction(schedule: Schedule, loop: Loop) -> tuple[str, ...]:
    """Return the reductions but for which a loop is parallel, none where it is not.

    Lanes, unlike threads, may share a reduction whose order is open: they combine it at the end.
    """
    scop = schedule.scop
    statements = tuple(
        s if s.reduction is None else replace(s, reduction=replace(s.reduction, reassociable=True))
        for s in scop.statements
    )
    opened = replace(scop, statements=statements)
    dependences = compute_dependences(opened)
    free = Schedule(opened, dependences, mark_facts(dependences, schedule.tree))
    if free.attempt(Vectorize(loop.reference)) is None:
        return ()
    carried = carried_pairs(dependences, schedule.tree, loop.label, loop.position)
    found = {
        f"`{s.target.array}` by {s.reduction.op.value}"
        for s in opened.statements
        for d in dependences.memory
        if d.reduction and d.source == s.name and s.reduction is not None
        and not carried.intersect(isl.UnionMap.from_map(d.relation)).is_empty()
    }  # fmt: skip
    return tuple(sorted(found))


def _repaired(schedule: Schedule, error: PolyoptError | None) -> Schedule | None:
    """Return the schedule after the repair that a refusal offers, judged again."""
    repair = error.repair if isinstance(error, IllegalSchedule) else None
    return schedule.attempt(*repair.steps) if isinstance(repair, Repair) else None


def _places(error: PolyoptError | None, scop: Scop) -> Iterator[RelatedLocation]:
    """Yield where the two iterations of a witness stand."""
    witness = error.witness if isinstance(error, IllegalSchedule) else None
    if not isinstance(witness, Witness) or witness.kind not in _VERBS:
        return
    known = {statement.name: statement for statement in scop.statements}
    cell = witness.array
    if witness.cell:
        cell += f"[{', '.join(map(str, witness.cell))}]"
    for (name, instance), verb in zip(
        (witness.source, witness.target), _VERBS[witness.kind], strict=True
    ):
        statement = known.get(name)
        if statement is None or statement.loc is None or len(instance) != len(statement.iters):
            continue
        at = ", ".join(f"{n}={v}" for n, v in zip(statement.iters, instance, strict=True))
        yield RelatedLocation(f"iteration ({at}) {verb} {cell}", statement.loc)


def _witness(error: PolyoptError | None, scop: Scop) -> Mapping[str, object] | None:
    witness = error.witness if isinstance(error, IllegalSchedule) else None
    if not isinstance(witness, Witness):
        return None
    known = {statement.name for statement in scop.statements}
    if not {witness.source[0], witness.target[0]} <= known:
        return None
    return to_record(witness, scop)


def _repair(error: PolyoptError | None) -> str | None:
    repair = error.repair if isinstance(error, IllegalSchedule) else None
    return repair.text if isinstance(repair, Repair) else None
