"""np.where, np.clip and other elementwise functions that are no ufuncs.

In: arguments of the call.  Out: lazy arrays or numbers.
Functions whose results are as long as the data says.
"""

from __future__ import annotations

import math

import numpy as np

from polyopt.dataclass import replace
from polyopt.errors import Loc
from polyopt.frontend.arithmetic.elementwise import apply, combine, operand_kinds
from polyopt.frontend.arithmetic.narrowing import is_beyond
from polyopt.frontend.arithmetic.operators import operand
from polyopt.frontend.integers.affine_integers import (
    ONE,
    TRUE,
    ZERO,
    at_least,
    both,
    compare,
    either,
    is_affine,
    less,
    maximum,
    plus,
    select,
)
from polyopt.frontend.integers.intervals import interval_of
from polyopt.frontend.numpy.axis_reductions import one_axis
from polyopt.frontend.numpy.call_arguments import (
    Arguments,
    array_of,
    is_none,
    known_int,
    number,
    size,
    tensor,
)
from polyopt.frontend.numpy.complexes import imag as im_of
from polyopt.frontend.numpy.complexes import of_parts
from polyopt.frontend.numpy.complexes import real as re_of
from polyopt.frontend.numpy.reductions import is_true, with_out
from polyopt.frontend.numpy.regrouping import flat_vector
from polyopt.frontend.numpy.ufuncs import UFUNCS
from polyopt.frontend.program.builder import Builder
from polyopt.frontend.program.memory import forced, store, stored
from polyopt.frontend.subscripts.basic import Cut, Mask, Part
from polyopt.frontend.subscripts.compaction import COUNT_CODE, positions
from polyopt.frontend.subscripts.index_arrays import gathered
from polyopt.frontend.subscripts.runtime_subscripts import require_below
from polyopt.frontend.values.codes import refuse
from polyopt.frontend.values.constants import array_or_number, as_sequence
from polyopt.frontend.values.promote import call, cast, common_dtype, is_castable, real_dtype
from polyopt.frontend.values.shapes import equate
from polyopt.frontend.values.values import (
    Index,
    Known,
    Masked,
    Number,
    Operandish,
    Sequence,
    Tensor,
    Value,
    as_tensor,
    cost_of,
    view_of,
)
from polyopt.ir.expr import (
    Binary,
    BinaryOp,
    Compare,
    CompareOp,
    Const,
    Expr,
    Load,
    MathFunc,
    Select,
    integer,
)
from polyopt.ir.scop import Reduction
from polyopt.ir.types import DType


def where(b: Builder, args: Arguments) -> Value:
    """np.where; with one argument the positions that are not zero"""
    condition, then, otherwise = args.take("condition", "x y")
    if is_none(then) and is_none(otherwise):
        return nonzero(b, Arguments(args.name, (condition,), {}, args.loc))
    values = tuple(array_or_number(b, value, args.loc) for value in (condition, then, otherwise))
    kind = common_dtype(operand_kinds(values[1:]), args.loc)
    inputs = (DType.BOOL, kind, kind)
    found = combine(b, "np.where", values, inputs, kind, lambda p, _: select(*p), args.loc)
    return as_tensor(found)  # an array, also of numbers


def clip(b: Builder, args: Arguments) -> Value:
    """np.clip: maximum with the lower bound, then minimum with the upper one"""
    array, low, high, out, least, most = args.take("a", "a_min a_max out min max")
    value = array_or_number(b, array, args.loc)
    sides = [any(not is_none(bound) for bound in pair) for pair in ((low, least), (high, most))]
    is_single = value.dtype is DType.BFLOAT16 and all(sides)
    limits = [
        array_or_number(b, bound, args.loc)
        for bound in (low, least, high, most)
        if not is_none(bound)
    ]
    if len(limits) == 2 and all(sides) and all(as_tensor(limit).rank == 0 for limit in limits):
        found = _between(b, value, limits, args)
        if found is not None:
            return with_out(b, found, out, args)
    for name, bounds in (("maximum", (low, least)), ("minimum", (high, most))):
        for bound in bounds:
            if is_none(bound):
                continue
            limit = array_or_number(b, bound, args.loc)
            if not is_beyond(limit, value.dtype, below=name == "maximum"):
                value = apply(b, UFUNCS[name], (value, limit), args.loc)
    if is_single and value.dtype.is_half:  # NumPy's function has no loop of its own for it
        single = DType.FLOAT32
        value = combine(
            b, "clip", (value,), (value.dtype,), single, lambda p, k: cast(p[0], k), args.loc
        )
    return with_out(b, value, out, args)


