"""Functions whose results are as long as the data says: nonzero, argwhere, compress, bincount.

In: arguments of the call.  Out: arrays whose extent is a dynamic size.
Refuses: axes and options that are not known while compiling (PO0151).
"""

from __future__ import annotations

from polyopt.dataclass import replace
from polyopt.errors import Loc
from polyopt.frontend.integers.affine_integers import (
    ONE,
    TRUE,
    ZERO,
    at_least,
    both,
    compare,
    is_affine,
    less,
    maximum,
    plus,
    select,
)
from polyopt.frontend.integers.intervals import interval_of
from polyopt.frontend.numpy.axis_reductions import one_axis
from polyopt.frontend.numpy.call_arguments import Arguments, array_of, is_none, size
from polyopt.frontend.numpy.regrouping import flat_vector
from polyopt.frontend.program.builder import Builder
from polyopt.frontend.program.memory import stored
from polyopt.frontend.subscripts.basic import Cut, Mask, Part
from polyopt.frontend.subscripts.compaction import COUNT_CODE, positions
from polyopt.frontend.subscripts.index_arrays import gathered
from polyopt.frontend.values.codes import refuse
from polyopt.frontend.values.promote import cast
from polyopt.frontend.values.shapes import equate
from polyopt.frontend.values.values import Index, Masked, Sequence, Tensor, Value, cost_of, view_of
from polyopt.ir.expr import Binary, BinaryOp, CompareOp, Const, Expr, Load, integer
from polyopt.ir.scop import Reduction
from polyopt.ir.types import DType


def _flags(b: Builder, value: Value, loc: Loc | None) -> Tensor:
    """Return which elements are not zero."""
    array = array_of(b, value, loc)
    if array.dtype is DType.BOOL:
        return array
    return replace(array, dtype=DType.BOOL, at=lambda i: cast(array.at(i), DType.BOOL), view=None)


def nonzero(b: Builder, args: Arguments) -> Value:
    """np.nonzero, and np.where with one argument"""
    (array,) = args.take("a")
    flags = _flags(b, array, args.loc)
    if flags.rank == 0:
        refuse("PO0140", "np.nonzero of a number", args.loc, "use np.atleast_1d")
    return Sequence(tuple(positions(b, flags, kept=False)))


def argwhere(b: Builder, args: Arguments) -> Value:
    """np.argwhere"""
    (array,) = args.take("a")
    found = positions(b, _flags(b, array, args.loc), kept=False)
    if not found:
        refuse("PO0140", "np.argwhere of a number", args.loc, "use np.atleast_1d")

    def at(index: Index) -> Expr:
        result = found[-1].at(index[:1])
        for d in range(len(found) - 2, -1, -1):
            here = compare(CompareOp.EQ, index[1], integer(d))
            result = select(here, found[d].at(index[:1]), result)
        return result

    return Tensor((found[0].shape[0], integer(len(found))), DType.INT64, at)


def compress(b: Builder, args: Arguments) -> Value:
    """np.compress"""
    condition, array, axis, out = args.take("condition a", "axis out")
    if not is_none(out):
        refuse("PO0151", "np.compress with `out=`", args.loc, "assign the result")
    flags, value = _flags(b, condition, args.loc), array_of(b, array, args.loc)
    along = 0
    if is_none(axis):
        value = flat_vector(b, value, args.loc)
    else:
        along = one_axis(b, axis, value.rank, args.loc)
    if flags.rank != 1:
        refuse("PO0140", "np.compress takes a condition of one dimension", args.loc)
    parts: list[Part] = [*(Cut(None, None, 1) for _ in range(along)), Mask(flags)]
    return gathered(b, value, parts, "the array", args.loc)


def compressed(b: Builder, args: Arguments) -> Value:
    """ndarray.compress"""
    if len(args.values) < 2:
        refuse("PO0151", f"`{args.name}` needs a condition", args.loc)
    value, condition, *rest = args.values
    return compress(b, replace(args, values=(condition, value, *rest)))


