"""reshape, ravel, flatten: which dimensions are merged, which are split, by what the sizes say.

In: an array value and a shape.  Out: a view where NumPy gives one, else a new array value.
Dimensions that correspond are kept apart, so that most reshapes cost nothing.
Refuses: shapes whose sizes differ (PO0140, at a call PO0173), orders other than C and F (PO0151).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from polyopt.dataclass import dataclass, replace
from polyopt.errors import Loc
from polyopt.frontend.integers.affine_integers import (
    ONE,
    ZERO,
    compare,
    constant,
    floordiv,
    is_affine,
    negated,
)
from polyopt.frontend.numpy.axis_reductions import with_unit_axes
from polyopt.frontend.numpy.call_arguments import Arguments, dtype, extents, is_none, tensor
from polyopt.frontend.numpy.contiguity import can_merge, depends_on_layout, is_contiguous
from polyopt.frontend.numpy.creation import converted, copied
from polyopt.frontend.numpy.reshaping import transposed, without_axes
from polyopt.frontend.program.builder import Builder
from polyopt.frontend.program.decisions import decided
from polyopt.frontend.program.facts import Facts
from polyopt.frontend.program.memory import forced, stored
from polyopt.frontend.program.snapshots import LAYOUT, stand_for
from polyopt.frontend.values.codes import refuse
from polyopt.frontend.values.computed_sizes import (
    as_affine,
    divided,
    factored,
    is_over_params,
    product,
    product_of,
    reduced,
    safe,
)
from polyopt.frontend.values.constants import as_sequence
from polyopt.frontend.values.merged_dimensions import join, merge, split
from polyopt.frontend.values.shapes import equate
from polyopt.frontend.values.values import Index, Known, Number, Tensor, Value, remapped
from polyopt.frontend.values.values import Sequence as Items
from polyopt.ir.expr import Binary, BinaryOp, CompareOp, Const, Expr, integer
from polyopt.ir.showing import show


def reshape(b: Builder, args: Arguments) -> Value:
    """np.reshape, ndarray.reshape: C and F order, one extent may be -1"""
    if len(args.values) > 2:
        whole = (args.values[0], Items(args.values[1:]))
        args = Arguments(args.name, whole, args.keywords, args.loc)
    array, shape, order = args.take("a shape", "order")
    value = forced(b, tensor(b, array, args.loc))
    if is_none(shape):
        refuse("PO0151", "np.reshape without a shape", args.loc)
    parts = as_sequence(shape)
    sizes = parts.items if isinstance(parts, Items) else (shape,)
    return _ordered(b, value, sizes, order, args.loc)


def ravel(b: Builder, args: Arguments) -> Value:
    """np.ravel, ndarray.ravel: C and F order"""
    array, order = args.take("a", "order")
    value = forced(b, tensor(b, array, args.loc))
    if isinstance(order, Known) and order.value == "F":
        value = transposed(_without_gaps(b, transposed(value), args.loc))
    else:
        value = _without_gaps(b, value, args.loc)
    return _ordered(b, value, (Known(-1),), order, args.loc)


def flat_vector(b: Builder, value: Tensor, loc: Loc | None) -> Tensor:
    """Return all elements as a vector."""
    if value.rank == 1:
        return value
    found = ravel(b, Arguments("ravel", (value,), {}, loc))
    return forced(b, tensor(b, found, loc))


def flatten(b: Builder, args: Arguments) -> Value:
    """ndarray.flatten: a copy; C and F order"""
    found = ravel(b, args)
    assert isinstance(found, Tensor)
    return copied(found)


def _ordered(
    b: Builder, value: Tensor, sizes: Sequence[Value], order: Value, loc: Loc | None
) -> Tensor:
    """Return `value` in another shape, elements counted in C or F order."""
    known = order.value if isinstance(order, Known) else order
    if known not in (None, "C", "F"):
        refuse("PO0151", "another order than 'C' and 'F'", loc, "leave `order=` out")
    if known != "F":
        return reshaped(b, value, _target(b, value, sizes, loc), loc)
    back = _target(b, transposed(value), tuple(reversed(sizes)), loc)
    return transposed(reshaped(b, transposed(value), back, loc))


def _target(b: Builder, value: Tensor, sizes: Sequence[Value], loc: Loc | None) -> Index:
    """Return the new extents; a -1 becomes what is left."""
    open_places = [place for place, size in enumerate(sizes) if _is_minus_one(size)]
    if len(open_places) > 1:
        refuse("PO0151", "more than one -1 in a shape", loc, "only one extent can be left open")
    given = [size for size in sizes if not _is_minus_one(size)]
    shape = list(extents(b, Items(tuple(given)), loc))
    if open_places:
        known, total = product_of(b.facts, shape), product_of(b.facts, value.shape)
        if constant(known) is None or constant(known) == 0:
            message = f"an extent of -1 is open where the others make `{show(known)}`, if that is 0"
            _require(
                b, CompareOp.NE, known, ZERO, "PO0173", message, loc, "write the extent itself"
            )
        rest = divided(total, known)
        rest = floordiv(total, known) if rest is None else rest
        shape.insert(open_places[0], _extent(b, rest, total))
    return tuple(shape)


def _extent(b: Builder, value: Expr, most: Expr) -> Expr:
    """Return an extent that is computed from others."""
    found = as_affine(b.facts, value)
    if is_affine(found):
        return found
    found = b.dynamic(safe(value), "size")
    b.bounds[found] = most
    return found


def one_after_the_other(b: Builder, value: Tensor, place: int, loc: Loc | None) -> Tensor:
    """Return `value` with dimension `place` and the one behind it as one dimension."""
    both = product_of(b.facts, value.shape[place : place + 2])
    shape = (*value.shape[:place], _extent(b, both, both), *value.shape[place + 2 :])
    return reshaped(b, value, shape, loc)


def _is_minus_one(size: Value) -> bool:
    match size:
        case Known(value=int(value)):
            return value == -1
        case Number(expr=Const(value=int(value))):
            return value == -1
        case _:
            return False


def contiguous(b: Builder, args: Arguments) -> Value:
    """np.ascontiguousarray: the array itself where its elements are in C order"""
    return _laid_out(b, args, lambda value: value)


def fortran(b: Builder, args: Arguments) -> Value:
    """np.asfortranarray: the array itself where its elements are in Fortran order"""
    return _laid_out(b, args, transposed)


def _laid_out(b: Builder, args: Arguments, turned: Callable[[Tensor], Tensor]) -> Value:
    """Return an array whose elements, `turned`, lie in C order: itself or a copy."""
    array, kind, *_ = args.take("a", "dtype like")
    value = forced(b, tensor(b, array, args.loc))
    found = dtype(kind, args.loc) or value.dtype
    if value.rank == 0:
        value = with_unit_axes(value, (0,))
    if found is not value.dtype or value.view is None or value.merged is not None:
        return converted(value, found, args.loc)
    if depends_on_layout(turned(value)):
        return _perhaps_copied(b, value, args.loc)
    is_whole = is_contiguous(b, turned(value))
    if is_whole:
        return value
    if is_whole is None:
        return replace(copied(value), part_of=value)
    dims = range(value.rank) if value.view.buffer.argument is not None else ()
    units = tuple(d for d in dims if _is_unit(b, value.shape[d], args.loc))
    if units and is_contiguous(b, turned(without_axes(value, units))):
        return value
    return converted(value, found, args.loc)


def _perhaps_copied(b: Builder, value: Tensor, loc: Loc | None) -> Tensor:
    """Return elements of which only their layout in memory tells whether NumPy copies them.

    They are a view until an earlier reading has seen writes that tell it from a copy.
    """
    assert value.view is not None
    buffer, place = value.view.buffer, (loc, "layout")
    if place not in b.facts.unsure:
        b.unsure.append((buffer, place))
        return value
    copy = stored(b, value, in_order=True)
    assert copy.view is not None
    stand_for(b, copy.view.buffer, (value,), LAYOUT, loc)
    return copy


# -- reshaping --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Block:
    """Neighbouring dimensions `old` that become the neighbouring dimensions `new`."""

    old: tuple[int, ...]
    new: tuple[int, ...]


def reshaped(b: Builder, value: Tensor, target: Index, loc: Loc | None) -> Tensor:
    """Return the elements of `value` in row-major order as an array of shape `target`."""
    if value.merged is not None:
        value = value.merged.source
    bare = without_axes(value, tuple(d for d, e in enumerate(value.shape) if e == ONE))
    unit = tuple(d for d, extent in enumerate(target) if extent == ONE)
    wanted = tuple(extent for extent in target if extent != ONE)
    bare = _in_one_piece(b, bare, wanted, loc)
    if not bare.shape or not wanted:
        _require_equal(b, bare.shape, wanted, loc)
        return with_unit_axes(remapped(bare, wanted, lambda _: (ZERO,) * bare.rank), unit)
    middle: list[Expr] = []
    counts: list[int] = []
    rules: list[tuple[Block, int]] = []  # with the first of its dimensions in the middle
    pieces = blocks(b.facts, bare.shape, wanted)
    for block in pieces:
        old = tuple(bare.shape[d] for d in block.old)
        new = tuple(wanted[d] for d in block.new)
        rules.append((block, len(middle)))
        if len(new) == 1:
            if len(old) == 1:
                old = (equate(b, old[0], new[0], "np.reshape", loc),)
            else:
                _require_equal(b, old, new, loc)
            middle += old
            counts.append(len(old))
        else:
            _require_equal(b, old, new, loc)
            middle += new
            counts += [1] * len(new)
    shape = tuple(middle)

    def index(inner: Index) -> Index:
        found: list[Expr] = []
        for block, first in rules:
            if len(block.new) == 1:
                found += inner[first : first + len(block.old)]
                continue
            part = slice(first, first + len(block.new))
            position = join(inner[part], shape[part])
            found += split(position, tuple(bare.shape[d] for d in block.old))
        return tuple(found)

    apart = remapped(bare, shape, index) if max(len(r.new) for r, _ in rules) > 1 else bare
    return with_unit_axes(merge(apart, counts, wanted), unit)


def _without_gaps(b: Builder, value: Tensor, loc: Loc | None) -> Tensor:
    """Return `value` as a view only where NumPy's ravel gives one: in contiguous memory."""
    source = value if value.merged is None else value.merged.source
    if depends_on_layout(source):
        return value  # `_in_one_piece` sees to it
    is_whole = is_contiguous(b, source)
    if is_whole:
        return value
    if is_whole is None:
        return replace(copied(value), part_of=source)
    assert source.view is not None
    for start in range(1, source.rank if source.view.buffer.argument is not None else 0):
        kept = without_axes(source, tuple(range(start)))
        if is_contiguous(b, kept):
            units = tuple(d for d in range(start) if _is_unit(b, source.shape[d], loc))
            if len(units) == start:  # a single row has no gaps
                return kept
            break
    return copied(value)