def _between(
    b: Builder, value: Operandish, limits: list[Operandish], args: Arguments
) -> Operandish | None:
    """Return floats clipped to two numbers: a zero that equals one of them keeps its sign.

    None: other types, for which minimum and maximum do.
    """
    low, high = limits
    kind = common_dtype(operand_kinds((value, low, high)), args.loc)
    if not kind.is_float or kind.is_half:
        return None

    def rule(parts: tuple[Expr, ...], out: DType) -> Expr:
        number, least, most = parts
        below = either(Compare(CompareOp.LT, number, least), _is_nan(least))
        raised = Select(below, least, number, out)
        above = either(Compare(CompareOp.GT, raised, most), _is_nan(most))
        return Select(above, most, raised, out)

    return combine(
        b, "np.clip", (value, low, high), (kind,) * 3, kind, rule, args.loc, repeats=True
    )


def _is_nan(bound: Expr) -> Expr:
    if isinstance(bound, Const):
        return Const(bound.value != bound.value, DType.BOOL)
    return call(MathFunc.ISNAN, bound, dtype=DType.BOOL)


def real(b: Builder, args: Arguments) -> Value:
    """np.real, ndarray.real"""
    return _part(b, args, MathFunc.REAL)


def imag(b: Builder, args: Arguments) -> Value:
    """np.imag, ndarray.imag"""
    return _part(b, args, MathFunc.IMAG)


def _part(b: Builder, args: Arguments, func: MathFunc) -> Value:
    (array,) = args.take("val")
    value = array_or_number(b, array, args.loc)
    if not value.dtype.is_complex:
        if func is MathFunc.IMAG:
            zero = cast(Const(0, DType.INT64), value.dtype)
            same = (value.dtype,)
            return combine(b, "imag", (value,), same, value.dtype, lambda p, _: zero, args.loc)
        return value
    kind = real_dtype(value.dtype)

    def rule(parts: tuple[Expr, ...], out: DType) -> Expr:
        return call(func, *parts, dtype=out)

    found = combine(b, func.value, (value,), (value.dtype,), kind, rule, args.loc)
    if isinstance(found, Tensor) and isinstance(value, Tensor) and value.view is not None:
        return replace(found, part_of=value)
    return found


def round_(b: Builder, args: Arguments) -> Value:
    """np.round: scaled, rounded to even, scaled back"""
    array, decimals, out = args.take("a", "decimals out")
    value = array_or_number(b, array, args.loc)
    places = 0 if is_none(decimals) else known_int(b, decimals, "decimals", args.loc)
    if value.dtype.is_integer and places < 0:
        refuse("PO0151", "np.round of integers to tens or hundreds", args.loc, "use `//` and `*`")
    if places == 0 or value.dtype.is_integer:
        same = UFUNCS["positive"] if value.dtype.is_integer else UFUNCS["rint"]
        return with_out(b, apply(b, same, (value,), args.loc), out, args)
    scale = Number(Const(10.0 ** abs(places), DType.FLOAT64), True)
    names = ("multiply", "rint", "divide") if places > 0 else ("divide", "rint", "multiply")
    for name in names:
        values = (value,) if name == "rint" else (value, scale)
        value = _kept(b, apply(b, UFUNCS[name], values, args.loc), value.dtype, args.loc)
    return with_out(b, value, out, args)


def _kept(b: Builder, value: Operandish, dtype: DType, loc: Loc | None) -> Operandish:
    """Return a step of np.round in the array's type, which NumPy stores each of them in."""
    if not dtype.is_half:
        return value
    return combine(b, "round", (value,), (value.dtype,), dtype, lambda p, k: cast(p[0], k), loc)


def nan_to_num(b: Builder, args: Arguments) -> Value:
    """np.nan_to_num"""
    array, copy, nan, high, low = args.take("x", "copy nan posinf neginf")
    value = array_or_number(b, array, args.loc)
    kind = value.dtype
    if kind is DType.BFLOAT16 or not (kind.is_float or kind.is_complex):
        return value  # to NumPy bfloat16 is no kind of real number
    part = real_dtype(kind)
    info = np.finfo(part.value)
    ends: list[Expr] = []
    for given, default in ((nan, 0.0), (high, float(info.max)), (low, float(info.min))):
        if is_none(given):
            ends.append(Const(default, part))
        else:
            ends.append(cast(number(b, given, "a replacement", args.loc).expr, part, args.loc))

    def repaired(x: Expr) -> Expr:
        bottom = Compare(CompareOp.EQ, x, Const(-math.inf, part))
        top = Compare(CompareOp.EQ, x, Const(math.inf, part))
        inner = select(bottom, ends[2], select(top, ends[1], x))
        return select(call(MathFunc.ISNAN, x, dtype=DType.BOOL), ends[0], inner)

    def rule(parts: tuple[Expr, ...], out: DType) -> Expr:
        if out.is_complex:
            return of_parts(repaired(re_of(parts[0])), repaired(im_of(parts[0])), out)
        return repaired(parts[0])

    result = combine(b, "np.nan_to_num", (value,), (kind,), kind, rule, args.loc, repeats=True)
    if isinstance(copy, Known) and copy.value is False:
        return with_out(b, result, array, args)
    return result


