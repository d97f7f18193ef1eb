"""What crosses ranks before each phase, derived from the last writes of what is read.

In: phases.  Out: for each phase and array the elements that another rank sends to this one, as sets
over sizes, the blocks of both and the places in the loops around; and the form they have.
An element is sent when a phase reads it for the first time after its owner wrote it, or at all:
nothing is sent twice, and for stencils no program in which owners compute sends less.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TypeAlias

import islpy as isl

from polyopt.dataclass import dataclass
from polyopt.distribution.forms import Form, for_any, form_of
from polyopt.distribution.mesh import Sign
from polyopt.distribution.ownership import Ownership
from polyopt.distribution.phases import Phase, Phases, time_of
from polyopt.distribution.placement import Rule, Scanned, named
from polyopt.ir.affine import coalesced, param_space, time_map
from polyopt.ir.expr import Binary, BinaryOp, Expr
from polyopt.ir.integers import evaluate
from polyopt.ir.parameters import joined, maps_of
from polyopt.ir.scop import Statement
from polyopt.schedule.dependences import dependences_of

Events: TypeAlias = "tuple[dict[tuple[str, str], isl.Map], dict[str, isl.Map]]"


@dataclass(frozen=True, eq=False)
class Transfer:
    """Elements of `array` that another rank sends to this one before a phase, or in a pipeline.

    `received` is by how the other rank lies.  `sent`: what this rank sends to one that lies so.
    `halo` are the most elements before and after the block, along each cut axis, for a halo.
    """

    array: str
    received: Mapping[Sign, isl.Set]
    sent: Mapping[Sign, isl.Set]
    form: Form
    late: bool = False
    halo: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Combination:
    """What a collective completes of `array` after a phase, by `op`.

    Partial results for all ranks are an all-reduce, for the owners of elements a reduce-scatter; a
    scan completes recurrences.
    """

    array: str
    op: BinaryOp
    form: Form
    scan: Scanned | None = None


@dataclass(frozen=True, eq=False)
class Exchange:
    """What crosses ranks before a phase, during it in a pipeline, and after it."""

    phase: Phase
    transfers: tuple[Transfer, ...]
    combinations: tuple[Combination, ...]


@dataclass(frozen=True, eq=False)
class Exchanges:
    """The exchanges of all phases, in order."""

    phases: Phases

    @property
    def own(self) -> Ownership:
        """Who owns what."""
        return self.phases.placement.own

    @cached_property
    def all(self) -> tuple[Exchange, ...]:
        """One exchange for each phase."""
        found = {phase: self._transfers(phase) for phase in self.phases.phases}
        return tuple(
            Exchange(phase, tuple(found[phase]), self._combinations(phase))
            for phase in self.phases.phases
        )

    def _combinations(self, phase: Phase) -> tuple[Combination, ...]:
        found: dict[str, Combination] = {}
        for name in phase.statements:
            statement = self.phases.scop.statement(name)
            array, rule = statement.target.array, self.phases.placement.rules[name]
            if rule is Rule.PARTIAL:
                assert statement.reduction is not None
                form = Form.REDUCE_SCATTER if array in self.own.cuts else Form.ALL_REDUCE
                found[array] = Combination(array, statement.reduction.op, form)
            elif rule is Rule.SCAN:
                assert isinstance(statement.value, Binary)
                scan = self.scanned(phase, statement)
                found[array] = Combination(array, statement.value.op, Form.SCAN, scan)
        return tuple(found.values())

    def scanned(self, phase: Phase, statement: Statement) -> Scanned:
        """Return what a scan after a phase is of."""
        placement, own = self.phases.placement, self.own
        array = statement.target.array
        (cut,) = own.cuts[array]
        place = self.phases.around(statement, phase.depth)
        write = placement.relation(statement.write)
        written = place.reverse().apply_range(write)
        owned = own.owned(own.scop.array(array)).intersect_params(own.context)
        read = self.passed_on(phase, statement).intersect_domain(placement.domains[statement.name])
        read = place.reverse().apply_range(read)
        begun = {}
        for sign in own.signs_of(array):
            theirs = own.swapped(owned).intersect_params(own.apart(sign))
            begun[sign] = self.over_places(phase, read.intersect_range(theirs))
        return Scanned(
            cut.axis,
            for_any(self.over_places(phase, written), [n for b in own.blocks for n in b.names]),
            for_any(
                self.over_places(phase, written.intersect_range(owned)),
                [name for b in own.blocks for name in (b.other_low, b.other_high)],
            ),
            {sign: one for sign, one in begun.items() if not one.is_empty()},
        )

    def passed_on(self, phase: Phase, statement: Statement) -> isl.Map:
        """Return instance -> elements that it reads of other instances in the same phase."""
        space = self.own.context.get_space()
        place = self.phases.around(statement, phase.depth)
        found = isl.Map.empty(self.phases.placement.relation(statement.write).get_space())
        for source, sink, pairs in named(dependences_of(self.phases.scop).direct_flow):
            if source == sink == statement.name:
                pairs = isl.Map.align_params(pairs, space)
                pairs = pairs.intersect(place.apply_range(place.reverse())).reverse()
                found = found.union(
                    pairs.apply_range(self.phases.placement.relation(statement.write))
                )
        return found

    def _transfers(self, phase: Phase) -> list[Transfer]:
        found = []
        for array in self.own.cuts:
            signs = self.own.signs_of(array)
            early = {sign: self._early(phase, array, sign) for sign in signs}
            late = {sign: self._some(phase, self._late(phase, array, sign)) for sign in signs}
            for sets, is_late in ((early, False), (late, True)):
                received = {s: one for s, one in sets.items() if one is not None}
                if received:
                    found.append(self._transfer(array, received, is_late))
        return found

    def _transfer(self, array: str, received: Mapping[Sign, isl.Set], late: bool) -> Transfer:
        sent = {
            tuple(-place for place in sign): self.own.swapped(one)
            for sign, one in received.items()
        }  # fmt: skip
        form, halo = form_of(self.own, array, received)
        if late and form is not Form.HALO:
            form = Form.MESSAGES
        return Transfer(array, received, sent, form, late, halo)

    def _late(self, phase: Phase, array: str, sign: Sign) -> isl.Map | None:
        if sign not in phase.after:
            return None
        return self.phases.crossing(phase.statements, phase.depth, sign).get(array)

    def _early(self, phase: Phase, array: str, sign: Sign) -> isl.Set | None:
        flow, unwritten = self._events(array, sign)
        name = _event("read", phase)
        pieces = [unwritten[name]] if name in unwritten else []
        pieces += [
            pairs.range().unwrap() for (source, sink), pairs in flow.items()
            if sink == name and source.startswith("write")
        ]  # fmt: skip
        if not pieces:
            return None
        whole, *rest = pieces
        for piece in rest:
            whole = whole.union(piece)
        return self._some(phase, whole)

    @cached_property
    def _known(self) -> dict[tuple[str, Sign], Events]:
        return {}

    def _events(self, array: str, sign: Sign) -> Events:
        """Return event -> [reading phase -> element] of the last event before, and reads without.

        Events are writes by the owner, and reads by this rank, after which it has the element.
        """
        if (array, sign) in self._known:
            return self._known[array, sign]
        apart, own = self.own.apart(sign), self.own
        others = own.swapped(own.owned(own.scop.array(array))).intersect_params(apart)
        reads, writes, lates, times = [], [], [], []
        for phase in self.phases.phases:
            late = self._late(phase, array, sign)
            read = self._accessed(phase, array, others, reading=True)
            if late is not None:
                lates.append(late.set_tuple_name(isl.dim_type.in_, _event("late", phase)))
                read = None if read is None else read.subtract(late)
            if read is not None:
                reads.append(read.set_tuple_name(isl.dim_type.in_, _event("read", phase)))
            write = self._accessed(phase, array, others, reading=False)
            if write is not None:
                writes.append(write.set_tuple_name(isl.dim_type.in_, _event("write", phase)))
            times += [self._time(phase, word) for word in ("read", "write", "late")]
        empty = isl.UnionMap.empty(own.context.get_space())
        sinks = joined(empty, map(isl.UnionMap.from_map, reads))
        events = joined(empty, map(isl.UnionMap.from_map, (*reads, *writes, *lates)))
        info = isl.UnionAccessInfo.from_sink(sinks).set_must_source(events)
        info = info.set_schedule_map(joined(empty, map(isl.UnionMap.from_map, times)))
        flow = info.compute_flow()
        unwritten = maps_of(flow.get_must_no_source())
        full = maps_of(flow.get_full_must_dependence())
        kind = isl.dim_type.in_
        result = (
            {(one.get_tuple_name(kind) or "", _sink(one)): one for one in full},
            {one.get_tuple_name(kind) or "": one for one in unwritten},
        )
        self._known[array, sign] = result
        return result

    def _accessed(
        self, phase: Phase, array: str, others: isl.Set, *, reading: bool
    ) -> isl.Map | None:
        """Return place -> elements of the other rank that this one reads, or that one writes."""
        found: isl.Map | None = None
        placement = self.phases.placement
        for statement in map(self.phases.scop.statement, phase.statements):
            rule = placement.rules[statement.name]
            domain = (placement.domains if reading else placement.of_other)[statement.name]
            if rule is Rule.PARTIAL and statement.target.array == array:
                if reading:
                    continue  # partial results begin with the neutral element
                domain = isl.Set.align_params(statement.domain, domain.get_space())
            known = self._computed(phase, statement, array) if reading else None
            accesses = statement.reads if reading else (statement.write,)
            around = self.phases.around(statement, phase.depth).intersect_domain(domain)
            for access in accesses:
                if access.array != array:
                    continue
                relation = placement.relation(access).intersect_range(others)
                relation = relation if known is None else relation.subtract(known)
                one = around.reverse().apply_range(relation)
                one = one.reset_tuple_id(isl.dim_type.in_)
                found = one if found is None else found.union(one)
        if found is None or found.is_empty():
            return None
        return coalesced(found)

    def _computed(self, phase: Phase, reader: Statement, array: str) -> isl.Map | None:
        """Return instance -> elements of `array` that this rank has computed in the same phase.

        Owners compute all that they read of themselves: asked only where neighbours do, too.
        """
        placement, found = self.phases.placement, None
        if placement.rules[reader.name] is Rule.SCAN and reader.target.array == array:
            return self.passed_on(phase, reader)  # or begun anew
        for source, sink, pairs in named(dependences_of(self.phases.scop).direct_flow):
            if sink != reader.name or source not in phase.statements:
                continue
            writer = self.phases.scop.statement(source)
            if placement.rules[source] is not Rule.WIDENED or writer.target.array != array:
                continue
            around = self.phases.around(writer, phase.depth)
            same = around.apply_range(self.phases.around(reader, phase.depth).reverse())
            pairs = isl.Map.align_params(pairs, self.own.context.get_space()).intersect(same)
            pairs = pairs.intersect_domain(placement.domains[source]).reverse()
            one = pairs.apply_range(placement.relation(writer.write))
            found = one if found is None else found.union(one)
        return found

    def _time(self, phase: Phase, word: str) -> isl.Map:
        """Return the time of an event: reads come before the writes of a phase, late ones after."""
        statement = self.phases.scop.statement(phase.statements[0])
        place = self.phases.around(statement, phase.depth)
        length = max(len(s.order) for s in self.phases.scop.statements) + 1
        times = time_map(statement.domain, time_of(statement, phase), length)
        times = isl.Map.align_params(times, place.get_space())
        event = place.reverse().apply_range(times)
        event = isl.Map.universe(event.get_space()) if phase.depth == 0 else _by_place(event, phase)
        kind = isl.dim_type.out
        for position in range(event.dim(kind)):
            constant = _constant_at(phase, statement.order, position, length, word)
            if constant is not None:
                event = event.fix_val(kind, position, isl.Val(constant))
        return event.set_tuple_name(isl.dim_type.in_, _event(word, phase))

    def _some(self, phase: Phase, elements: isl.Map | None) -> isl.Set | None:
        found = None if elements is None else self.over_places(phase, elements)
        return None if found is None or found.is_empty() else found

    def over_places(self, phase: Phase, elements: isl.Map) -> isl.Set:
        """Return the elements as a set, the places in the loops around being parameters."""
        count = elements.dim(isl.dim_type.in_)
        names = self.phases.params[:count]
        elements = isl.Map.align_params(elements, param_space((*self.own.params, *names)))
        for depth, name in enumerate(names):
            position = elements.find_dim_by_name(isl.dim_type.param, name)
            elements = elements.equate(isl.dim_type.param, position, isl.dim_type.in_, depth)
        return coalesced(elements.range())


def _event(word: str, phase: Phase) -> str:
    return f"{word}{phase.number}_{phase.depth}"


def _sink(pairs: isl.Map) -> str:
    return str(pairs.range().unwrap().get_tuple_name(isl.dim_type.in_))


def _by_place(event: isl.Map, phase: Phase) -> isl.Map:
    """Return place -> time for any place: each second dimension is that of a loop."""
    whole = isl.Map.universe(event.get_space())
    for depth in range(phase.depth):
        whole = whole.equate(isl.dim_type.in_, depth, isl.dim_type.out, 2 * depth + 1)
    return whole


def _constant_at(
    phase: Phase, order: Sequence[Expr], position: int, length: int, word: str
) -> int | None:
    if position == length - 1:
        return ("read", "write", "late").index(word)
    if position < 2 * phase.depth:
        return None if position % 2 else evaluate(order[position], {})
    return phase.position if position == 2 * phase.depth else 0
