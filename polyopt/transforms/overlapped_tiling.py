"""Build overlapped tiles of several time steps: domains of statements, copies in and out.

In: the region of a loop over time steps, sizes.  Out: `PingPong`, and the Scop with the arrays of
tiles.  Refuses (`NoHalo`): regions without halos.
An array whose values a time step reads from the step before is carried: copied in and out in every
phase.  Others start undefined and are copied out after the last time step.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

import islpy as isl

from polyopt.dataclass import dataclass, replace
from polyopt.ir.affine import coalesced, condition_set, index_map, set_space
from polyopt.ir.expr import Compare, CompareOp, Expr, Iter, Load, Param, add, integer, mul, sub
from polyopt.ir.linear import linear
from polyopt.ir.names import fresh_name
from polyopt.ir.parameters import maps_of
from polyopt.ir.scop import Array, Origin, Role, Scop, Statement
from polyopt.schedule.dataflow import Dataflow
from polyopt.schedule.rebase import rebased
from polyopt.transforms.footprint import hull_box
from polyopt.transforms.halo import Halo, NoHalo, distances, halos
from polyopt.transforms.local import Local
from polyopt.transforms.overlap_copies import (
    Copier,
    between,
    copy_of,
    lifted,
    space_of,
    subscripts_of,
)
from polyopt.transforms.ping_pong import Phase, PingPong
from polyopt.transforms.region import Region

NAMES = ("there", "back")
"""The phases: the first writes the second array, which the other reads."""
PIECES = 8
"""Boxes of elements that are never written, for each of which there is a copy."""


@dataclass(frozen=True, eq=False)
class OverlapPlan:
    """`statements` run `steps` iterations of the region's loop in tiles of `sizes` elements.

    `outer` are names for the loops around it, `tiles` for all loops around a tile's code: `outer`,
    pairs of phases, the tiles; `elements` are names for subscripts.
    """

    region: Region
    statements: tuple[Statement, ...]
    steps: int
    sizes: tuple[int, ...]
    outer: tuple[str, ...]
    tiles: tuple[str, ...]
    elements: tuple[str, ...]
    halos: dict[str, tuple[Halo, ...]]

    @staticmethod
    def of(region: Region, steps: int, sizes: tuple[int, ...]) -> OverlapPlan:
        """Return the plan; raises `NoHalo`."""
        scop = region.scop
        statements = tuple(s for s in scop.statements if s.name in region.values)
        count = len(region.loops) - 1
        for statement in statements:
            _check(statement, region.values[statement.name], len(sizes))
        found = halos(statements, len(sizes))
        taken = {name for s in statements for name in s.iters} | set(scop.params)
        names = _names(statements, len(sizes))
        outer: list[str] = []
        for wish in region.loops[:count]:
            outer.append(fresh_name(wish, {*outer, *taken}))
        tiles = list(outer)
        for wish in (region.loops[-1], *names):
            tiles.append(fresh_name(f"{wish}_tile", {*tiles, *taken}))
        elements: list[str] = []
        for wish in names:
            elements.append(fresh_name(f"{wish}_at", {*elements, *tiles, *taken}))
        return OverlapPlan(
            region, statements, steps, sizes, tuple(outer), tuple(tiles), tuple(elements), found
        )

    # -- sets: [outer, time], [outer, element], [tiles, element]

    @property
    def params(self) -> tuple[str, ...]:
        """The sizes of the program."""
        return self.region.scop.params

    @property
    def pair(self) -> Expr:
        """The number of a pair of phases."""
        return Iter(self.tiles[len(self.outer)])

    @cached_property
    def written(self) -> dict[str, isl.Set]:
        """`{ [outer, element] }` that is written, by array."""
        found: dict[str, isl.Set] = {}
        for s in self.statements:
            own = self._elements(s, s.target.index)
            name = s.target.array
            found[name] = own if name not in found else found[name].union(own)
        return {name: coalesced(own) for name, own in found.items()}

    def read(self, array: str) -> isl.Set:
        """Return `{ [outer, element] }` that is read of an array."""
        found = isl.Set.empty(self.written[array].get_space())
        for s in self.statements:
            for access in s.reads:
                if access.array == array:
                    found = found.union(self._elements(s, access.index))
        return coalesced(found)

    def _elements(self, statement: Statement, index: Sequence[Expr]) -> isl.Set:
        values = self.region.values[statement.name][: len(self.outer)]
        return subscripts_of(self._domain(statement), (*values, *index)).range()

    def _domain(self, statement: Statement) -> isl.Set:
        return statement.domain.intersect_params(self.region.scop.context)

    @cached_property
    def times(self) -> isl.Set:
        """`{ [outer, time] }`."""
        found = [
            subscripts_of(self._domain(s), self.region.values[s.name]).range()
            for s in self.statements
        ]
        whole = found[0]
        for one in found[1:]:
            whole = whole.union(one)
        return coalesced(whole)

    def check_steady(self) -> None:
        """Check that every time step writes the same elements; raises `NoHalo`."""
        for name, elements in self.written.items():
            steps: isl.Set | None = None
            for s in self.statements:
                if s.target.array == name:
                    place = (*self.region.values[s.name], *s.target.index)
                    own = subscripts_of(self._domain(s), place).range()
                    steps = own if steps is None else steps.union(own)
            assert steps is not None
            space = space_of(self.params, (*self.outer, "$t", *self.elements))
            whole = lifted(space, (*self.outer, "$t"), self.times)
            whole = whole.intersect(lifted(space, (*self.outer, *self.elements), elements))
            if not whole.is_subset(steps):
                raise NoHalo(f"not every time step writes all of {name}")

    @cached_property
    def carried(self) -> frozenset[str]:
        """The arrays of which a time step reads values from before it."""
        flow = Dataflow(rebased(self.region.scop, self.region.tree))
        names = {s.name for s in self.statements}
        found = set()
        for s in self.statements:
            for number, read in enumerate(s.reads):
                if read.array in self.written and read.array not in found:
                    sources = flow.of_read(s, number)
                    if self._is_from_before(s, sources.writers, sources.initial, names):
                        found.add(read.array)
        return frozenset(found)

    def _is_from_before(
        self, reader: Statement, writers: isl.UnionMap, initial: isl.UnionMap, names: set[str]
    ) -> bool:
        """Tell whether a step reads elements that earlier steps of the loop write."""
        pairs = maps_of(writers)
        loops = self.region.map_loops(reader.name)
        for one in pairs:
            writer = str(one.get_tuple_name(isl.dim_type.in_))
            if writer not in names:
                return True
            same = self.region.map_loops(writer).apply_range(loops.reverse())
            if not one.is_subset(same):
                return True
        known = maps_of(initial)
        for one in known:
            name = str(one.get_tuple_name(isl.dim_type.out))
            for s in self.statements:
                if s.target.array == name and not one.range().is_disjoint(s.write.relation.range()):
                    return True
        return False

    @cached_property
    def space(self) -> isl.Space:
        """`{ [tiles, element] }`."""
        return space_of(self.params, (*self.tiles, *self.elements))

    @cached_property
    def running(self) -> isl.Set:
        """`{ [tiles, element] }` of the tiles of which some element is written."""
        first = len(self.outer)
        pairs = space_of(self.params, (*self.tiles[: first + 1], "$t"))
        time = lifted(pairs, (*self.outer, "$t"), self.times)
        start = mul(integer(2 * self.steps), self.pair)
        for condition in between(Iter("$t"), start, 2 * self.steps):
            time = time.intersect(condition_set(condition, pairs))
        time = time.project_out(isl.dim_type.set, first + 1, 1)
        spread = space_of(self.params, (*self.outer, *self.tiles[first + 1 :], *self.elements))
        rank = len(self.sizes)
        tiles: isl.Set | None = None
        for elements in self.written.values():
            own = lifted(spread, (*self.outer, *self.elements), elements)
            for condition in self._around([(0, 0)] * rank):
                own = own.intersect(condition_set(condition, spread))
            own = own.project_out(isl.dim_type.set, first + rank, rank)
            tiles = own if tiles is None else tiles.union(own)
        assert tiles is not None
        names = (*self.outer, *self.tiles[first + 1 :])
        result = lifted(self.space, self.tiles[: first + 1], time)
        return coalesced(result.intersect(lifted(self.space, names, coalesced(tiles))))

    def _around(self, margins: Sequence[tuple[int, int]]) -> Iterator[Compare]:
        """Yield the conditions that an element is in a tile widened by `margins`."""
        tiles = self.tiles[len(self.outer) + 1 :]
        for at, tile, size, (below, above) in zip(
            self.elements, tiles, self.sizes, margins, strict=True
        ):
            start = sub(mul(integer(size), Iter(tile)), integer(below))
            yield from between(Iter(at), start, below + size + above)

    def near(self, margins: Sequence[tuple[int, int]]) -> isl.Set:
        """Return `{ [tiles, element] }` of the elements in tiles widened by `margins`."""
        result = self.running
        for condition in self._around(margins):
            result = result.intersect(condition_set(condition, self.space))
        return result

    def on(self, elements: isl.Set) -> isl.Set:
        """Return `{ [tiles, element] }` for `{ [outer, element] }`."""
        return lifted(self.space, (*self.outer, *self.elements), elements)

    def last(self, number: int) -> isl.Set:
        """Return `{ [tiles, element] }` of the phase with the last time step."""
        space = space_of(self.params, (*self.outer, "$t"))
        whole = isl.Set.universe(space).intersect(lifted(space, (*self.outer, "$t"), self.times))
        around = subscripts_of(whole, tuple(map(Iter, self.outer))).reverse()
        final = around.apply_range(subscripts_of(whole, (Iter("$t"),))).lexmax()
        ends = final.wrap().flatten()
        pairs = space_of(self.params, (*self.tiles[: len(self.outer) + 1], "$t"))
        result = lifted(pairs, (*self.outer, "$t"), ends)
        for condition in between(Iter("$t"), self._start(number), self.steps):
            result = result.intersect(condition_set(condition, pairs))
        result = result.project_out(isl.dim_type.set, len(self.outer) + 1, 1)
        return lifted(self.space, self.tiles[: len(self.outer) + 1], result)

    def _start(self, number: int) -> Expr:
        """Return the first time step of a phase."""
        return add(mul(integer(2 * self.steps), self.pair), integer(number * self.steps))

    def margins(self, array: str) -> tuple[tuple[int, int], ...]:
        """Return the widths of an array's halo around a tile."""
        found = []
        for dim in range(len(self.sizes)):
            below, above = [0], [0]
            for s in self.statements:
                reach = self.halos[s.name][dim]
                steps = [reach.below.at(self.steps - 1), reach.above.at(self.steps - 1)]
                touched = list(distances(s, array, dim))
                touched += [0] if s.target.array == array else []
                below += [steps[0] + max(0, -far) for far in touched]
                above += [steps[1] + max(0, far) for far in touched]
            found.append((max(below), max(above)))
        return tuple(found)

    # -- statements

    def phases(self, step: str) -> tuple[PingPong, Scop]:
        """Return the phases that replace the region, and the Scop with the arrays they need."""
        self.check_steady()
        names = {s.name for s in self.region.scop.statements}
        arrays = {a.name for a in self.region.scop.arrays} | set(self.params)
        made: list[list[Statement]] = []
        values: dict[str, tuple[Expr, ...]] = {}
        for number in range(2):
            own = [self._again(s, number, names) for s in self.statements]
            made.append(own)
            first = len(self.outer)
            for s, old in zip(own, self.statements, strict=True):
                around = self.region.values[old.name][:first]
                values[s.name] = (*around, *map(Iter, self.tiles[first:]))
        scop = replace(self.region.scop, statements=(*made[0], *made[1]))
        seconds: dict[str, Array] = {}
        for name in sorted(self.carried):
            array = self.region.scop.array(name)
            other = fresh_name(f"{name}_next", arrays)
            arrays.add(other)
            seconds[name] = Array(other, array.dtype, array.shape, Role.TEMP)
        scop = replace(scop, arrays=(*scop.arrays, *seconds.values()))
        firsts = tuple(self._start_of(a, seconds[a], names) for a in seconds)
        phases = []
        for number, own in enumerate(made):
            before: list[Statement] = []
            after: list[Statement] = []
            for name in sorted(self.written, key=lambda array: array not in self.carried):
                region = replace(
                    self.region, scop=scop, loops=self.tiles,
                    values={s.name: values[s.name] for s in own},
                )  # fmt: skip
                local = self._local(region, name, number, step)
                scop = local.redirected()
                copier = Copier(self.params, self.tiles, local, names)
                second = seconds.get(name)
                # copies of all tiles come first: loops over tiles are not pulled apart
                before += self._copies_in(copier, name, second, number)
                after += self._copies_out(copier, name, second, number)
            steps = tuple(scop.statement(s.name) for s in own)
            phases.append(Phase(NAMES[number], tuple(before), steps, tuple(after)))
        for phase in phases:
            for s in (*phase.before, *phase.after):
                values[s.name] = tuple(map(Iter, self.tiles))
        for s in firsts:
            values[s.name] = tuple(map(Iter, self.outer))
        result = PingPong(
            firsts, tuple(phases), self.statements, values, self.tiles, len(self.outer)
        )
        return result, scop

    def _again(self, statement: Statement, number: int, names: set[str]) -> Statement:
        """Return a statement of the region as one phase runs it, in all tiles that need it."""
        name = fresh_name(f"{statement.name}_{NAMES[number]}", names)
        names.add(name)
        first = len(self.outer)
        iters = (*self.tiles[first:], *statement.iters)
        space = set_space(self.params, name, iters)
        around = self.region.values[statement.name]
        everything = isl.Set.universe(space)
        own = index_map(everything, statement.name, tuple(map(Iter, statement.iters)))
        domain = own.intersect_range(statement.domain).domain()
        place = (*around[:first], *map(Iter, self.tiles[first:]), *[integer(0)] * len(self.sizes))
        exists = self.running.project_out(isl.dim_type.set, len(self.tiles), len(self.sizes))
        tiles = subscripts_of(everything, place[: len(self.tiles)])
        domain = domain.intersect(tiles.intersect_range(exists.reset_tuple_id()).domain())
        start = self._start(number)
        left = sub(add(start, integer(self.steps - 1)), around[-1])
        for condition in between(around[-1], start, self.steps):
            domain = domain.intersect(condition_set(condition, space))
        for dim, reach in enumerate(self.halos[statement.name]):
            at = statement.target.index[dim]
            tile = mul(integer(self.sizes[dim]), Iter(self.tiles[first + 1 + dim]))
            below = add(integer(reach.below.least), mul(integer(reach.below.slope), left))
            above = add(integer(reach.above.least), mul(integer(reach.above.slope), left))
            least = Compare(CompareOp.GE, add(at, below), tile)
            most = Compare(CompareOp.LT, at, add(add(tile, integer(self.sizes[dim])), above))
            for condition in (least, most):
                domain = domain.intersect(condition_set(condition, space))
        known = Origin(statement.name, tuple(map(Iter, statement.iters)))
        loops = (*[None] * (len(iters) - len(statement.iters)), *statement.loops)
        return replace(
            statement,
            name=name,
            iters=iters,
            domain=coalesced(domain),
            origin=statement.origin or known,
            loops=loops if statement.loops else (),
        )

    def _local(self, region: Region, array: str, number: int, step: str) -> Local:
        space = self.near(self.margins(array))
        touched = index_map(space, array, tuple(map(Iter, self.elements)))
        domain = subscripts_of(space, tuple(map(Iter, self.tiles)))
        boxes = domain.reverse().apply_range(touched)
        wish = f"{array}_{NAMES[number]}"
        return Local.around(region, region.scop.array(array), boxes, wish, step)

    def _start_of(self, array: str, second: Array, names: set[str]) -> Statement:
        """Return the copy of an array into the second one, before all phases."""
        name = fresh_name(f"{array}_start", names)
        names.add(name)
        iters = (*self.outer, *self.elements)
        space = set_space(self.params, name, iters)
        whole = hull_box(self._touched(array), len(self.outer))
        domain = lifted(space, iters, whole)
        index = tuple(map(Iter, self.elements))
        source = self.region.scop.array(array)
        target, value = Load(second.name, index, source.dtype), Load(array, index, source.dtype)
        return copy_of(name, iters, coalesced(domain), target, value)

    def _touched(self, array: str) -> isl.Set:
        return coalesced(self.written[array].union(self.read(array)))

    def _copies_in(
        self, copier: Copier, array: str, second: Array | None, number: int
    ) -> Iterator[Statement]:
        near = self.near(self.margins(array))
        source = self.region.scop.array(array)
        if second is not None:
            whole = hull_box(self._touched(array), len(self.outer))
            origin = second if number else source
            yield copier.into(near.intersect(self.on(whole)), origin)
            return
        rest = self.read(array).subtract(self.written[array])
        pieces: list[isl.BasicSet] = []
        coalesced(rest).make_disjoint().foreach_basic_set(pieces.append)
        if len(pieces) > PIECES:
            raise NoHalo(f"what is read of {array} and never written is in many pieces")
        for piece in pieces:
            where = near.intersect(self.on(isl.Set.from_basic_set(piece)))
            if not where.is_empty():
                yield copier.into(coalesced(where), source)

    def _copies_out(
        self, copier: Copier, array: str, second: Array | None, number: int
    ) -> Iterator[Statement]:
        source = self.region.scop.array(array)
        own = self.near([(0, 0)] * len(self.sizes)).intersect(self.on(self.written[array]))
        if second is not None:
            yield copier.out_of(coalesced(own), source if number else second)
        elif source.role is not Role.TEMP or self._is_read_outside(array):
            yield copier.out_of(coalesced(own.intersect(self.last(number))), source)

    def _is_read_outside(self, array: str) -> bool:
        inside = {s.name for s in self.statements}
        return any(
            read.array == array
            for s in self.region.scop.statements
            if s.name not in inside
            for read in s.reads
        )


