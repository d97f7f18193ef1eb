"""Arrays become statements here: storing a value into a view, making temporaries, reductions.

In: array values and views.  Out: statements in the builder.
NumPy reads the whole right side before it writes: `conflicts` decides whether that needs a
temporary, and in which direction the loops must run when it does not.
Writes of one element; the reductions that explicit loops spell out.
"""

from __future__ import annotations

from polyopt import frontend
from polyopt.dataclass import replace
from polyopt.errors import Loc
from polyopt.frontend.arithmetic.narrowing import demand_fit
from polyopt.frontend.integers.affine_integers import (
    ONE,
    TRUE,
    ZERO,
    is_affine,
    maximum,
    minimum,
    plus,
)
from polyopt.frontend.integers.intervals import ANY, Interval, interval_of
from polyopt.frontend.integers.ranges import Span, range_of
from polyopt.frontend.program.builder import Builder
from polyopt.frontend.program.statement_domains import Loop
from polyopt.frontend.values.codes import refuse, refuse_raising
from polyopt.frontend.values.merged_dimensions import common_groups, expanded, joined, merge
from polyopt.frontend.values.promote import cast
from polyopt.frontend.values.shapes import equate, is_repeated, stretched
from polyopt.frontend.values.values import (
    Buffer,
    Fold,
    Index,
    Number,
    Operandish,
    Tensor,
    View,
    as_value,
    cost_of,
    has_loads,
    is_plain_read,
    view_of,
)
from polyopt.ir.expr import (
    Binary,
    BinaryOp,
    Expr,
    Iter,
    Load,
    Unary,
    UnaryOp,
    integer,
    loads,
    walk,
)
from polyopt.ir.names import iterators, reads
from polyopt.ir.scop import Reduction
from polyopt.ir.source import Layout
from polyopt.ir.types import DType, Kind

FIXED = "write into the array itself, or take a `.copy()`"
EXPENSIVE = 4  # operations of one element from which it is stored rather than computed again


def store(b: Builder, target: Tensor, value: Tensor, loc: Loc | None) -> None:
    """`target[...] = value`: broadcast, cast, right side fully read first."""
    view = target.view
    if view is None:
        refuse("PO0163", "this expression is no array that can be written", loc)
    if view.is_fixed:
        refuse_raising("PO0163", "a view that NumPy does not write through", loc, FIXED)
    if value.dtype.is_complex and not target.dtype.is_complex:
        refuse("PO0144", "complex values cannot be stored into a real array", loc, "take `.real`")
    demand_fit(b, value, target.dtype, loc)
    if target.merged is not None and (value.merged is not None or value.rank == 0):
        groups = common_groups((target, value))
        if groups is not None:
            store(b, target.merged.source, expanded(value, groups), loc)
            return
    _store(b, target, view, value, loc)


def _store(b: Builder, target: Tensor, view: View, value: Tensor, loc: Loc | None) -> None:
    """Store into an array in its own dimensions."""
    shape = target.shape
    if value.fold is not None:
        if _fits_directly(b, target, value):
            emit_fold(b, value.fold, view, shape)
            return
        value = forced(b, value)
    if value.rank > target.rank:
        value = _without_leading_ones(value, target.rank, loc)
    skip = target.rank - value.rank
    for d, extent in enumerate(value.shape):
        if extent != ONE:
            shared = equate(b, shape[skip + d], extent, "assignment", loc)
            shape = (*shape[: skip + d], shared, *shape[skip + d + 1 :])
    if value.merged is not None and not is_repeated(value.shape, shape):
        _write_merged(b, view, value)
        return
    write_elementwise(b, view, shape, stretched(value, shape))


def _without_leading_ones(value: Tensor, rank: int, loc: Loc | None) -> Tensor:
    extra = value.rank - rank
    if any(extent != ONE for extent in value.shape[:extra]):
        refuse("PO0140", f"an array of rank {value.rank} does not fit a target of rank {rank}", loc)
    zeros = (integer(0),) * extra
    shape = value.shape[extra:]
    return Tensor(shape, value.dtype, lambda i: value.at((*zeros, *i)), cost=value.cost)


