"""Elements to send as pieces of arrays: boxes, or points where a set is no box.

In: a set, numbers for all of its parameters.  Out: subscripts of NumPy.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

import islpy as isl
import numpy as np

from polyopt.ir.affine import coalesced
from polyopt.ir.interp import fix_params, points

Index: TypeAlias = "tuple[Any, ...]"


class Pieces:
    """The pieces of one set for any values of its parameters; they are computed once."""

    def __init__(self, elements: isl.Set) -> None:
        kind = isl.dim_type.param
        for position in reversed(range(elements.dim(kind))):
            if not elements.involves_dims(kind, position, 1):
                elements = elements.project_out(kind, position, 1)
        self._elements, self._names = elements, tuple(_names(elements))
        self._known: dict[tuple[int, ...], tuple[tuple[Index, ...], int]] = {}

    def at(self, values: Mapping[str, int]) -> tuple[tuple[Index, ...], int]:
        """Return subscripts of disjoint pieces in a fixed order, and the number of elements."""
        key = tuple([values[name] for name in self._names])
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = _pieces(self._elements, values)
        return found


class Condition:
    """Whether anything of some sets is there, for any ranks."""

    def __init__(self, sets: Iterable[isl.Set], blocks: Iterable[str]) -> None:
        self._sets: list[isl.Set] = []
        for one in sets:
            anyone = one.params()
            for name in blocks:
                position = anyone.find_dim_by_name(isl.dim_type.param, name)
                anyone = anyone.eliminate(isl.dim_type.param, position, 1)
                anyone = anyone.fix_val(isl.dim_type.param, position, isl.Val(0))
            self._sets.append(anyone)
        self._blocks = tuple(blocks)
        self._known: dict[tuple[int, ...], bool] = {}

    def at(self, values: Mapping[str, int]) -> bool:
        """Tell whether it holds for these sizes and places."""
        known = {**values, **dict.fromkeys(self._blocks, 0)}
        names = _names(self._sets[0])
        key = tuple([known[name] for name in names])
        if key not in self._known:
            self._known[key] = any(
                not fix_params(one, {name: known[name] for name in names}).is_empty()
                for one in self._sets
            )
        return self._known[key]


def _names(value: isl.Set) -> list[str]:
    kind, space = isl.dim_type.param, value.get_space()
    return [str(space.get_dim_name(kind, p)) for p in range(space.dim(kind))]


def _pieces(elements: isl.Set, values: Mapping[str, int]) -> tuple[tuple[Index, ...], int]:
    names = _names(elements)
    fixed = fix_params(elements, {name: values[name] for name in names})
    if fixed.is_empty():
        return (), 0
    parts = coalesced(fixed).make_disjoint().get_basic_sets()
    found: list[Index] = []
    count = 0
    for part in sorted(map(isl.Set.from_basic_set, parts), key=str):
        rank = part.dim(isl.dim_type.set)
        low = [int(part.dim_min_val(d).to_python()) for d in range(rank)]
        high = [int(part.dim_max_val(d).to_python()) + 1 for d in range(rank)]
        box = isl.Set.universe(part.get_space())
        for d in range(rank):
            box = box.lower_bound_val(isl.dim_type.set, d, isl.Val(low[d]))
            box = box.upper_bound_val(isl.dim_type.set, d, isl.Val(high[d] - 1))
        if box.intersect_params(part.params()).is_subset(part):
            found.append(tuple(map(slice, low, high)))
            count += int(np.prod([b - a for a, b in zip(low, high, strict=True)], dtype=object))
        else:
            listed = points(part, {name: values[name] for name in names})
            found.append(tuple(np.array(column) for column in zip(*listed, strict=True)))
            count += len(listed)
    return tuple(found), count


def moved(index: Index, starts: tuple[int, ...]) -> Index:
    """Return subscripts in memory that begins with the element `starts`."""
    pairs = zip(index, starts, strict=True)
    return tuple(
        slice(i.start - s, i.stop - s) if isinstance(i, slice) else i - s for i, s in pairs
    )
