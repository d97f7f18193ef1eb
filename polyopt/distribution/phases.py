"""A program as phases: nests that each rank runs alone, in loops that all ranks run together.

In: statements and where they run.  Out: a tree of phases and loops.
A phase is as much of the source as no value crosses ranks in: what a rank reads of another one is
there before it begins.  Where values cross in one direction only, and smaller phases would have one
rank at work at a time, the ranks run the phase one after the other and those of the next one along
with it: a pipeline.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TypeAlias

import islpy as isl

from polyopt.dataclass import dataclass
from polyopt.distribution.mesh import Sign
from polyopt.distribution.placement import Placement, Rule, around, is_complete, named
from polyopt.errors import FrontendError
from polyopt.ir.expr import Binary, BinaryOp, Const, Expr, Iter, Param, Unary, UnaryOp, integer
from polyopt.ir.names import fresh_name
from polyopt.ir.scop import Scop, Statement
from polyopt.schedule.dependences import dependences_of


@dataclass(frozen=True, slots=True)
class Nest:
    """A loop of the source, or a statement: its statements, and the nests in a loop's body."""

    statements: tuple[str, ...]
    body: tuple[Nest, ...]
    position: int


@dataclass(frozen=True, slots=True)
class Phase:
    """Statements that a rank runs without others, at one iteration of the `depth` loops around.

    `after`: how ranks lie whose part of this phase comes before this rank's; only in pipelines.
    """

    number: int
    statements: tuple[str, ...]
    depth: int
    position: int
    after: frozenset[Sign] = frozenset()


@dataclass(frozen=True, slots=True)
class Together:
    """A loop that all ranks run; `param` has the iteration's place in the source's order."""

    param: str
    statements: tuple[str, ...]
    depth: int
    body: tuple[Step, ...]


Step: TypeAlias = Phase | Together


def nests_of(statements: Sequence[Statement], depth: int = 0) -> tuple[Nest, ...]:
    """Return the loops of the source around statements; raises `FrontendError` PO0854."""
    found: dict[int, list[Statement]] = {}
    for statement in statements:
        match statement.order[2 * depth]:
            case Const(value=int(value)):
                found.setdefault(value, []).append(statement)
            case _:
                raise _disordered(statement)
    nests = []
    for position in sorted(found):
        group = found[position]
        names = tuple(s.name for s in group)
        if all(len(s.order) <= 2 * depth + 1 for s in group):
            nests += [Nest((name,), (), position) for name in names]
            continue
        for statement in group:
            if len(statement.order) <= 2 * depth + 1:
                raise _disordered(statement)
            iterator_at(statement, depth)
        nests.append(Nest(names, nests_of(group, depth + 1), position))
    return tuple(nests)


def iterator_at(statement: Statement, depth: int) -> tuple[str, int] | None:
    """Return the iterator of the loop at `depth`, and -1 if it runs down; None: groups of one's."""
    match statement.order[2 * depth + 1]:
        case Iter(name=name):
            return name, 1
        case Unary(op=UnaryOp.NEG, operand=Iter(name=name)):
            return name, -1
        case Binary(op=BinaryOp.FLOORDIV, left=Iter(), right=Const()):
            return None
        case _:
            raise _disordered(statement)


def _disordered(statement: Statement) -> FrontendError:
    return FrontendError(
        "PO0854",
        f"the order of `{statement.text}` is not one of loops around statements",
        loc=statement.loc,
        hint="run this function on one rank",
    )