def extract(b: Builder, args: Arguments) -> Value:
    """np.extract"""
    condition, array = args.take("condition arr")
    flags = flat_vector(b, _flags(b, condition, args.loc), args.loc)
    value = flat_vector(b, array_of(b, array, args.loc), args.loc)
    equate(b, value.shape[0], flags.shape[0], "np.extract", args.loc)
    return Masked(value, flags)


def bincount(b: Builder, args: Arguments) -> Value:
    """np.bincount"""
    array, weights, least = args.take("x", "weights minlength")
    numbers = array_of(b, array, args.loc)
    if numbers.rank != 1 or not numbers.dtype.is_integer or numbers.dtype is DType.UINT64:
        hint = "give an array of one dimension of signed integers"
        refuse("PO0151", "np.bincount of this array", args.loc, hint)
    if cost_of(numbers.at(b.fresh_loops(numbers.shape)[1])) > 1:
        numbers = stored(b, numbers, "numbers")
    shortest = ZERO if is_none(least) else size(b, least, "minlength", args.loc)
    loops, index = b.fresh_loops(numbers.shape)
    element = cast(numbers.at(index), DType.INT64)
    with b.within(loops):
        negative = interval_of(element, b.intervals, b.span_of).low
        may_be_negative = negative is None or not b.never(less(negative, ZERO))
    if may_be_negative:
        number = b.fault(
            COUNT_CODE, "np.bincount of a negative number", args.loc, "count from zero"
        )
        b.fail_where(less(element, ZERO), number, loops)
    extent = _bins(b, numbers, shortest, args.loc)
    kind, found = DType.INT64, cast(ONE, DType.INT64)
    if not is_none(weights):
        given = array_of(b, weights, args.loc)
        equate(b, numbers.shape[0], given.shape[0], "np.bincount", args.loc)
        kind, found = DType.FLOAT64, cast(given.at(index), DType.FLOAT64, args.loc)
    buffer = b.new_buffer("bins", kind, (extent,))
    zero, at = b.fresh_loops((extent,))
    b.emit(zero, Load(buffer.name, at, kind), cast(ZERO, kind))
    target = Load(buffer.name, (element,), kind)
    update = Reduction(BinaryOp.ADD, False)
    inside = both(at_least(element, ZERO), less(element, extent))
    affine = is_affine(inside)
    with b.under((inside,) if affine else (), TRUE if affine else inside):
        b.emit(loops, target, Binary(BinaryOp.ADD, target, found, kind), update)
    return replace(view_of(buffer), shape=(extent,))


def _bins(b: Builder, numbers: Tensor, shortest: Expr, loc: Loc | None) -> Expr:
    """Return one more than the largest number, at least `shortest`."""
    loops, index = b.fresh_loops(numbers.shape)
    element = cast(numbers.at(index), DType.INT64)
    with b.within(loops):
        high = interval_of(element, b.intervals, b.span_of).high
        if high is not None and b.never(at_least(high, shortest)):
            return shortest
    place = ("bincount", loc, b.loc)
    if place in b.facts.bounded and shortest != ZERO:
        reason = "np.bincount met a number of `minlength` or more: its result would be longer"
        number = b.fault(COUNT_CODE, reason, loc, "give a larger `minlength`")
        b.fail_where(at_least(element, shortest), number, loops)
        return shortest
    top = Load(b.new_buffer("top", DType.INT64, ()).name, (), DType.INT64)
    b.emit((), top, shortest)
    needed = Binary(BinaryOp.ADD, element, ONE, DType.INT64)
    largest = Binary(BinaryOp.MAX, top, needed, DType.INT64)
    b.emit(loops, top, largest, Reduction(BinaryOp.MAX, True))
    extent = b.dynamic(top, "bins")
    b.unbounded[extent] = place
    if isinstance(high, Const) and int(high.value.real) < 1 << 16:
        b.bounds[extent] = maximum(shortest, plus(high, 1))
    if extent not in b.sizes:
        b.sizes.append(extent)
    return extent