def _check(statement: Statement, values: tuple[Expr, ...], rank: int) -> None:
    """Check that a statement writes an element of each tile's dimensions; raises `NoHalo`."""
    names = {value.name for value in values if isinstance(value, Iter)}
    if len(names) < len(values):
        raise NoHalo(f"the loops around {statement.name} are not its own")
    if len(statement.target.index) != rank or not statement.write.exact:
        message = f"{statement.name} writes an array of {len(statement.target.index)} dimensions"
        raise NoHalo(f"{message}, {rank} sizes were given")
    for index in statement.target.index:
        terms = [term for term in linear(index).terms if not isinstance(term[0], Param)]
        if terms and not (len(terms) == 1 and terms[0][1] == 1 and isinstance(terms[0][0], Iter)):
            raise NoHalo(f"a subscript of what {statement.name} writes is no loop of its own")
        if any(atom.name in names for atom, _ in terms if isinstance(atom, Iter)):
            raise NoHalo(f"{statement.name} writes other elements in each time step")


def _names(statements: Iterable[Statement], rank: int) -> list[str]:
    """Return names for the dimensions, after the first statement's own loops."""
    found = [f"e{dim}" for dim in range(rank)]
    for dim in range(rank):
        for statement in statements:
            terms = linear(statement.target.index[dim]).terms
            names = [atom.name for atom, _ in terms if isinstance(atom, Iter)]
            if names:
                found[dim] = names[0]
                break
    return found