def _in_one_piece(b: Builder, value: Tensor, wanted: Index, loc: Loc | None) -> Tensor:
    """Return `value` as NumPy reshapes it: a copy where dimensions to merge have gaps between them.

    Dimensions that become several may be split only, of which NumPy makes a view: writes that tell
    are refused.  Dimensions of extent one are left out.  Only of arguments that become vectors the
    call is asked for these: writes through other views with such dimensions are not seen.
    """
    if not value.shape or not wanted:
        return value
    if depends_on_layout(value):
        return value if value.shape == wanted else _perhaps_copied(b, value, loc)
    pieces = blocks(b.facts, value.shape, wanted)
    merging = {block.old: can_merge(b, value, block.old) for block in pieces if block.old}
    if all(merging.values()):
        return value
    gaps = [d for dims, is_merged in merging.items() if is_merged is False for d in dims]
    is_flat = len(wanted) == 1 and value.view is not None and value.view.buffer.argument is not None
    units = tuple(d for d in gaps if is_flat and _is_unit(b, value.shape[d], loc))
    if units:
        return _in_one_piece(b, without_axes(value, units), wanted, loc)
    is_split = all(len(block.new) > 1 for block in pieces if set(block.old) & set(gaps))
    return replace(copied(value), part_of=value) if is_split else copied(value)