@dataclass(frozen=True, eq=False)
class Phases:
    """The phases of a placement; `params` name the places in the loops around them."""

    placement: Placement

    @cached_property
    def scop(self) -> Scop:
        """The static control part."""
        return self.placement.own.scop

    @cached_property
    def params(self) -> tuple[str, ...]:
        """A name for the place in each loop, by its depth."""
        most = max((len(s.order) // 2 for s in self.scop.statements), default=0)
        taken = self.placement.own.params
        return tuple(fresh_name(f"step{depth}", taken) for depth in range(most))

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """The tree, made once."""
        return self._planned(nests_of(self.scop.statements), 0)

    @cached_property
    def phases(self) -> tuple[Phase, ...]:
        """All phases in order."""
        return tuple(phases_in(self.steps))

    @cached_property
    def _flows(self) -> dict[tuple[str, str], isl.Map]:
        space = self.placement.own.context.get_space()
        pairs = named(dependences_of(self.scop).direct_flow)
        return {(a, b): isl.Map.align_params(one, space) for a, b, one in pairs}

    def _planned(self, nests: Sequence[Nest], depth: int) -> tuple[Step, ...]:
        steps: list[Step] = []
        run: list[Nest] = []

        def close() -> None:
            if run:
                steps.append(self._phase(run, depth))
                run.clear()

        for nest in nests:
            if self._is_phase([*run, nest], depth):
                run.append(nest)
                continue
            close()
            if self._is_phase([nest], depth):
                run.append(nest)
                continue
            body = self._planned(nest.body, depth + 1)
            after = self._pipeline(nest, depth, body)
            if after:
                steps.append(self._phase([nest], depth, after))
            else:
                steps.append(Together(self.params[depth], nest.statements, depth, body))
        close()
        return tuple(steps)

    def _phase(
        self, nests: Sequence[Nest], depth: int, after: frozenset[Sign] = frozenset()
    ) -> Phase:
        names = tuple(name for nest in nests for name in nest.statements)
        number = self.scop.statements.index(self.scop.statement(names[0]))
        return Phase(number, names, depth, nests[0].position, after)

    def _is_phase(self, nests: Sequence[Nest], depth: int) -> bool:
        names = [name for nest in nests for name in nest.statements]
        if not self._combined_alone(names, depth):
            return False
        return not any(self.crossing(names, depth, sign) for sign in self.placement.own.signs)

    def _combined_alone(self, names: Sequence[str], depth: int) -> bool:
        """Tell whether nothing else touches what a collective completes, and a scan runs once."""
        own, rules = self.placement.own, self.placement.rules
        for one in map(self.scop.statement, names):
            if rules[one.name] is Rule.SCAN:
                (cut,) = own.cuts[one.target.array]
                if not is_complete(own, one, cut.axis, depth):
                    return False
        statements = [self.scop.statement(name) for name in names]
        for one in statements:
            if not rules[one.name].is_combined:
                continue
            if any(one.target.array in s.arrays for s in statements if s is not one):
                return False
        return True

    def crossing(self, names: Sequence[str], depth: int, sign: Sign) -> dict[str, isl.Map]:
        """Return place in the loops around -> elements the other rank writes and this one reads.

        By array; of one iteration of the loops around the statements alone.
        """
        own = self.placement.own
        apart = own.apart(sign)
        found: dict[str, isl.Map] = {}
        for source in names:
            array = self.scop.statement(source).target.array
            if array not in own.cuts or sign not in own.signs_of(array):
                continue
            if self.placement.rules[source].is_combined:
                continue  # complete after the phase only, and nothing else of it reads them
            for reader in names:
                elements = self._crossing(source, reader, depth, apart)
                if elements is not None:
                    known = found.get(array)
                    found[array] = elements if known is None else known.union(elements)
        return found

    def _crossing(self, source: str, reader: str, depth: int, apart: isl.Set) -> isl.Map | None:
        pairs = self._flows.get((source, reader))
        if pairs is None:
            return None
        pairs = pairs.intersect_params(apart)
        pairs = pairs.intersect_domain(self.placement.of_other[source])
        pairs = pairs.intersect_range(self.placement.domains[reader])
        pairs = pairs.subtract_domain(self.placement.domains[source])  # what it computes, too
        if pairs.is_empty():
            return None
        one = self.around(self.scop.statement(source), depth)
        two = self.around(self.scop.statement(reader), depth)
        same = one.apply_range(two.reverse())
        pairs = pairs.intersect(same)
        if pairs.is_empty():
            return None
        write = self.placement.relation(self.scop.statement(source).write)
        return two.reverse().apply_range(pairs.reverse()).apply_range(write)

    def around(self, statement: Statement, depth: int) -> isl.Map:
        """Return instance -> its place in the outer `depth` loops."""
        return around(self.placement.own, statement, depth)

    def _pipeline(self, nest: Nest, depth: int, body: Sequence[Step]) -> frozenset[Sign]:
        """Return how ranks lie whose values a nest reads, if ranks may run it one by one.

        Empty, too, if smaller phases let several ranks work at a time.
        """
        own, names = self.placement.own, nest.statements
        if own.is_cyclic or any(self.placement.rules[name] is not Rule.OWNER for name in names):
            return frozenset()
        if not all(self._is_serial(phase) for phase in phases_in(body)):
            return frozenset()
        crossing = {sign: self.crossing(names, depth, sign) for sign in own.signs}
        after = frozenset(sign for sign, found in crossing.items() if found)
        none = (0,) * own.mesh_axes
        if not (all(sign < none for sign in after) or all(sign > none for sign in after)):
            return frozenset()
        for sign in after:
            if not self._reads_last_values(names, depth, sign, crossing[sign]):
                return frozenset()
        return after

    def _is_serial(self, phase: Phase) -> bool:
        """Tell whether at each iteration one place along each axis of the mesh owns all targets."""
        for name in phase.statements:
            statement = self.scop.statement(name)
            around = self.around(statement, phase.depth)
            for cut in self.placement.own.cuts.get(statement.target.array, ()):
                write = self.placement.relation(statement.write)
                places = around.reverse().apply_range(write)
                rank = places.dim(isl.dim_type.out)
                kind = isl.dim_type.out
                places = places.project_out(kind, cut.axis + 1, rank - cut.axis - 1)
                if not places.project_out(kind, 0, cut.axis).is_single_valued():
                    return False
        return True

    def _reads_last_values(
        self, names: Sequence[str], depth: int, sign: Sign, crossing: dict[str, isl.Map]
    ) -> bool:
        """Tell whether what crosses is written before it is read, each time, and not once more."""
        apart = self.placement.own.apart(sign)
        length = max(len(s.order) for s in self.scop.statements)
        space = self.placement.own.context.get_space()
        for reader in map(self.scop.statement, names):
            for read in reader.reads:
                if read.array not in crossing:
                    continue
                around = self.around(reader, depth)
                touched = self.placement.relation(read).intersect_params(apart)
                touched = touched.intersect_domain(self.placement.domains[reader.name])
                late = around.reverse().apply_range(touched).intersect(crossing[read.array])
                if late.is_empty():
                    continue
                for writer in map(self.scop.statement, names):
                    if writer.target.array != read.array:
                        continue
                    write = self.placement.relation(writer.write)
                    write = write.intersect_domain(self.placement.of_other[writer.name])
                    pairs = touched.intersect_range(late.range()).apply_range(write.reverse())
                    times = (isl.Map.align_params(s.time(length), space) for s in (reader, writer))
                    pairs = pairs.intersect(next(times).lex_lt_map(next(times)))
                    same = around.apply_range(self.around(writer, depth).reverse())
                    if not pairs.intersect(same).is_empty():
                        return False
        return True


def phases_in(steps: Sequence[Step]) -> list[Phase]:
    """Return the phases of a tree in order."""
    found: list[Phase] = []
    for step in steps:
        match step:
            case Phase():
                found.append(step)
            case Together():
                found += phases_in(step.body)
    return found


def together_in(steps: Sequence[Step]) -> list[Together]:
    """Return the loops of a tree that all ranks run, outer ones first."""
    found: list[Together] = []
    for step in steps:
        if isinstance(step, Together):
            found += [step, *together_in(step.body)]
    return found


def place_of(statement: Statement, depth: int, params: Sequence[str]) -> dict[str, Expr]:
    """Return what the iterators of the loops around a phase are, by the places in them."""
    found: dict[str, Expr] = {}
    for level in range(depth):
        at = iterator_at(statement, level)
        if at is not None:
            value: Expr = Param(params[level])
            found[at[0]] = value if at[1] > 0 else Unary(UnaryOp.NEG, value, value.dtype)
    return found


def time_of(statement: Statement, phase: Phase) -> tuple[Expr, ...]:
    """Return the place of a phase in the source's order."""
    return (*statement.order[: 2 * phase.depth], integer(phase.position))