def write_elementwise(b: Builder, view: View, shape: Index, value: Tensor) -> None:
    """Emit the loops of `view[i] = value[i]`, through a temporary where dependences need one."""
    loops, index = b.fresh_loops(shape)
    target = Load(view.buffer.name, view.index(index), view.buffer.dtype)
    element = cast(value.at(index), view.buffer.dtype, b.loc)
    ways = frontend.program.conflicts.directions(b, loops, target, element)
    if ways is None:
        taken, ways = frontend.program.conflicts.taken_before(b, loops, target, element)
        if ways is not None:
            element = frontend.program.conflicts.substituted_loads(
                element, {read: _copied(b, loops, read) for read in taken}
            )
    if ways is not None:
        element, update = as_reduction(b, target, element)
        turned = tuple(_turned(loop, way) for loop, way in zip(loops, ways, strict=True))
        b.emit(turned, target, element, update)
        return
    whole = view_of(b.new_buffer(f"{view.buffer.name}_new", view.buffer.dtype, shape))
    assert whole.view is not None
    b.emit(loops, _load(whole.view, index), element)
    b.emit(loops, target, _load(whole.view, index))


def _copied(b: Builder, loops: tuple[Loop, ...], read: Load) -> Load:
    """Return the element in a copy of all those that `read` reads in `loops`, made here."""
    own = tuple(loop for loop in loops if loop.iter in iterators(read))
    buffer = b.new_buffer(f"{read.array}_old", read.dtype, tuple(loop.upper for loop in own))
    copy = Load(buffer.name, tuple(Iter(loop.iter) for loop in own), read.dtype)
    b.emit(own, copy, read)
    return copy


def _load(view: View, index: Index) -> Load:
    return Load(view.buffer.name, view.index(index), view.buffer.dtype)


def _turned(loop: Loop, way: int) -> Loop:
    """Return the loop, downwards for `way` -1."""
    if way > 0:
        return loop
    return Loop(loop.iter, plus(loop.upper, -1), plus(loop.lower, -1), -1)


# -- temporaries ------------------------------------------------------------------------------


def forced(b: Builder, value: Tensor, name: str = "tmp") -> Tensor:
    """Return `value` with a reduction computed into a temporary; other values as they are."""
    return value if value.fold is None else stored(b, value, name)


def settled(b: Builder, value: Operandish) -> Operandish:
    """Return `value` with no reduction pending, as a number when its rank is 0."""
    return as_value(forced(b, value)) if isinstance(value, Tensor) else value


def stored(b: Builder, value: Tensor, name: str = "tmp", in_order: bool | None = None) -> Tensor:
    """Return a new array holding `value`; `in_order`: in C order, None where NumPy decides."""
    if value.merged is not None:
        source = stored(b, value.merged.source, name, value.in_order or in_order or None)
        return merge(source, value.merged.counts, value.shape)
    buffer = b.new_buffer(name, value.dtype, value.shape)
    buffer.in_order = is_in_order(b, value) if in_order is None else in_order
    view = View(buffer, lambda index: index)
    if value.undefined:
        return replace(view_of(buffer), shape=value.shape)
    if value.fold is not None:
        emit_fold(b, value.fold, view, value.shape, fresh=True)
    else:
        loops, index = b.fresh_loops(value.shape)
        b.emit(loops, _load(view, index), cast(value.at(index), buffer.dtype, b.loc))
    return replace(view_of(buffer), shape=value.shape)


def is_in_order(b: Builder, value: Tensor) -> bool:
    """Whether NumPy is sure to lay out a copy of `value` in C order: it keeps that of operands."""
    if value.rank < 2 or value.in_order or value.fold is not None or value.undefined:
        return True
    places = tuple(Iter(f"?{d}") for d in range(value.rank))
    for load in loads(value.at(places)):
        used = [place for part in load.index for place in places if place in walk(part)]
        if len(used) < 2:
            continue
        buffer = next((one for one in b.buffers if one.name == load.array), None)
        is_known = buffer is None or (buffer.in_order and buffer.layout is not Layout.STRIDED)
        if not is_known or not in_turn(load.index, places):
            return False
    return True


def in_turn(index: Index, places: Index) -> bool:
    """Whether the subscripts use `places` one after the other."""
    used = [places.index(place) for part in index for place in places if place in walk(part)]
    return used == sorted(used)


def stored_number(b: Builder, value: Number, name: str) -> Number:
    """Return the number held in a new scalar variable."""
    target = Load(b.new_buffer(name, value.dtype, ()).name, (), value.dtype)
    b.emit((), target, value.expr)
    if value.dtype.is_integer:
        found = _lasting(interval_of(value.expr, b.intervals, b.span_of))
        _remember(b, target.array, range_of(value.expr, b.span_of), found)
        if b.scope.guard != TRUE or b.scope.operand:
            b.guarded.add(target.array)
    return Number(target, value.weak)