def _is_unit(b: Builder, extent: Expr, loc: Loc | None) -> bool:
    """Tell whether an extent is one in all calls; elsewhere it is not, as far as a call knows.

    Dimensions of this extent have no gaps between their elements: NumPy gives a view instead of a
    copy.
    """
    if not is_over_params(extent):
        return False
    found = decided(b, compare(CompareOp.EQ, extent, ONE))
    if found is None:
        message = f"np.reshape is a view where `{show(extent)}` is 1, a copy where it is not"
        hint = "copy the array first: np.copy(...)"
        _require(b, CompareOp.NE, extent, ONE, "PO0173", message, loc, hint)
    return found is True


def _require_equal(b: Builder, old: Sequence[Expr], new: Sequence[Expr], loc: Loc | None) -> None:
    """Require two shapes to have equally many elements."""
    one, other = product_of(b.facts, old), product_of(b.facts, new)
    if one == other:
        return
    message = f"np.reshape of {_shown(old)} to {_shown(new)} needs as many elements"
    code = "PO0140" if constant(one) is not None and constant(other) is not None else "PO0173"
    hint = "give a shape whose product is the array's size"
    _require(b, CompareOp.EQ, one, other, code, message, loc, hint)


def _require(
    b: Builder,
    op: CompareOp,
    left: Expr,
    right: Expr,
    code: str,
    message: str,
    loc: Loc | None,
    hint: str,
) -> None:
    """Require a relation of two products: of the call, or here if sizes are found on the way."""
    condition = compare(op, as_affine(b.facts, left), as_affine(b.facts, right))
    if is_affine(condition):
        if not b.always(condition):
            b.demand(condition, code, message, loc, hint)
        return
    b.fail_where(negated(compare(op, left, right)), b.fault(code, message, loc, hint))