def choice(b: Builder, args: Arguments) -> Value:
    """np.select: the first choice whose condition holds"""
    conditions, choices, default = args.take("condlist choicelist", "default")
    tests, values = (_items(value, args) for value in (conditions, choices))
    if len(tests) != len(values) or not tests:
        refuse("PO0151", "np.select with other than one choice a condition", args.loc)
    result = operand(Known(0) if is_none(default) else default, args.loc)
    others = [array_or_number(b, value, args.loc) for value in values]
    kind = common_dtype(operand_kinds((*others, result)), args.loc)
    return _nested(b, [array_or_number(b, t, args.loc) for t in tests], others, result, kind, args)


def choose(b: Builder, args: Arguments) -> Value:
    """np.choose: the array whose number is given"""
    array, choices, out, mode = args.take("a choices", "out mode")
    values = [array_or_number(b, value, args.loc) for value in _items(choices, args)]
    how = mode.value if isinstance(mode, Known) and mode.value is not None else "raise"
    if how not in ("clip", "wrap", "raise") or not values:
        refuse("PO0151", f"np.choose with mode {how!r}", args.loc, 'use "clip" or "wrap"')
    number_ = array_or_number(b, array, args.loc)
    if how == "raise":
        reason = f"np.choose of a number outside of the {len(values)} choices"
        require_below(b, forced(b, as_tensor(number_)), len(values), reason, args.loc)
    if how == "wrap":
        count = Number(Const(len(values), DType.INT64), True)
        number_ = apply(b, UFUNCS["remainder"], (number_, count), args.loc)
    tests = []
    for place in range(len(values) - 1):
        name = "less_equal" if place == 0 and how == "clip" else "equal"
        here = Number(Const(place, DType.INT64), True)
        tests.append(apply(b, UFUNCS[name], (number_, here), args.loc))
    kind = common_dtype(operand_kinds(values), args.loc)
    result = _nested(b, tests, values[:-1], values[-1], kind, args)
    assert isinstance(result, Number | Tensor)
    return with_out(b, result, out, args)


def _items(value: Value, args: Arguments) -> tuple[Value, ...]:
    found = as_sequence(value)
    if not isinstance(found, Sequence):
        refuse("PO0151", f"`{args.name}` needs lists", args.loc, "write the items in brackets")
    return found.items


def _nested(
    b: Builder,
    tests: list[Operandish],
    values: list[Operandish],
    default: Operandish,
    kind: DType,
    args: Arguments,
) -> Value:
    """Return one expression that asks the conditions in order."""
    operands = (*tests, *values, default)
    inputs = (*[DType.BOOL] * len(tests), *[kind] * (len(values) + 1))

    def rule(parts: tuple[Expr, ...], out: DType) -> Expr:
        result = parts[-1]
        for number_ in reversed(range(len(tests))):
            result = select(parts[number_], parts[len(tests) + number_], result)
        return result

    return combine(b, args.name, operands, inputs, kind, rule, args.loc)


def copyto(b: Builder, args: Arguments) -> Value:
    """np.copyto"""
    target, source, casting, where_ = args.take("dst src", "casting where")
    into = tensor(b, target, args.loc)
    value: Operandish = array_or_number(b, source, args.loc)
    rule = casting.value if isinstance(casting, Known) and casting.value else "same_kind"
    if not value.weak and not is_castable(value.dtype, into.dtype, str(rule)):
        refuse("PO0144", f"{value.dtype} does not go into {into.dtype}", args.loc)
    if not (is_none(where_) or is_true(where_)):
        kinds = (DType.BOOL, into.dtype, into.dtype)
        parts = (operand(where_, args.loc), value, into)
        value = combine(b, "np.copyto", parts, kinds, into.dtype, lambda p, _: select(*p), args.loc)
    store(b, into, as_tensor(value), args.loc)
    return Known(None)


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
