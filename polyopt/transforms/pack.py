"""Pack: copy the footprint of a loop iteration in an array into an array of its own.

In: an array, a loop.  Out: copies in at the start of an iteration, copies out at its end, accesses
inside that use the copy.
Refuses: an array that the loop does not access, an unbounded or unknown footprint.
"""

from __future__ import annotations

from collections.abc import Callable

import islpy as isl

from polyopt.dataclass import dataclass, replace
from polyopt.errors import ScheduleError
from polyopt.ir.affine import coalesced
from polyopt.ir.expr import Const, Load
from polyopt.ir.parameters import sets_of
from polyopt.ir.scop import AccessKind, Array, Scop, Statement
from polyopt.schedule.data_steps import DataStep, RewrittenProgram
from polyopt.schedule.dataflow import values_from_before
from polyopt.schedule.rebase import rebased
from polyopt.schedule.tree import Tree
from polyopt.transforms.accesses import find_array, refuse_found, touching
from polyopt.transforms.footprint import Side
from polyopt.transforms.layout import Dimension, LayOut, Part, refuse_incomplete
from polyopt.transforms.local import Local, touched_by
from polyopt.transforms.reference import loop
from polyopt.transforms.region import NewNest, Region, enter, place_nests
from polyopt.transforms.written import Written


@dataclass(frozen=True, slots=True)
class Pack(DataStep, Written):
    """Copy the footprint of an iteration of `loop` in `array` into an array of its own (Kandemir
    et al., "Dynamic management of scratch-pad memory space", 2001).

    Elements that are read before the iteration writes them are copied in, elements that it writes
    are copied out.  The copy is called `A_pack`, its nests `A_in` and `A_out`.  It has the layout
    `dimensions` as in `layout`: `pack(A, k_tile, 1, 0+4)` stores a transpose whose rows are padded
    by 4 elements.

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
    dimensions: tuple[Dimension, ...] = ()

    def renew(self, tree: Tree, scop: Scop) -> RewrittenProgram:
        """Return the changed program; raises `ScheduleError` PO0301, PO0302, PO0331, PO0332."""
        array = find_array(scop, self.array, str(self))
        ref = loop(tree, self.loop, str(self))
        region = enter(scop, tree, ref, touching(scop, self.array))
        return packed(region, array, self.dimensions, str(self), place_nests)

    def footprint(self, tree: Tree, scop: Scop) -> tuple[Side, ...]:
        """Return the box of an iteration's footprint; raises as `renew` does."""
        array = find_array(scop, self.array, str(self))
        region = enter(scop, tree, loop(tree, self.loop, str(self)), touching(scop, self.array))
        return Local.of(region, array, array.name, str(self)).sides


def packed(
    region: Region,
    array: Array,
    dimensions: tuple[Dimension, ...],
    step: str,
    put: Callable[[Region, tuple[NewNest, ...], tuple[NewNest, ...]], Tree],
) -> RewrittenProgram:
    """Return the program in which a region uses a copy of `array`; `put` places the copying."""
    if dimensions:
        refuse_incomplete(dimensions, array, step)
    if not region.values:
        raise ScheduleError(
            "PO0331",
            f"{step}: nothing inside the loop touches {array.name}",
            hint="name an array that the loop reads or writes",
        )
    refuse_found(map(region.scop.statement, region.values), array.name, step)
    locals_, inside = _locals(region, array, step)
    before: list[Statement] = []
    after: list[Statement] = []
    nests: tuple[list[NewNest], list[NewNest]] = [], []
    for number, local in enumerate(locals_):
        wanted, written = _needed(rebased(inside, region.tree), local.array.name)
        wish = str(number + 1) if number else ""
        new_in = [local.copy(f"{array.name}_in{wish}", w, out=False) for w in sets_of(wanted)]
        new_out = [local.copy(f"{array.name}_out{wish}", w, out=True) for w in sets_of(written)]
        nests[0].extend(map(local.nest, new_in))
        nests[1].extend(map(local.nest, new_out))
        before += new_in
        after += new_out
    new = replace(inside, statements=(*before, *inside.statements, *after))
    placed = put(replace(region, scop=inside), tuple(nests[0]), tuple(nests[1]))
    copies = frozenset(s.name for s in (*before, *after))
    for local in locals_:
        laid = LayOut(local.array.name, _dimensions(dimensions, local))
        if laid.dimensions:
            new = laid.renew(placed, new).scop
    return RewrittenProgram(new, placed, region.same, copies)


def _locals(region: Region, array: Array, step: str) -> tuple[tuple[Local, ...], Scop]:
    """Return the local arrays, and the Scop that uses them: one, or one for each group of
    reads where these are apart.
    """
    wish = f"{array.name}_pack"
    groups = _groups(region, array.name)
    if len(groups) > 1 and not _is_small(region, array, step):
        found: list[Local] = []
        inside = region.scop
        for number, (loads, touched) in enumerate(groups):
            kept = [load for other, _ in groups[number + 1 :] for load in other]
            kept = [load for load in kept if load not in loads]
            local = Local.around(replace(region, scop=inside), array, touched, wish, step)
            inside = local.redirected(kept)
            found.append(local)
        if all(map(_is_constant, found)):
            return tuple(found), inside
    local = Local.of(region, array, wish, step)
    return (local,), local.redirected()


def _is_small(region: Region, array: Array, step: str) -> bool:
    """Tell whether one array of constant size holds the whole footprint."""
    try:
        return _is_constant(Local.of(region, array, array.name, step))
    except ScheduleError:
        return False


def _groups(region: Region, array: str) -> list[tuple[list[Load], isl.Map]]:
    """Return the reads of a read-only array, grouped by equal subscripts or footprints.

    A read that matches several groups merges them.
    """
    groups: list[tuple[list[Load], isl.Map]] = []
    for access, touched in touched_by(region, array):
        statement = next(s for s in region.scop.statements if access in (s.write, *s.reads))
        if access is statement.write or not access.exact:
            return []
        load = Load(array, access.index, region.scop.array(array).dtype)
        same = [g for g in groups if load in g[0] or g[1].is_equal(touched)]
        for group in same:
            groups.remove(group)
            touched = touched.union(group[1])
        groups.append(([load, *(other for group in same for other in group[0])], touched))
    return groups


def _is_constant(local: Local) -> bool:
    return all(isinstance(side.extent, Const) for side in local.sides)


def _dimensions(chosen: tuple[Dimension, ...], local: Local) -> tuple[Dimension, ...]:
    """Return the dimensions of a local array: those of its loops, then what is `chosen`."""
    loops = sum(not side.is_single for side in local.loops)
    kept = [dim for dim, side in enumerate(local.sides) if not side.is_single]
    own = [_renumbered(d, loops, kept) for d in chosen if d.old in kept]
    return (*map(Dimension, range(loops)), *own) if own else ()


def _renumbered(chosen: Dimension, loops: int, kept: list[int]) -> Dimension:
    """Return a dimension of the source as one of the local array, which may drop its `by`."""
    old = loops + kept.index(chosen.old)
    if chosen.part not in (Part.SKEWED, Part.SWIZZLED):
        return replace(chosen, old=old)
    if chosen.by not in kept:
        return Dimension(old)
    return replace(chosen, old=old, by=loops + kept.index(chosen.by))


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
    return coalesced(wanted), coalesced(written)
