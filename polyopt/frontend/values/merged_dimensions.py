"""Merged dimensions: what `x.reshape(B * T, C)` makes of an array of shape (B, T, C).

In: an array value.  Out: one with neighbouring dimensions merged, which remembers the array it came
from: operations go on in its dimensions, so that no subscript is divided.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import islice

from polyopt.dataclass import replace
from polyopt.frontend.integers.affine_integers import ONE, ZERO, floordiv, modulo, plus, times
from polyopt.frontend.values.values import Index, Merged, Tensor, remapped
from polyopt.ir.expr import Expr, integer

Groups = Mapping[int, Index]  # dimension counted from the last (-1) -> extents merged there


def merge(source: Tensor, counts: Sequence[int], shape: Index) -> Tensor:
    """Return `source` with `counts[d]` neighbouring dimensions merged into dimension `d`."""
    if all(count == 1 for count in counts):
        return source
    pieces = _parts(source.shape, counts)

    def index(new: Index) -> Index:
        return tuple(
            part for one, extents in zip(new, pieces, strict=True) for part in split(one, extents)
        )

    whole = remapped(source, shape, index)
    return replace(whole, merged=Merged(source, tuple(counts)))


def split(position: Expr, extents: Index) -> Index:
    """Return the subscripts of row-major position `position` in an array of shape `extents`."""
    if position == ZERO:
        return (ZERO,) * len(extents)
    parts: list[Expr] = []
    for extent in reversed(extents[1:]):
        parts.append(modulo(position, extent))
        position = floordiv(position, extent)
    return (position, *reversed(parts))


def join(index: Index, extents: Index) -> Expr:
    """Return the row-major position of `index` in an array of shape `extents`."""
    total: Expr = ZERO
    for part, extent in zip(index, extents, strict=True):
        total = plus(times(total, extent), part) if total != ZERO else part
    return total


def joined(index: Index, source: Tensor, counts: Sequence[int]) -> Index:
    """Return the subscript of the merged array for a subscript of its source."""
    parts, extents = _parts(index, counts), _parts(source.shape, counts)
    return tuple(join(some, sizes) for some, sizes in zip(parts, extents, strict=True))


def _parts(values: Sequence[Expr], counts: Sequence[int]) -> list[Index]:
    rest = iter(values)
    return [tuple(islice(rest, count)) for count in counts]


def groups_of(tensor: Tensor) -> dict[int, Index]:
    """Return the merged dimensions of `tensor`, counted from the last, and their extents."""
    if tensor.merged is None:
        return {}
    pieces = _parts(tensor.merged.source.shape, tensor.merged.counts)
    return {d - tensor.rank: piece for d, piece in enumerate(pieces) if len(piece) > 1}


def common_groups(tensors: Sequence[Tensor]) -> dict[int, Index] | None:
    """Return the merged dimensions of arrays that broadcast, if all can be split alike."""
    found: dict[int, Index] = {}
    for tensor in tensors:
        for place, extents in groups_of(tensor).items():
            if found.setdefault(place, extents) != extents:
                return None
    for tensor in tensors:
        own = groups_of(tensor)
        for place in found:
            whole = place not in own and -place <= tensor.rank
            if whole and tensor.shape[place] != ONE:
                return None
    return found or None


def expanded(tensor: Tensor, groups: Groups) -> Tensor:
    """Return `tensor` with its dimensions split where `groups` says; 1 is split into ones."""
    own = groups_of(tensor)
    source = tensor.merged.source if tensor.merged is not None else tensor
    shape: list[Expr] = []
    takes: list[int | None] = []  # of each source dimension, where its subscript is found
    for place in range(-tensor.rank, 0):
        count = len(own.get(place, (ONE,)))
        if place in groups and place not in own:
            takes.append(None)
            shape += [ONE] * len(groups[place])
            continue
        for _ in range(count):
            extent = source.shape[len(takes)]
            takes.append(len(shape))
            shape.append(extent)
    if tuple(shape) == source.shape:
        return source

    def index(new: Index) -> Index:
        return tuple(ZERO if take is None else new[take] for take in takes)

    return remapped(source, tuple(shape), index)


def restored(result: Tensor, groups: Groups, extents: Mapping[int, Expr]) -> Tensor:
    """Return `result`, computed with dimensions split by `groups`, with them merged again.

    `extents` gives the merged extents of the dimensions in `groups`.
    """
    rank = result.rank - sum(len(sizes) - 1 for sizes in groups.values())
    counts = [len(groups.get(d - rank, (ONE,))) for d in range(rank)]
    shape: list[Expr] = []
    start = 0
    for d, count in enumerate(counts):
        shape.append(extents[d - rank] if count > 1 else result.shape[start])
        start += count
    return merge(result, counts, tuple(shape))


def regrouped(
    value: Tensor, order: Sequence[int], make: Callable[[Tensor, Sequence[int]], Tensor]
) -> Tensor:
    """Return dimensions `order` of a merged array; `make` takes dimensions of its source.

    A dimension -1 is new, of extent one.
    """
    assert value.merged is not None
    counts = value.merged.counts
    first = [sum(counts[:d]) for d in range(value.rank)]
    taken: list[int] = []
    for axis in order:
        taken += [-1] if axis < 0 else range(first[axis], first[axis] + counts[axis])
    shape = tuple(ONE if axis < 0 else value.shape[axis] for axis in order)
    new_counts = [1 if axis < 0 else counts[axis] for axis in order]
    return merge(make(value.merged.source, taken), new_counts, shape)


def without(
    value: Tensor, gone: Sequence[int], make: Callable[[Tensor, Sequence[int]], Tensor]
) -> Tensor:
    """Return `make(source, axes)`, which drops the axes behind `gone`, with the others merged."""
    assert value.merged is not None
    source, counts = value.merged.source, value.merged.counts
    first = [sum(counts[:axis]) for axis in range(value.rank)]
    axes = [d for axis in gone for d in range(first[axis], first[axis] + counts[axis])]
    kept = [axis for axis in range(value.rank) if axis not in gone]
    shape = tuple(value.shape[axis] for axis in kept)
    return merge(make(source, axes), [counts[axis] for axis in kept], shape)


def like(value: Tensor, make: Callable[[Tensor], Tensor]) -> Tensor:
    """Return `make(value)` for a `make` that works element by element."""
    if value.merged is None:
        return make(value)
    return merge(make(value.merged.source), value.merged.counts, value.shape)


def picked(value: Tensor, order: Sequence[int]) -> Tensor:
    """Return dimensions `order` of `value` (-1: a new one); element 0 along the others."""
    if value.merged is not None:
        return regrouped(value, order, picked)
    place = {axis: d for d, axis in enumerate(order) if axis >= 0}

    def index(new: Index) -> Index:
        return tuple(
            new[place[axis]] if axis in place else integer(0) for axis in range(value.rank)
        )

    shape = tuple(ONE if axis < 0 else value.shape[axis] for axis in order)
    return remapped(value, shape, index)
