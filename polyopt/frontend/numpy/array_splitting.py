"""Arrays cut into parts and laid side by side: split, tile, block, dstack, repeat.

In: arguments of the call.  Out: tuples of views; new arrays where elements are put together.
"""

from __future__ import annotations

from itertools import pairwise

from polyopt.errors import Loc
from polyopt.frontend.integers.affine_integers import (
    ONE,
    ZERO,
    compare,
    floordiv,
    minimum,
    modulo,
    plus,
    times,
)
from polyopt.frontend.numpy.axis_reductions import one_axis, with_unit_axes
from polyopt.frontend.numpy.call_arguments import (
    Arguments,
    extents,
    known_int,
    size,
    tensor,
)
from polyopt.frontend.numpy.joining import joined
from polyopt.frontend.numpy.padding import strip
from polyopt.frontend.numpy.table_rules import Rule
from polyopt.frontend.program.builder import Builder
from polyopt.frontend.program.memory import forced
from polyopt.frontend.subscripts.basic import Cut, select_parts
from polyopt.frontend.values.codes import refuse
from polyopt.frontend.values.computed_sizes import as_affine
from polyopt.frontend.values.constants import as_sequence
from polyopt.frontend.values.merged_dimensions import merge
from polyopt.frontend.values.values import Index, Sequence, Tensor, Value, remapped
from polyopt.ir.expr import CompareOp, Expr, integer


def _split(uneven: bool) -> Rule:
    """Return the rule of np.split or np.array_split."""

    def rule(b: Builder, args: Arguments) -> Value:
        array, sections, given = args.take("ary indices_or_sections", "axis")
        value = forced(b, tensor(b, array, args.loc))
        along = one_axis(b, given, value.rank, args.loc, 0)
        places = as_sequence(sections)
        if isinstance(places, Sequence):
            return _at_places(b, value, along, places, args)
        count = known_int(b, places, "the number of parts", args.loc)
        if count < 1:
            refuse("PO0151", f"`{args.name}` into {count} parts", args.loc)
        return _into_parts(b, value, along, count, uneven, args.loc)

    return rule


def _at_places(
    b: Builder, value: Tensor, along: int, places: Sequence, args: Arguments
) -> Sequence:
    bounds: list[Expr | None] = [
        None,
        *(size(b, place, "a place to split at", args.loc) for place in places.items),
        None,
    ]
    parts: list[Value] = []
    for start, stop in pairwise(bounds):
        cuts = [
            Cut(start, stop, 1) if d == along else Cut(None, None, 1) for d in range(value.rank)
        ]
        parts.append(select_parts(b, value, cuts, "the array", args.loc))
    return Sequence(tuple(parts), is_list=True)


def _into_parts(
    b: Builder, value: Tensor, along: int, count: int, uneven: bool, loc: Loc | None
) -> Sequence:
    extent = b.extent(value.shape[along])
    share, rest = floordiv(extent, integer(count)), modulo(extent, integer(count))
    if not uneven:
        even = compare(CompareOp.EQ, rest, ZERO)
        message = f"an array is split into {count} equal parts"
        b.demand(even, "PO0173", message, loc, "use np.array_split for parts of unequal size")
    parts: list[Value] = []
    for number in range(count):
        start = times(share, number)
        length = share
        if uneven:
            start = plus(start, minimum(integer(number), rest))
            length = floordiv(plus(extent, count - 1 - number), integer(count))
        parts.append(strip(value, along, start, length))
    return Sequence(tuple(parts), is_list=True)


def tile(b: Builder, args: Arguments) -> Value:
    """np.tile"""
    array, repeats = args.take("A reps")
    value = forced(b, tensor(b, array, args.loc))
    found = extents(b, repeats, args.loc)
    rank = max(value.rank, len(found))
    value = with_unit_axes(value, tuple(range(rank - value.rank)))
    counts = (ONE,) * (rank - len(found)) + found
    groups: list[int] = []
    laid: list[Expr] = []
    kept: list[int] = []
    for extent, count in zip(value.shape, counts, strict=True):
        parts = [count] if extent == ONE else [extent] if count == ONE else [count, extent]
        kept.append(len(laid) + len(parts) - 1)
        laid += parts
        groups.append(len(parts))
    single = [extent == ONE for extent in value.shape]

    def index(place: Index) -> Index:
        return tuple(ZERO if one else place[k] for one, k in zip(single, kept, strict=True))

    wide = remapped(Tensor(value.shape, value.dtype, value.at, cost=value.cost), tuple(laid), index)
    shape = tuple(
        as_affine(b.facts, times(extent, count))
        for extent, count in zip(value.shape, counts, strict=True)
    )
    return merge(wide, groups, shape)


def block(b: Builder, args: Arguments) -> Value:
    """np.block: nested lists, the innermost along the last dimension"""
    (arrays,) = args.take("arrays")
    depth = _depth(arrays)
    leaves = _leaves(b, arrays, args)
    if not leaves:
        refuse("PO0151", "np.block of an empty list", args.loc)
    rank = max(depth, *(part.rank for part in leaves))
    return _block(b, arrays, depth, rank, args)


def _depth(value: Value) -> int:
    found = as_sequence(value)
    if not isinstance(found, Sequence):
        return 0
    return 1 + max((_depth(item) for item in found.items), default=0)


def _leaves(b: Builder, value: Value, args: Arguments) -> list[Tensor]:
    found = as_sequence(value)
    if isinstance(found, Sequence):
        return [leaf for item in found.items for leaf in _leaves(b, item, args)]
    return [forced(b, tensor(b, value, args.loc))]


def _block(b: Builder, value: Value, depth: int, rank: int, args: Arguments) -> Tensor:
    found = as_sequence(value)
    if not isinstance(found, Sequence):
        part = forced(b, tensor(b, value, args.loc))
        return with_unit_axes(part, tuple(range(rank - part.rank)))
    if not found.items:
        refuse("PO0151", "np.block of an empty list", args.loc)
    parts = [_block(b, item, depth - 1, rank, args) for item in found.items]
    return parts[0] if len(parts) == 1 else joined(b, parts, rank - depth, args)


split = _split(False)
array_split = _split(True)