def buffer_of(b: Builder, value: Number) -> Buffer:
    """Return the variable that holds the number."""
    assert isinstance(value.expr, Load)
    name = value.expr.array
    return next(buffer for buffer in b.buffers if buffer.name == name)


def stored_subscript(b: Builder, value: Expr, name: str) -> Expr:
    """Return a subscript held in a new variable, 0 where it is not evaluated.

    The kernel evaluates all of a condition, the operands too that Python leaves out, so that the
    bounds of the subscript have to hold whatever the guard says.
    """
    if b.scope.guard == TRUE and not b.scope.operand:
        return stored_number(b, Number(value, False), name).expr
    span = range_of(value, b.span_of).joined(Span(0, 0))
    found = _lasting(interval_of(value, b.intervals, b.span_of))
    low = None if found.low is None else minimum(found.low, ZERO)
    high = None if found.high is None else maximum(found.high, ZERO)
    target = b.unconditional(name, value, cast(ZERO, value.dtype))
    _remember(b, target.array, span, Interval(low, high))
    return target


def _lasting(found: Interval) -> Interval:
    """Return the bounds that outlast the loops around."""
    low, high = (None if e is None or iterators(e) else e for e in (found.low, found.high))
    return Interval(low, high)


def _remember(b: Builder, name: str, span: Span, bounds: Interval) -> None:
    """Note the bounds of a new variable, which is set once."""
    b.ranges[name] = span
    if bounds != ANY:
        b.intervals[name] = bounds


def cheap(b: Builder, value: Tensor) -> Tensor:
    """Return `value`, stored if its elements are expensive and are about to be used repeatedly."""
    return stored(b, value) if value.cost >= EXPENSIVE else value


def cheap_number(b: Builder, value: Number) -> Number:
    """Return the number, stored if it is expensive and about to be used repeatedly."""
    return stored_number(b, value, "tmp") if cost_of(value.expr) >= EXPENSIVE else value


def operand_of_product(b: Builder, value: Tensor, reused: bool) -> Tensor:
    """Return an operand of a contraction: stored when computed and used for many elements."""
    value = forced(b, value)
    _, index = b.fresh_loops(value.shape)
    if value.view is not None and all(is_affine(part) for part in value.view.index(index)):
        return value
    if not reused:
        return value
    return value if is_plain_read(value.at(index)) and value.view is None else stored(b, value)


def plain(b: Builder, value: Tensor, name: str = "tmp") -> Tensor:
    """Return an array with merged dimensions as one in memory of its own shape."""
    if value.merged is None:
        return value
    buffer = b.new_buffer(name, value.dtype, value.shape)
    _write_merged(b, View(buffer, lambda index: index), value)
    return replace(view_of(buffer), shape=value.shape)


def _write_merged(b: Builder, view: View, value: Tensor) -> None:
    """Emit `view[i] = value[i]` in loops over the dimensions behind merged ones.

    Where only outer dimensions are merged the loops run over `value` itself: rows are divided.
    """
    assert value.merged is not None
    source, counts = value.merged.source, value.merged.counts
    if counts[-1] == 1:
        write_elementwise(b, view, value.shape, value)
        return
    target = View(view.buffer, lambda index: view.index(joined(index, source, counts)))
    write_elementwise(b, target, source.shape, source)


def is_stable(value: Number) -> bool:
    """Whether the number may be computed again at each use: reads no memory, costs little."""
    return not has_loads(value.expr) and (
        cost_of(value.expr) < EXPENSIVE or value.dtype in (DType.INT64, DType.BOOL)
    )


# -- reductions -------------------------------------------------------------------------------


def _fits_directly(b: Builder, target: Tensor, value: Tensor) -> bool:
    """Whether a reduction may accumulate in `target`: its type, its shape, and nobody reads it."""
    assert value.fold is not None
    assert target.view is not None
    if value.dtype is not target.dtype or value.rank != target.rank:
        return False
    if any(a == ONE and c != ONE for a, c in zip(value.shape, target.shape, strict=True)):
        return False
    shape = tuple(
        equate(b, a, c, "assignment", b.loc) for a, c in zip(target.shape, value.shape, strict=True)
    )
    loops, index = b.fresh_loops((*shape, *value.fold.extents))
    term = value.fold.term(index[: len(shape)], index[len(shape) :])
    written = Load(target.view.buffer.name, target.view.index(index[: len(shape)]), target.dtype)
    return not frontend.program.conflicts.overlaps(b, loops, written, term)