def _shown(shape: Sequence[Expr]) -> str:
    return f"({', '.join(show(extent) for extent in shape)})"


# -- which dimensions correspond ----------------------------------------------------------------


def blocks(facts: Facts, old: Index, new: Index) -> list[Block]:
    """Return the finest blocks of dimensions whose sizes are seen to be equal."""
    result: list[Block] = []
    start, end = (0, 0), (len(old), len(new))
    tail: list[Block] = []
    while end[0] and end[1] and old[end[0] - 1] == new[end[1] - 1]:
        end = (end[0] - 1, end[1] - 1)
        tail.insert(0, Block((end[0],), (end[1],)))
    while start[0] < end[0] and start[1] < end[1]:
        stop = _block_end(facts, old[: end[0]], new[: end[1]], start)
        if stop == (end[0], end[1]) or start == stop:
            break
        result.append(Block(tuple(range(start[0], stop[0])), tuple(range(start[1], stop[1]))))
        start = stop
    rest = Block(tuple(range(start[0], end[0])), tuple(range(start[1], end[1])))
    if rest.old and rest.new:
        result.append(rest)
    elif rest.old or rest.new:  # the sizes left over must be one: join them to a neighbour
        neighbour = (tail or result).pop(0 if tail else -1)
        both = Block(
            tuple(sorted((*rest.old, *neighbour.old))), tuple(sorted((*rest.new, *neighbour.new)))
        )
        (tail.insert(0, both) if tail or not result else result.append(both))
    return [*result, *tail]


def _block_end(facts: Facts, old: Index, new: Index, start: tuple[int, int]) -> tuple[int, int]:
    """Return where the smallest block from `start` with equal products ends."""
    i, j = start[0] + 1, start[1] + 1
    while True:
        one = _Size.of(product_of(facts, old[start[0] : i]))
        other = _Size.of(product_of(facts, new[start[1] : j]))
        if one == other:
            return i, j
        grows = (i < len(old) and not other.divides(one), j < len(new) and not one.divides(other))
        if not any(grows):
            return len(old), len(new)
        i, j = i + grows[0], j + grows[1]


@dataclass(frozen=True, slots=True)
class _Size:
    """A product: a constant and factors; `a // k * k` counts as `a`, since it must be equal."""

    scale: int
    factors: tuple[Expr, ...]

    @staticmethod
    def of(expr: Expr) -> _Size:
        scale, factors = factored(expr)
        while True:
            for whole in factors:
                if not (isinstance(whole, Binary) and whole.op is BinaryOp.FLOORDIV):
                    continue
                rest = list(factors)
                rest.remove(whole)
                less = divided(product_times(scale, rest), whole.right)
                if less is not None:
                    break
            else:
                return _Size(scale, factors)
            scale, factors = factored(reduced(product((less, whole.left))))

    def divides(self, other: _Size) -> bool:
        """Whether `other` is seen to be a multiple."""
        missing = Counter(self.factors) - Counter(other.factors)
        return not missing and self.scale != 0 and other.scale % self.scale == 0


def product_times(scale: int, factors: Sequence[Expr]) -> Expr:
    """Return `scale` times the product of `factors`."""
    return product((integer(scale), *factors))
