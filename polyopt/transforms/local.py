"""Give each iteration of a loop a local array for its part of another array.

In: a region, an array.  Out: the local array, statements that use it, copies in and out.
Refuses: an unbounded footprint (PO0332).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import partial

import islpy as isl

from polyopt.dataclass import dataclass, replace
from polyopt.ir.affine import coalesced, condition_set, index_box, index_map, set_space
from polyopt.ir.expr import Compare, CompareOp, Expr, Iter, Load, add, substitute
from polyopt.ir.linear import normalize
from polyopt.ir.names import fresh_name
from polyopt.ir.scop import Access, Array, Origin, Role, Scop, Statement
from polyopt.ir.showing import show
from polyopt.schedule.dataflow import within
from polyopt.transforms.accesses import redirected
from polyopt.transforms.footprint import Side, box, hull_box, nested_ranges, ranges, shifted
from polyopt.transforms.region import NewNest, Region, loop_nest


@dataclass(frozen=True, eq=False)
class Local:
    """A local array of a region's iterations: dimensions for the loops' values, then a box."""

    region: Region
    source: Array
    array: Array
    loops: tuple[Side, ...]
    sides: tuple[Side, ...]

    @staticmethod
    def of(region: Region, source: Array, wish: str, step: str) -> Local:
        """Return the local array for all accesses; raises `ScheduleError` PO0332."""
        touched: isl.Map | None = None
        for _, part in touched_by(region, source.name):
            touched = part if touched is None else touched.union(part)
        assert touched is not None
        return Local.around(region, source, touched, wish, step)

    @staticmethod
    def around(
        region: Region,
        source: Array,
        touched: isl.Map,
        wish: str,
        step: str,
        *,
        is_nested: bool = False,
    ) -> Local:
        """Return the local array for { values of the loops -> element }; raises as `of` does.

        `is_nested`: loops are counted from their first value inside the loops around them.
        """
        scop = region.scop
        names = region_loop_names(region)
        sides = box(coalesced(touched), names, scop.params, step)
        if is_nested:
            loops = nested_ranges(touched.domain(), names, scop.params, step)
        else:
            loops = ranges(touched.domain(), scop.params, step)
        taken = {a.name for a in scop.arrays} | set(scop.params)
        shape = tuple(side.extent for side in (*loops, *sides) if not side.is_single)
        array = Array(fresh_name(wish, taken), source.dtype, shape, Role.TEMP)
        return Local(region, source, array, loops, sides)

    def cell(self, values: tuple[Expr, ...], index: tuple[Expr, ...]) -> Load:
        """Return the cell for an element, subscripts given, in an iteration of the loops."""
        names = dict(zip(region_loop_names(self.region), values, strict=True))
        sides = self.moved((*self.loops, *self.sides), names)
        pairs = zip((*values, *index), sides, strict=True)
        found = tuple(shifted(i, side) for i, side in pairs if not side.is_single)
        return Load(self.array.name, found, self.array.dtype)

    def elements(self, loops: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[Expr, ...]]:
        """Return iterators over the box, none for a side of one element, and the subscripts."""
        names: list[str] = []
        index: list[Expr] = []
        values = dict(zip(region_loop_names(self.region), map(Iter, loops), strict=True))
        for dim, side in enumerate(self.moved(self.sides, values)):
            if side.is_single:
                index.append(side.origin)
                continue
            taken = (*loops, *names, *self.region.scop.params)
            names.append(fresh_name(f"{self.source.name}{dim}", taken))
            index.append(normalize(add(Iter(names[-1]), side.origin)))
        return tuple(names), tuple(index)

    @staticmethod
    def moved(sides: Iterable[Side], values: Mapping[str, Expr]) -> tuple[Side, ...]:
        """Return the sides of the box for values of the loops."""
        return tuple(replace(s, origin=substitute(s.origin, dict(values))) for s in sides)

    def redirected(self, kept: Collection[Load] = ()) -> Scop:
        """Return the Scop in which the region's statements use the local array.

        Reads in `kept` stay as they are.
        """
        statements = []
        for statement in self.region.scop.statements:
            values = self.region.values.get(statement.name)
            if values is not None:
                place_of = partial(self.cell, values)
                statement = redirected(statement, self.source.name, place_of, kept)
            statements.append(statement)
        arrays = (*self.region.scop.arrays, self.array)
        return replace(self.region.scop, arrays=arrays, statements=tuple(statements))

    def copy(self, wish: str, cells: isl.Set, *, out: bool) -> Statement:
        """Return the statement that copies `cells` of the local array in or out."""
        scop = self.region.scop
        loops = region_loop_names(self.region)
        names, index = self.elements(loops)
        iters = (*loops, *names)
        name = fresh_name(wish, (s.name for s in scop.statements))
        cell = self.cell(tuple(map(Iter, loops)), index)
        element = Load(self.source.name, index, self.source.dtype)
        space = set_space(scop.params, name, iters)
        to_cell = index_map(isl.Set.universe(space), self.array.name, cell.index)
        domain = to_cell.intersect_range(cells).domain()
        for loop, side in zip(loops, self.loops, strict=True):
            if side.is_single:  # no subscript of the cell says where the loop is
                here = Compare(CompareOp.EQ, Iter(loop), side.origin)
                domain = domain.intersect(condition_set(here, space))
        domain = coalesced(domain)
        if not out:
            to_element = index_map(isl.Set.universe(space), self.source.name, index)
            domain = self._rounded(domain, to_element)
        target, value = (element, cell) if out else (cell, element)
        text = f"{show(target)} = {show(value)}"
        origin = Origin("")
        return Statement(name, iters, domain, (), target, value, None, text, origin=origin)

    def _rounded(self, domain: isl.Set, to_element: isl.Map) -> isl.Set:
        """Return a superset with simple loops: elements that nobody writes may be copied, too.

        Of several reads, as of neighbours, the box around all is copied; of one, its elements.
        """
        scop = self.region.scop
        if domain.n_basic_set() == 1 and len(self.read_at()) < 2:
            return domain
        whole = index_box(self.source.name, self.source.shape, scop.params)
        hull = hull_box(domain, len(self.region.loops))
        hull = hull.intersect(to_element.intersect_range(whole).domain())
        added = hull.subtract(domain).apply(to_element)
        writes = (s.write for s in scop.statements if s.write.array == self.source.name)
        if hull.n_basic_set() > domain.n_basic_set():
            return domain
        if all(added.is_disjoint(write.relation.range()) for write in writes):
            return hull
        return domain

    def read_at(self) -> set[tuple[Expr, ...]]:
        """Return the distinct subscripts at which the region's statements read the array."""
        statements = map(self.region.scop.statement, self.region.values)
        reads = (read for statement in statements for read in statement.reads)
        return {read.index for read in reads if read.array == self.source.name}

    def nest(self, statement: Statement) -> NewNest:
        """Return the loops of a copy, named after the statement."""
        loops = len(self.region.loops)
        names = statement.iters[loops:]
        tree = loop_nest(self.region.tree, statement.name, statement, loops, names)
        return NewNest((statement,), tree)


def touched_by(region: Region, array: str) -> Iterator[tuple[Access, isl.Map]]:
    """Yield the accesses of an array, each with { values of the loops -> element }."""
    for name in region.values:
        statement = region.scop.statement(name)
        for access in (statement.write, *statement.reads):
            if access.array == array:
                own = within(region.scop, access)
                yield access, region.map_loops(name).reverse().apply_range(own)


def region_loop_names(region: Region) -> tuple[str, ...]:
    """Return distinct names for the region's loops."""
    names: list[str] = []
    for name in region.loops:
        names.append(fresh_name(name, (*names, *region.scop.params)))
    return tuple(names)
