"""Pack: copy what one iteration of a loop uses of an array into an array of its own.

In: an array, a loop.  Out: copies in at the begin of an iteration, copies out at its end, accesses
inside that use the copy.
Refuses: an array that the loop does not touch, a footprint that nothing bounds.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import islpy as isl

from polyopt.errors import ScheduleError
from polyopt.ir.affine import index_box, index_map, set_space
from polyopt.ir.expr import Expr, Iter, Load, add, normalize, show, substitute
from polyopt.ir.scop import AccessKind, Array, Origin, Role, Scop, Statement
from polyopt.schedule.data import DataStep, Renewal
from polyopt.schedule.dataflow import values_from_before
from polyopt.schedule.rebase import rebased
from polyopt.schedule.tree import Tree
from polyopt.transforms.accesses import find_array, redirected, touching
from polyopt.transforms.footprint import Side, box, hull_box, ranges, shifted
from polyopt.transforms.reference import loop
from polyopt.transforms.region import Nest, Region, enter, fresh_name, loop_nest, place


@dataclass(frozen=True, slots=True)
class Pack(DataStep):
    """Keep a copy of what one iteration of `loop` uses of `array` (Kandemir et al., "Dynamic
    management of scratch-pad memory space", 2001).

    Elements that are read before the iteration writes them are copied in, elements that it writes
    are copied out.  The copy is called `A_pack`, its nests `A_in` and `A_out`.

    >>> from polyopt.schedule.demo import demo
    >>> from polyopt.transforms.tile import Tile
    >>> print(demo().apply(Tile("L0", (32, 32)), Pack("A0", "j_tile")))
    for i_tile = i_tile:  [L0.tile[0]]  # carries no dependence, permutable band
      for j_tile = j_tile:  [L0.tile[1]]  # carries no dependence
        for A00 = A00:  [A0_in[0]]  # carries no dependence, permutable band
          for A01 = A01:  [A0_in[1]]  # carries no dependence
            A0_in: A0_pack[i_tile, j_tile, A00, A01] = A0[A00 + 32 * i_tile, A01 + 32 * j_tile]
        for i = i:  [L0.point[0]]  # carries no dependence, permutable band
          for j = j:  [L0.point[1]]  # carries no dependence
            S0: A1[i, j] = A0[i, j]
    """

    array: str
    loop: str

    def renew(self, tree: Tree, scop: Scop) -> Renewal:
        """Return the changed program; raises `ScheduleError` PO0301, PO0302, PO0331, PO0332."""
        array = find_array(scop, self.array, str(self))
        ref = loop(tree, self.loop, str(self))
        region = enter(scop, tree, ref, touching(scop, self.array))
        if not region.values:
            raise ScheduleError(
                "PO0331",
                f"{self}: nothing inside the loop touches {self.array}",
                hint="name an array that the loop reads or writes",
            )
        local = Local.of(region, array, f"{array.name}_pack", str(self))
        inside = local.redirected()
        wanted, written = _needed(rebased(inside, region.tree), local.array.name)
        before = [local.copy(f"{array.name}_in", part, out=False) for part in _sets(wanted)]
        after = [local.copy(f"{array.name}_out", part, out=True) for part in _sets(written)]
        new = replace(inside, statements=(*before, *inside.statements, *after))
        placed = place(
            replace(region, scop=inside),
            tuple(map(local.nest, before)),
            tuple(map(local.nest, after)),
        )
        copies = frozenset(s.name for s in (*before, *after))
        return Renewal(new, placed, region.same, copies)

    def __str__(self) -> str:
        return f"pack({self.array}, {self.loop})"


@dataclass(frozen=True, eq=False)
class Local:
    """An array for what an iteration of a region uses of another: the loops' values, then a box."""

    region: Region
    source: Array
    array: Array
    loops: tuple[Side, ...]
    sides: tuple[Side, ...]

    @staticmethod
    def of(region: Region, source: Array, wish: str, step: str) -> Local:
        """Return the local array of `source`; raises `ScheduleError` PO0332."""
        scop = region.scop
        touched: isl.Map | None = None
        for name in region.values:
            statement = scop.statement(name)
            for access in (statement.write, *statement.reads):
                if access.array == source.name:
                    own = access.relation.intersect_params(scop.context)
                    part = region.map_loops(name).reverse().apply_range(own)
                    touched = part if touched is None else touched.union(part)
        assert touched is not None
        names = _loop_names(region)
        sides = box(touched.coalesce(), names, scop.params, step)
        loops = ranges(touched.domain(), scop.params, step)
        taken = {a.name for a in scop.arrays} | set(scop.params)
        shape = tuple(side.extent for side in (*loops, *sides))
        array = Array(fresh_name(wish, taken), source.dtype, shape, Role.TEMP)
        return Local(region, source, array, loops, sides)

    def cell(self, values: tuple[Expr, ...], index: tuple[Expr, ...]) -> Load:
        """Return the cell for an element, subscripts given, in an iteration of the loops."""
        names = dict(zip(_loop_names(self.region), values, strict=True))
        outer = (shifted(v, side) for v, side in zip(values, self.loops, strict=True))
        sides = (replace(s, origin=substitute(s.origin, names)) for s in self.sides)
        inner = (shifted(i, side) for i, side in zip(index, sides, strict=True))
        return Load(self.array.name, (*outer, *inner), self.array.dtype)

    def redirected(self) -> Scop:
        """Return the Scop in which the region's statements use the local array."""
        statements = []
        for statement in self.region.scop.statements:
            values = self.region.values.get(statement.name)
            if values is not None:
                place_of = partial(self.cell, values)
                statement = redirected(statement, self.source.name, place_of)
            statements.append(statement)
        arrays = (*self.region.scop.arrays, self.array)
        return replace(self.region.scop, arrays=arrays, statements=tuple(statements))

    def copy(self, wish: str, cells: isl.Set, *, out: bool) -> Statement:
        """Return the statement that copies `cells` of the local array in or out."""
        scop = self.region.scop
        loops = _loop_names(self.region)
        elements: list[str] = []
        for dim in range(len(self.sides)):
            elements.append(fresh_name(f"{self.source.name}{dim}", (*loops, *scop.params)))
        iters = (*loops, *elements)
        name = fresh_name(wish, (s.name for s in scop.statements))
        here = tuple(Iter(name) for name in loops)
        sides = zip(elements, self.sides, strict=True)
        index = tuple(normalize(add(Iter(name), side.origin)) for name, side in sides)
        cell = self.cell(here, index)
        element = Load(self.source.name, index, self.source.dtype)
        space = set_space(scop.params, name, iters)
        to_cell = index_map(isl.Set.universe(space), self.array.name, cell.index)
        domain = to_cell.intersect_range(cells).domain().coalesce()
        if not out:
            to_element = index_map(isl.Set.universe(space), self.source.name, index)
            domain = self._rounded(domain, to_element)
        target, value = (element, cell) if out else (cell, element)
        text = f"{show(target)} = {show(value)}"
        origin = Origin("")
        return Statement(name, iters, domain, (), target, value, None, text, origin=origin)

    def _rounded(self, domain: isl.Set, to_element: isl.Map) -> isl.Set:
        """Return a set with simple loops: elements that nobody writes may be copied needlessly."""
        if domain.n_basic_set() == 1:
            return domain
        scop = self.region.scop
        whole = index_box(self.source.name, self.source.shape, scop.params)
        hull = hull_box(domain, len(self.region.loops))
        hull = hull.intersect(to_element.intersect_range(whole).domain())
        added = hull.subtract(domain).apply(to_element)
        writes = (s.write for s in scop.statements if s.write.array == self.source.name)
        if all(added.is_disjoint(write.relation.range()) for write in writes):
            return hull
        return domain

    def nest(self, statement: Statement) -> Nest:
        """Return the loops of a copy, called as the statement."""
        loops = len(self.region.loops)
        names = statement.iters[loops:]
        tree = loop_nest(self.region.tree, statement.name, statement, loops, names)
        return Nest((statement,), tree)


def _needed(scop: Scop, array: str) -> tuple[isl.UnionSet, isl.UnionSet]:
    """Return the cells that have to be filled before an iteration, and those it writes."""
    wanted = values_from_before(scop, array)
    written = isl.UnionSet.empty(scop.context.get_space())
    for statement in scop.statements:
        if statement.write.array == array:
            inside = statement.write.relation.intersect_params(scop.context)
            cells = isl.UnionSet.from_set(inside.range())
            written = written.union(cells)
            if statement.write.kind is AccessKind.MAY_WRITE:
                wanted = wanted.union(cells)
    return wanted.coalesce(), written.coalesce()


def _sets(values: isl.UnionSet) -> list[isl.Set]:
    found: list[isl.Set] = []
    values.foreach_set(found.append)
    return found


def _loop_names(region: Region) -> tuple[str, ...]:
    """Return a name for each of the region's loops, no two the same."""
    names: list[str] = []
    for name in region.loops:
        names.append(fresh_name(name, (*names, *region.scop.params)))
    return tuple(names)
