"""Build copies between arrays and their tiles, and sets of the points of tiles.

In: an array's footprint in a tile, the elements to copy.  Out: statements; sets over loop names.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import islpy as isl

from polyopt.dataclass import dataclass
from polyopt.ir.affine import coalesced, index_map, set_space
from polyopt.ir.expr import Compare, CompareOp, Expr, Iter, Load, add, integer
from polyopt.ir.names import fresh_name
from polyopt.ir.scop import Array, Origin, Statement
from polyopt.ir.showing import show
from polyopt.transforms.local import Local


@dataclass(frozen=True, eq=False)
class Copier:
    """Builds copies between an array and its part in a tile of `loops`; `names` are taken."""

    params: tuple[str, ...]
    loops: tuple[str, ...]
    local: Local
    names: set[str]

    def into(self, where: isl.Set, source: Array) -> Statement:
        """Return the copy of `{ [tiles, element] }` into the tile."""
        return self._made(where, source, out=False)

    def out_of(self, where: isl.Set, target: Array) -> Statement:
        """Return the copy of `{ [tiles, element] }` out of the tile."""
        return self._made(where, target, out=True)

    def _made(self, where: isl.Set, array: Array, *, out: bool) -> Statement:
        kept, index = self.local.elements(self.loops)
        iters = (*self.loops, *kept)
        wish = f"{self.local.source.name}_{'out' if out else 'in'}"
        name = fresh_name(wish, self.names)
        self.names.add(name)
        tiles = tuple(map(Iter, self.loops))
        cell = self.local.cell(tiles, index)
        element = Load(array.name, index, array.dtype)
        space = set_space(self.params, name, iters)
        places = subscripts_of(isl.Set.universe(space), (*tiles, *index))
        domain = coalesced(places.intersect_range(where.reset_tuple_id()).domain())
        target, value = (element, cell) if out else (cell, element)
        return copy_of(name, iters, domain, target, value)


def copy_of(
    name: str, iters: tuple[str, ...], domain: isl.Set, target: Load, value: Load
) -> Statement:
    """Return the statement that copies one element."""
    text = f"{show(target)} = {show(value)}"
    return Statement(name, iters, domain, (), target, value, None, text, origin=Origin(""))


def lifted(space: isl.Space, names: Iterable[str], values: isl.Set) -> isl.Set:
    """Return the points of `space` whose coordinates `names` are in `values`."""
    places = subscripts_of(isl.Set.universe(space), tuple(map(Iter, names)))
    return places.intersect_range(values.reset_tuple_id()).domain()


def space_of(params: tuple[str, ...], names: tuple[str, ...]) -> isl.Space:
    """Return a space of points without a name."""
    return set_space(params, "", names).reset_tuple_id(isl.dim_type.set)


def subscripts_of(domain: isl.Set, index: Sequence[Expr]) -> isl.Map:
    """Return `{ point of the domain -> [index] }`."""
    return index_map(domain, "", index).reset_tuple_id(isl.dim_type.out)


def between(value: Expr, start: Expr, count: int) -> tuple[Compare, Compare]:
    """Return the condition that `value` is one of `count` numbers from `start` on."""
    end = add(start, integer(count))
    return Compare(CompareOp.GE, value, start), Compare(CompareOp.LT, value, end)