def emit_fold(b: Builder, fold: Fold, view: View, shape: Index, *, fresh: bool = False) -> None:
    """Emit the statements that compute a reduction into `view`.

    `fresh` memory gets its first value whatever the guard says, so that it is private wherever the
    reduction is.
    """
    rank = len(shape)
    loops, index = b.fresh_loops(shape)
    target = _load(view, index)
    zeros = (integer(0),) * len(fold.extents)
    start: Expr = fold.identity if fold.identity is not None else fold.term(index, zeros)
    with b.unguarded(fresh and fold.identity is not None):
        b.emit(loops, target, cast(start, fold.dtype, b.loc))
    if fold.identity is None and all(extent == ONE for extent in fold.extents):
        return
    outer, index = b.fresh_loops((*shape, *fold.extents))
    if fold.identity is None and len(fold.extents) == 1:
        outer = (*outer[:-1], replace(outer[-1], lower=ONE))
    term = cast(fold.term(index[:rank], index[rank:]), fold.dtype, b.loc)
    target = _load(view, index[:rank])
    value = Binary(fold.op, target, term, fold.dtype)
    b.emit(outer, target, value, Reduction(fold.op, True, narrow=fold.narrow))


def buffers_read(value: Tensor | Number) -> frozenset[str]:
    """Return the names of the buffers that evaluating `value` reads."""
    if isinstance(value, Number):
        return reads(value.expr)
    index = tuple(Iter(f"?{d}") for d in range(value.rank))
    if value.fold is not None:
        inner = tuple(Iter(f"?r{d}") for d in range(len(value.fold.extents)))
        return reads(value.fold.term(index, inner))
    return reads(value.at(index))


def is_whole(value: Tensor) -> Buffer | None:
    """Return the buffer that `value` is all of, in its own order, or None."""
    if value.view is None:
        return None
    buffer = value.view.buffer
    index = tuple(Iter(f"?{d}") for d in range(value.rank))
    same = value.view.index(index) == index and len(buffer.shape) == value.rank
    return buffer if same and value.shape == buffer.shape else None


_REDUCING = (
    BinaryOp.ADD, BinaryOp.MUL, BinaryOp.MIN, BinaryOp.MAX, BinaryOp.AND, BinaryOp.OR, BinaryOp.XOR,
)  # fmt: skip


def store_element(b: Builder, target: Load, value: Expr) -> None:
    """Emit `target = value`; `value` has the target's dtype."""
    b.emit((), target, *as_reduction(b, target, value))


def as_reduction(b: Builder, target: Load, value: Expr) -> tuple[Expr, Reduction | None]:
    """Return `value`, and the reduction that `target = value` is, if it is one."""
    accumulated = _accumulation(b, target, value)
    if accumulated is None:
        return value, None
    op, term = accumulated
    return Binary(op, target, term, value.dtype), Reduction(op, is_exact(value.dtype))


def is_exact(dtype: DType) -> bool:
    """Tell whether sums, products, extrema and bits of `dtype` are the same in any order."""
    return dtype.kind in (Kind.BOOL, Kind.SIGNED, Kind.UNSIGNED)


def _accumulation(b: Builder, target: Load, value: Expr) -> tuple[BinaryOp, Expr] | None:
    """Return operator and term of `target = target op term`, if some loop leaves `target` alone."""
    if not isinstance(value, Binary) or not _is_repeated(b, target):
        return None
    if target.array in reads(b.scope.guard):
        return None
    op, left, right = value.op, value.left, value.right
    if op in _REDUCING and right == target:
        left, right = right, left
    if op is BinaryOp.SUB and left == target and value.dtype is not DType.BOOL:
        op, right = BinaryOp.ADD, Unary(UnaryOp.NEG, right, value.dtype)
    if op not in _REDUCING or left != target:
        return None
    if target.array in reads(right):
        return None
    return op, right


def _is_repeated(b: Builder, target: Load) -> bool:
    used = frozenset(name for part in target.index for name in iterators(part))
    return any(name not in used for name in b.scope.iters)
