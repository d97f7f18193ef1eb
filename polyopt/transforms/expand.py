"""Expand: give every iteration of some loops its own copy of a variable or an array.

In: an array that is written, loops.  Out: the program in which each iteration has its own cells;
values read after the loops are copied out of the last iteration that wrote them.
Refuses: an array that the loops do not write, a read that needs another iteration's value.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import islpy as isl

from polyopt.dataclass import dataclass, replace
from polyopt.errors import ScheduleError
from polyopt.ir.affine import coalesced, index_map, set_space
from polyopt.ir.expr import Expr, Iter, Load
from polyopt.ir.names import fresh_name
from polyopt.ir.scop import Array, Origin, Role, Scop, Statement
from polyopt.ir.showing import show
from polyopt.schedule.data_steps import DataStep, RewrittenProgram
from polyopt.schedule.dataflow import Dataflow, Difference, within
from polyopt.schedule.rebase import rebased
from polyopt.schedule.tree import LoopRef, Tree
from polyopt.transforms.accesses import find_array, redirected, refuse_found, touching
from polyopt.transforms.footprint import Side, ranges, shifted
from polyopt.transforms.reference import loop
from polyopt.transforms.region import (
    NewNest,
    Region,
    enter,
    levels,
    loop_nest,
    place_nests,
    place_nests_around,
)
from polyopt.transforms.written import Written

_WRITTEN = (Role.TEMP, Role.INOUT, Role.OUTPUT)


@dataclass(frozen=True, slots=True)
class Expand(DataStep, Written):
    """Give each iteration of `loops` its own copy of `array`: privatisation (Feautrier, "Array
    expansion", 1988; Li, "Array privatization for parallel execution of loops", 1992).

    Every read in the loops has to need a value of the same iteration, or one from before the loops.
    """

    array: str
    loops: tuple[str, ...]

    def renew(self, tree: Tree, scop: Scop) -> RewrittenProgram:
        """Return the changed program.

        Raises `ScheduleError` PO0301, PO0302, PO0303, PO0331, PO0332.
        """
        array = find_array(scop, self.array, str(self), _WRITTEN)
        path, chosen = self._path(tree)
        region = enter(scop, tree, path[-1], touching(scop, self.array))
        inside = [region.scop.statement(name) for name in region.values]
        if all(s.target.array != array.name for s in inside):
            raise ScheduleError(
                "PO0331",
                f"{self}: nothing inside the loops writes {array.name}",
                hint="name a temporary that each iteration computes for itself",
            )
        refuse_found(inside, array.name, str(self))
        private = _Private.of(region, array, chosen, str(self))
        users = touching(region.scop, array.name)
        flow = Dataflow(rebased(region.scop, region.tree), users)
        kept = {s.name: private.from_before(s, flow) for s in inside}
        made = private.redirected(kept)
        if any(kept.values()):  # others read the array in the loops: it changes after them
            around = _outside(region, path, chosen[0])
            copies = private.copies(flow, chosen[0], chosen)
            nests = tuple(_nest(around, copy, len(around.loops) - 1) for copy in copies)
            placed = place_nests_around(replace(around, scop=made), (), nests)
        else:
            copies = private.copies(flow, len(region.loops), ())
            nests = tuple(_nest(region, copy, len(region.loops)) for copy in copies)
            placed = place_nests(replace(region, scop=made), (), nests)
        new = replace(made, statements=(*made.statements, *copies))
        return RewrittenProgram(new, placed, region.same, frozenset(s.name for s in copies))

    def _path(self, tree: Tree) -> tuple[tuple[LoopRef, ...], tuple[int, ...]]:
        """Return the loops around the innermost one named, and the numbers of those named."""
        if not self.loops:
            raise ScheduleError("PO0303", f"{self}: at least one loop is needed")
        refs = [loop(tree, name, str(self)) for name in self.loops]
        path = max((levels(tree, ref) for ref in refs), key=len)
        for name, ref in zip(self.loops, refs, strict=True):
            if ref not in path:
                raise ScheduleError(
                    "PO0303",
                    f"{self}: {name} is not around {path[-1]}",
                    hint="name loops of one nest",
                )
        return path, tuple(sorted({path.index(ref) for ref in refs}))

    def hint(self, difference: Difference, scop: Scop) -> str | None:
        """Return what to do for a value that crosses iterations."""
        del scop
        if difference.at_end:
            return f"leave the step out: conditions decide which iteration's {self.array} is left"
        return (
            f"leave the step out: {self.array} carries a value into the iteration; "
            f"a sum may be split with `rfactor`"
        )


def _outside(region: Region, path: tuple[LoopRef, ...], first: int) -> Region:
    """Return the region of the outermost of the named loops."""
    ref = path[first]
    assert ref.position is not None
    loops = region.loops[: first + 1]
    return replace(region, label=ref.label, position=ref.position, loops=loops)


def _nest(region: Region, copy: Statement, first: int) -> NewNest:
    return NewNest((copy,), loop_nest(region.tree, copy.name, copy, first, copy.iters[first:]))


@dataclass(frozen=True, eq=False)
class _Private:
    """The array with a copy per iteration of the loops numbered `chosen`.

    `sides` bound the loops' values, `elements` the elements that the loops touch.
    """

    region: Region
    source: Array
    array: Array
    chosen: tuple[int, ...]
    sides: tuple[Side, ...]
    elements: tuple[Side, ...]

    @staticmethod
    def of(region: Region, source: Array, chosen: tuple[int, ...], step: str) -> _Private:
        """Return the private array; raises `ScheduleError` PO0332."""
        scop = region.scop
        values: list[isl.Set] = []
        touched: list[isl.Set] = []
        for name, own in region.values.items():
            statement = scop.statement(name)
            domain = statement.domain.intersect_params(scop.context)
            values.append(index_map(domain, "", [own[n] for n in chosen]).range())
            for access in (statement.write, *statement.reads):
                if access.array == source.name:
                    touched.append(within(scop, access).range())
        sides = ranges(_union(values), scop.params, step)
        elements = ranges(_union(touched), scop.params, step)
        name = source.name
        everything = set(touching(scop, name)) <= set(region.values)
        if source.role is not Role.TEMP or not everything:
            name = fresh_name(f"{name}_own", {a.name for a in scop.arrays} | set(scop.params))
        shape = tuple(side.extent for side in (*sides, *elements) if not side.is_single)
        array = Array(name, source.dtype, shape, Role.TEMP)
        return _Private(region, source, array, chosen, sides, elements)

    @property
    def is_whole(self) -> bool:
        """Nothing outside the loops uses the array."""
        return self.array.name == self.source.name

    def cell(self, values: tuple[Expr, ...], index: tuple[Expr, ...]) -> Load:
        """Return the cell for an element in an iteration of the chosen loops."""
        pairs = zip((*values, *index), (*self.sides, *self.elements), strict=True)
        found = tuple(shifted(i, side) for i, side in pairs if not side.is_single)
        return Load(self.array.name, found, self.array.dtype)

    def redirected(self, kept: Mapping[str, frozenset[Load]]) -> Scop:
        """Return the Scop whose iterations use their own cells; the reads `kept` stay."""
        scop = self.region.scop
        statements = []
        for statement in scop.statements:
            values = self.region.values.get(statement.name)
            if values is not None:
                own = partial(self.cell, tuple(values[n] for n in self.chosen))
                stay = kept[statement.name]
                statement = redirected(statement, self.source.name, own, stay)
            statements.append(statement)
        arrays = tuple(a for a in scop.arrays if a.name != self.array.name)
        return replace(scop, arrays=(*arrays, self.array), statements=tuple(statements))

    def from_before(self, statement: Statement, flow: Dataflow) -> frozenset[Load]:
        """Return the reads of the array that no instance inside the loops writes for."""
        if self.is_whole:
            return frozenset()
        found: dict[Load, bool] = {}
        for number, read in enumerate(statement.reads):
            if read.array == self.source.name:
                load = Load(read.array, read.index, self.source.dtype)
                writers = flow.of_read(statement, number).writers
                outer = bool(writers.intersect_domain(self._inside()).is_empty())
                found[load] = found.get(load, True) and outer
        return frozenset(load for load, outer in found.items() if outer)

    def _inside(self) -> isl.UnionSet:
        result = isl.UnionSet.empty(self.region.scop.context.get_space())
        for name in self.region.values:
            result = result.union(isl.UnionSet.from_set(self.region.scop.statement(name).domain))
        return result

    def copies(self, flow: Dataflow, outer: int, chosen: tuple[int, ...]) -> list[Statement]:
        """Return the statement that copies out values read after the loops, if there are any.

        Its iterators are the first `outer` loops, copies of the loops `chosen`, the subscripts.
        """
        leaving = None if self.is_whole else self._leaving(flow, (*range(outer), *chosen))
        if leaving is None:
            return []
        scop = self.region.scop
        loops = self.region.loops
        names: list[str] = []
        elements = (f"{self.source.name}{dim}" for dim in range(len(self.source.shape)))
        for wish in (*loops[:outer], *(f"{loops[n]}_last" for n in chosen), *elements):
            names.append(fresh_name(wish, (*names, *scop.params)))
        name = fresh_name(f"{self.source.name}_last", (s.name for s in scop.statements))
        iters = tuple(map(Iter, names))
        own = iters[outer : outer + len(chosen)] if chosen else [iters[n] for n in self.chosen]
        index = iters[outer + len(chosen) :]
        universe = isl.Set.universe(set_space(scop.params, name, names))
        domain = coalesced(index_map(universe, "", iters).intersect_range(leaving).domain())
        value = self.cell(tuple(own), index)
        target = Load(self.source.name, index, self.source.dtype)
        text = f"{show(target)} = {show(value)}"
        origin = Origin("")
        return [Statement(name, tuple(names), domain, (), target, value, None, text, origin=origin)]

    def _leaving(self, flow: Dataflow, numbers: tuple[int, ...]) -> isl.Set | None:
        """Return [values of the loops `numbers`, subscripts] of the writes read after the loops."""
        scop = flow.scop
        pairs = flow.empty
        for statement in scop.statements:
            if statement.name not in self.region.values:
                for number, read in enumerate(statement.reads):
                    if read.array == self.source.name:
                        pairs = pairs.union(flow.of_read(statement, number).writers)
        if self.source.role is not Role.TEMP:
            elements = flow.written(self.source.name)
            pairs = pairs.union(flow.at_end(self.source.name, elements).writers)
        writers = pairs.domain().intersect(self._inside())
        found: list[isl.Set] = []
        for name, values in self.region.values.items():
            statement = scop.statement(name)
            own = writers.intersect(isl.UnionSet.from_set(statement.domain))
            writes = statement.target.array == self.source.name and statement.write.exact
            if writes and not own.is_empty():
                place_of = (*(values[n] for n in numbers), *statement.target.index)
                found.append(index_map(isl.Set.from_union_set(own), "", place_of).range())
        return _union(found) if found else None


def _union(sets: list[isl.Set]) -> isl.Set:
    result = sets[0]
    for one in sets[1:]:
        result = result.union(one)
    return coalesced(result)
