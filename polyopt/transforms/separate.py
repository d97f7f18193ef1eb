"""Separate: run full tiles by loops of constant trip count, the others by a copy of the nest.

In: a band and, among its loops, those to be full, with their tile sizes.  Out: a sequence of two
nests: the instances of full tiles, then the rest.
"""

from __future__ import annotations

import islpy as isl

from polyopt.dataclass import dataclass, replace
from polyopt.errors import ScheduleError
from polyopt.ir.affine import coalesced
from polyopt.ir.loops import LoopKind
from polyopt.ir.parameters import maps_of
from polyopt.ir.scop import Scop
from polyopt.schedule.sizes import Size, value_of
from polyopt.schedule.tree import (
    Band,
    BandMember,
    Filter,
    Sequence,
    Tree,
    bands,
    find_band,
    fresh_label,
    map_bands,
    member_map,
    path_to,
    replace_band,
)
from polyopt.schedulefile import MAX_SIZE
from polyopt.transforms.written import Written


@dataclass(frozen=True, slots=True)
class Separate(Written):
    """Split the nest at `band` into full tiles of the loops of band `point` and the rest.

    `sizes` are the tile sizes of the last `len(sizes)` loops of `point`, 0 for loops that are not
    tiled.  A tile is full when, with all other loops fixed, every value of the tiled loops is an
    iteration.  The rest is a copy of the nest with labels ending in `.rest` and no unrolled or
    vector loops (Ancourt and Irigoin, "Scanning polyhedra with DO loops", 1991).

    >>> from polyopt.schedule.demo import demo
    >>> from polyopt.transforms.tile import Tile
    >>> tiled = demo().apply(Tile("L0", (32, 32)))
    >>> print(tiled)
    for i_tile = floor(i/32):  [L0.tile[0]]  # carries no dependence, permutable band
      for j_tile = floor(j/32):  [L0.tile[1]]  # carries no dependence
        for i = i:  [L0.point[0]]  # carries no dependence, permutable band
          for j = j:  [L0.point[1]]  # carries no dependence
            S0: A1[i, j] = A0[i, j]
    >>> print(tiled.apply(Separate("L0.point", "L0.point", (32, 32))))
    for i_tile = floor(i/32):  [L0.tile[0]]  # carries no dependence, permutable band
      for j_tile = floor(j/32):  [L0.tile[1]]  # carries no dependence
        for i = i:  [L0.point[0]]  # carries no dependence, permutable band
          for j = j:  [L0.point[1]]  # carries no dependence
            S0: A1[i, j] = A0[i, j]
        for i = i:  [L0.point.rest[0]]  # carries no dependence, permutable band
          for j = j:  [L0.point.rest[1]]  # carries no dependence
            S0: A1[i, j] = A0[i, j]
    """

    band: str
    point: str
    sizes: tuple[Size, ...]

    def rewrite(self, tree: Tree, scop: Scop) -> Tree:
        """Return the split tree; raises `ScheduleError` PO0301, PO0303, PO0304."""
        top, point = find_band(tree, self.band), find_band(tree, self.point)
        sizes = tuple(map(value_of, self.sizes))
        if len(sizes) > len(point.members) or not any(sizes):
            raise ScheduleError(
                "PO0303",
                f"{self}: one size per loop of {self.point} is needed",
                hint="give the sizes of its last loops' tiles, 0 for loops that are not tiled",
            )
        if any(size < 0 for size in sizes):
            raise ScheduleError(
                "PO0303",
                f"{self}: a tile size must not be negative",
                hint="write the sizes of the tiles, and 0 for a loop that is not tiled",
            )
        if any(size > MAX_SIZE for size in sizes):
            raise ScheduleError("PO0303", f"{self}: a tile size must be at most {MAX_SIZE}")
        if all(band is not point for band in bands(top)):
            raise ScheduleError(
                "PO0304",
                f"{self}: {self.point} is not inside {self.band}",
                hint=f"bands inside {self.band}: {', '.join(band.label for band in bands(top))}",
            )
        path, domain = path_to(tree, scop, self.point)
        full = full_tiles((*path, *point.members), sizes, domain)
        rest = domain.subtract(full)
        copy = map_bands(top, lambda band: _plain(tree, band))
        split = Sequence((Filter(full, top), Filter(rest, copy)))
        return replace_band(tree, self.band, lambda _: split)


def _plain(tree: Tree, band: Band) -> Band:
    members = tuple(
        replace(m, kind=LoopKind.SEQUENTIAL) if m.kind is not LoopKind.PARALLEL else m
        for m in band.members
    )
    return Band(fresh_label(tree, f"{band.label}.rest"), members, band.child)


def full_tiles(
    members: tuple[BandMember, ...], sizes: tuple[int, ...], domain: isl.UnionSet
) -> isl.UnionSet:
    """Return the instances whose tile, all untiled loops fixed, lies in the domain entirely."""
    time: isl.UnionMap | None = None
    for member in members:
        part = member_map(member, domain)
        time = part if time is None else time.flat_range_product(part)
    assert time is not None
    found = isl.UnionSet.empty(domain.get_space())
    for statement in maps_of(time):
        points = statement.range()
        same = _same_tile(points, sizes)
        missing = same.intersect_domain(points).range().subtract(points)
        broken = same.intersect_range(missing).domain()
        keep = statement.intersect_range(points.subtract(broken)).domain()
        found = found.union(isl.UnionSet.from_set(keep))
    return coalesced(found)


def _same_tile(points: isl.Set, sizes: tuple[int, ...]) -> isl.Map:
    """Return { x -> y } : y is in the tile of x, whether or not it is an iteration."""
    space = points.get_space()
    pairs = isl.Map.universe(space.map_from_set())
    first = points.dim(isl.dim_type.set) - len(sizes)
    local = isl.LocalSpace.from_space(space)
    for position in range(points.dim(isl.dim_type.set)):
        size = sizes[position - first] if position >= first else 0
        value = isl.PwAff.from_aff(isl.Aff.var_on_domain(local, isl.dim_type.set, position))
        if size:
            value = value.scale_down_val(isl.Val(size)).floor()
        tile = isl.Map.from_pw_aff(value)
        pairs = pairs.intersect(tile.apply_range(tile.reverse()))
    return pairs
