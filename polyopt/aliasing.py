"""Argument types for calls whose arguments share memory that the kernel writes.

In: types, the call's values, the error that says which share elements.  Out: types where one
argument of each group owns the memory and the others are parts of it.
Refuses: with that error arrays that cannot be seen so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from polyopt.dataclass import replace
from polyopt.frontend.syntax.annotations import ArgType, ArrayType, PartType
from polyopt.ir.source import NO_AXIS, ArrayArg, Layout, Part, Signature, Start
from polyopt.runtime.sharing import (
    OverlapError,
    Placement,
    address,
    placement_beside,
    placement_inside,
)
from polyopt.runtime.values import AnyArray, native_array
from polyopt.specialize import array_type

_FIXED = 8  # a start this close to an end is compiled in; others are found by the call

_Pairs = tuple[tuple[int, int], ...]


def with_sharing(
    types: tuple[ArgType, ...],
    values: tuple[object, ...],
    signature: Signature,
    overlap: OverlapError,
) -> tuple[ArgType, ...]:
    """Return `types` with arguments that overlap as parts of one memory; raises `overlap`."""
    renewed = list(types)
    for group in _groups(types, overlap.pairs):
        arrays = {n: native_array(signature.arguments[n].name, values[n], None) for n in group}
        found = _inside(types, arrays, signature) or _beside(types, arrays, signature)
        if found is None:
            raise overlap
        for number, kind in found.items():
            renewed[number] = kind
    if tuple(renewed) == types:
        raise overlap
    return tuple(renewed)


def _groups(types: tuple[ArgType, ...], pairs: _Pairs) -> list[list[int]]:
    """Return the arguments in `pairs`, connected ones together; parts come with their owners."""
    links = [*pairs, *((n, t.part.owner) for n, t in enumerate(types) if isinstance(t, PartType))]
    groups: list[set[int]] = []
    for link in links:
        joined = set(link).union(*(group for group in groups if group & set(link)))
        groups = [group for group in groups if not group & joined] + [joined]
    touched = {number for pair in pairs for number in pair}
    return [sorted(group) for group in groups if group & touched]


_Found = dict[int, ArgType] | None


def _inside(types: Sequence[ArgType], arrays: dict[int, AnyArray], signature: Signature) -> _Found:
    """Look for an argument that all the others are parts of; of equals, the first."""
    for owner in sorted(arrays, key=lambda n: -arrays[n].size):
        places = _places(owner, arrays, placement_inside)
        if places is not None:
            base = _plain(types[owner], arrays[owner], signature.arguments[owner].name)
            parts = {
                n: _part(n, owner, place, types, arrays, signature, _start_inside)
                for n, place in places.items()
            }
            return {owner: base, **parts}
    return None


def _beside(types: Sequence[ArgType], arrays: dict[int, AnyArray], signature: Signature) -> _Found:
    """See the arguments as windows on one memory around the one that begins first."""
    for owner in sorted(arrays, key=lambda n: address(arrays[n])):
        places = _places(owner, arrays, placement_beside)
        if places is None:
            continue
        array = arrays[owner]
        if array.ndim > 1 and any(abs(s) > _FIXED for p in places.values() for s in p.starts):
            continue
        before = tuple(max(0, *(-p.starts[d] for p in places.values())) for d in range(array.ndim))
        parts = {
            n: _part(n, owner, place, types, arrays, signature, _start_beside)
            for n, place in places.items()
        }
        base = _plain(types[owner], array, signature.arguments[owner].name)
        inner = all(
            whole for p in parts.values() if isinstance(p, PartType) for whole in p.whole[1:]
        )
        if base.layout is Layout.C and array.ndim > 1 and not inner:
            base = replace(base, layout=Layout.ROWS)
        return {owner: replace(base, before=before), **parts}
    return None


def _places(
    owner: int, arrays: dict[int, AnyArray], find: Callable[[AnyArray, AnyArray], Placement | None]
) -> dict[int, Placement] | None:
    places = {n: find(arrays[owner], array) for n, array in arrays.items() if n != owner}
    known = {n: place for n, place in places.items() if place is not None}
    return known if len(known) == len(places) else None


def _plain(kind: ArgType, array: AnyArray, name: str) -> ArrayType:
    assert isinstance(kind, ArrayType | PartType)
    return replace(array_type(name, array), ones=kind.ones)


def _part(
    number: int,
    owner: int,
    place: Placement,
    types: Sequence[ArgType],
    arrays: dict[int, AnyArray],
    signature: Signature,
    start: Callable[[int, int, bool, bool], Start],
) -> PartType:
    base, array = arrays[owner], arrays[number]
    kind, argument = types[number], signature.arguments[number]
    assert isinstance(kind, ArrayType | PartType)
    assert isinstance(argument, ArrayArg)
    rising = all(stride > 0 for stride in base.strides)
    along = {axis: d for d, axis in enumerate(place.axes) if axis != NO_AXIS}
    starts = tuple(
        start(begin, base.shape[axis], axis in along, rising)
        for axis, begin in enumerate(place.starts)
    )
    whole = tuple(
        axis != NO_AXIS
        and array.shape[d] == base.shape[axis]
        and abs(place.steps[d]) == 1
        and place.starts[axis] == (0 if place.steps[d] > 0 else base.shape[axis] - 1)
        for d, axis in enumerate(place.axes)
    )
    starts = tuple(
        Start(0, place.steps[along[axis]] < 0) if axis in along and whole[along[axis]] else begin
        for axis, begin in enumerate(starts)
    )
    ones = tuple(one or axis == NO_AXIS for one, axis in zip(kind.ones, place.axes, strict=True))
    return PartType(Part(owner, starts, place.axes, place.steps), ones, whole, argument.written)


def _start_inside(begin: int, extent: int, is_along: bool, rising: bool) -> Start:
    """Compile in what is near an end; where rows are chosen, only the first and the last."""
    near = _FIXED if is_along or not rising else 0
    back = extent - 1 - begin
    if begin <= near or (not rising and begin <= back):
        return Start(begin)
    if back <= near or not rising:
        return Start(back, from_end=True)
    return Start(None)


def _start_beside(begin: int, extent: int, is_along: bool, rising: bool) -> Start:
    """Compile in what is small; a long way along a vector is found by the call."""
    del extent, is_along
    return Start(begin if abs(begin) <= _FIXED or not rising else None)
