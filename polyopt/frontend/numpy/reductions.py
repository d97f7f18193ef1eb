"""NumPy's reduction and product calls: arguments read, then `folds` and `products` do the work.

In: arguments of the call.  Out: values.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from polyopt.dataclass import dataclass, replace
from polyopt.errors import Loc
from polyopt.frontend.arithmetic.elementwise import apply, combine
from polyopt.frontend.arithmetic.operators import operand
from polyopt.frontend.integers.affine_integers import ONE, at_least, select
from polyopt.frontend.numpy import axis_reductions, creation, products
from polyopt.frontend.numpy.call_arguments import (
    NONE,
    Arguments,
    dtype,
    is_none,
    known_axes,
    known_bool,
    known_int,
    tensor,
)
from polyopt.frontend.numpy.table_rules import OnMasked, Rule
from polyopt.frontend.numpy.ufuncs import UFUNCS
from polyopt.frontend.program.builder import Builder
from polyopt.frontend.program.memory import EXPENSIVE, forced, settled, store, stored
from polyopt.frontend.subscripts import masks
from polyopt.frontend.values.codes import hint_of_no_dimensions, refuse, refuse_raising
from polyopt.frontend.values.constants import array_or_number, as_sequence
from polyopt.frontend.values.promote import cast, is_castable
from polyopt.frontend.values.values import (
    Known,
    Masked,
    Number,
    Operandish,
    Sequence,
    Tensor,
    Value,
    as_tensor,
    as_value,
)
from polyopt.ir.expr import Const
from polyopt.ir.types import DType

_REDUCED = {
    "sum": "axis dtype out keepdims initial where",
    "prod": "axis dtype out keepdims initial where",
    "max": "axis out keepdims initial where",
    "min": "axis out keepdims initial where",
    "any": "axis out keepdims where",
    "all": "axis out keepdims where",
    "mean": "axis dtype out keepdims where",
    "var": "axis dtype out ddof keepdims where mean correction",
    "count_nonzero": "axis keepdims",
}
"""The optional arguments of the reductions, in NumPy's order."""


@dataclass(frozen=True, eq=False)
class Request:
    """What a call of a reduction asks for."""

    value: Tensor
    axes: tuple[int, ...] | None
    keepdims: bool
    dtype: DType | None
    initial: Operandish | None
    where: Tensor | None
    out: Value
    rest: dict[str, Value]


def request(b: Builder, args: Arguments, optional: str) -> Request:
    """Return the arguments of a reduction; those named in `optional` only."""
    names = ["a", *optional.split()]
    found = dict(zip(names, args.take("a", optional), strict=True))
    where = found.get("where", NONE)
    given = found.get("initial", NONE)
    return Request(
        tensor(b, found["a"], args.loc),
        known_axes(b, found["axis"], args.loc),
        known_bool(found.get("keepdims", NONE), "keepdims", args.loc),
        dtype(found.get("dtype", NONE), args.loc),
        None if is_none(given) else settled(b, operand(given, args.loc)),
        None if is_none(where) or is_true(where) else forced(b, tensor(b, where, args.loc)),
        found.get("out", NONE),
        found,
    )


def is_true(value: Value) -> bool:
    """Whether an argument is the constant True."""
    return isinstance(value, Known) and value.value is True


def reduction(name: str) -> Rule:
    """Return the rule of `np.<name>` with all its arguments."""

    def rule(b: Builder, args: Arguments) -> Value:
        if args.values and isinstance(args.values[0], Masked):
            return masks.reduction(name, b, args)
        r = request(b, args, _REDUCED[name])
        if r.where is not None and r.initial is None and name in ("max", "min"):
            hint = "say what an empty choice gives: `initial=`"
            refuse("PO0151", f"`{args.name}` with `where=` but no `initial=`", args.loc, hint)
        result = axis_reductions.reduced(
            b, name, r.value, r.axes, r.keepdims, args.loc, r.dtype,
            initial=r.initial, where=r.where,
        )  # fmt: skip
        return with_out(b, result, r.out, args)

    return rule


def mean(b: Builder, args: Arguments) -> Value:
    """np.mean"""
    if args.values and isinstance(args.values[0], Masked):
        return masks.reduction("mean", b, args)
    r = request(b, args, _REDUCED["mean"])
    result = axis_reductions.mean(b, r.value, r.axes, r.keepdims, args.loc, r.dtype, r.where)
    return with_out(b, result, r.out, args)


def _variance(b: Builder, args: Arguments) -> tuple[Operandish, Request]:
    r = request(b, args, _REDUCED["var"])
    _refuse_whole_numbers(r.dtype, args)
    given = [r.rest[name] for name in ("ddof", "correction") if not is_none(r.rest[name])]
    less = known_int(b, _whole(given[0]), "ddof", args.loc) if given else 0
    centre = r.rest["mean"]
    known = None if is_none(centre) else settled(b, operand(centre, args.loc))
    result = axis_reductions.variance(
        b, r.value, r.axes, r.keepdims, less, args.loc, r.dtype, r.where, known
    )
    return result, r


def _whole(value: Value) -> Value:
    """Return a known float without a fraction as an integer: the array API's `correction=1.0`."""
    match value:
        case Known(value=float(found)) | Number(expr=Const(value=float(found))):
            return Known(int(found)) if found.is_integer() else value
        case _:
            return value


def _refuse_whole_numbers(dtype: DType | None, args: Arguments) -> None:
    if dtype is not None and not (dtype.is_float or dtype.is_complex):
        refuse("PO0151", f"`{args.name}` computed in {dtype}", args.loc, "use np.float64")


def var(b: Builder, args: Arguments) -> Value:
    """np.var"""
    result, r = _variance(b, args)
    return with_out(b, result, r.out, args)


def std(b: Builder, args: Arguments) -> Value:
    """np.std"""
    result, r = _variance(b, args)
    return with_out(b, apply(b, UFUNCS["sqrt"], (result,), args.loc), r.out, args)


def with_out(
    b: Builder, result: Operandish, out: Value, args: Arguments, *, widens: bool = False
) -> Value:
    """Store the result into `out=` when it was given; only ufuncs fill a wider one."""
    out = as_sequence(out)
    if isinstance(out, Sequence) and len(out.items) == 1:
        out = out.items[0]
    if is_none(out):
        return result
    target = tensor(b, out, args.loc)
    if isinstance(out, Number):
        message = "`out` is an array without dimensions, which is not changed"
        refuse("PO0163", message, args.loc, hint_of_no_dimensions("out"))
    if target.view is None:
        target = stored(b, target, "out")
    if not is_castable(result.dtype, target.dtype, "same_kind"):
        message = f"{result.dtype} does not go into `out` of {target.dtype}"
        refuse_raising("PO0144", message, args.loc)
    if not widens and target.rank != as_tensor(result).rank:
        ranks = f"{as_tensor(result).rank} dimensions, `out` has {target.rank}"
        refuse("PO0140", f"the result of `{args.name}` has {ranks}", args.loc)
    store(b, target, as_tensor(result), args.loc)
    return target


# -- without NaN ------------------------------------------------------------------------------


def without_nan(name: str) -> Rule:
    """Return the rule of np.nansum and its kin: the reduction of the elements that are numbers."""
    base = "var" if name == "std" else name

    def rule(b: Builder, args: Arguments) -> Value:
        r = request(b, args, _REDUCED[base])
        value, loc = forced(b, r.value), args.loc
        if value.cost >= EXPENSIVE:
            value = stored(b, value)
        flags = r.where
        has_nan = value.dtype.is_float or value.dtype.is_complex
        if has_nan and value.dtype is not DType.BFLOAT16:  # NumPy looks for none there
            missing = apply(b, UFUNCS["isnan"], (value,), loc)
            present = apply(b, UFUNCS["logical_not"], (missing,), loc)
            if r.where is not None:
                present = apply(b, UFUNCS["logical_and"], (present, r.where), loc)
            flags = as_tensor(present)
        if base == "mean":
            result = axis_reductions.mean(b, value, r.axes, r.keepdims, loc, r.dtype, flags)
        elif base == "var":
            _refuse_whole_numbers(r.dtype, args)
            ddof = r.rest["ddof"]
            less = 0 if is_none(ddof) else known_int(b, ddof, "ddof", loc)
            result = axis_reductions.variance(
                b, value, r.axes, r.keepdims, less, loc, r.dtype, flags
            )
            if name == "std":
                result = apply(b, UFUNCS["sqrt"], (result,), loc)
        else:
            result = axis_reductions.reduced(
                b, name, value, r.axes, r.keepdims, loc, r.dtype, initial=r.initial, where=flags
            )
            if name in ("max", "min") and flags is not None and r.initial is None:
                result = _nan_where_none(b, result, value, flags, r, loc)
        return with_out(b, result, r.out, args)

    return rule


def _nan_where_none(
    b: Builder, result: Operandish, value: Tensor, flags: Tensor, r: Request, loc: Loc | None
) -> Operandish:
    """An extreme of nothing but NaN is NaN; of nothing at all it is refused."""
    for axis in axis_reductions.normal_axes(r.axes, value.rank, loc):
        message = "the largest or smallest element of an empty array has no value"
        b.demand(at_least(value.shape[axis], ONE), "PO0172", message, loc)
    some = axis_reductions.reduced(b, "any", flags, r.axes, r.keepdims, loc)
    kind = result.dtype
    nan = Const(math.nan, kind)
    kinds = (DType.BOOL, kind)
    return combine(
        b, "nan", (some, settled(b, result)), kinds, kind, lambda p, _: select(p[0], p[1], nan), loc
    )


def product(function: Callable[[Builder, Operandish, Operandish, Loc | None], Operandish]) -> Rule:
    """Return the rule of a product of two arrays, with `out=`."""

    def rule(b: Builder, args: Arguments) -> Value:
        left, right, out = args.take("a b", "out")
        sides = [settled(b, array_or_number(b, side, args.loc)) for side in (left, right)]
        return with_out(b, function(b, sides[0], sides[1], args.loc), out, args)

    return rule


def vdot(b: Builder, args: Arguments) -> Value:
    """np.vdot: the sum of products, the left side conjugated"""
    left, right = (forced(b, tensor(b, side, args.loc)) for side in args.take("a b"))
    if left.rank != right.rank:
        refuse("PO0141", "np.vdot of arrays of different ranks", args.loc, "flatten both first")
    if left.dtype.is_complex:
        left = as_tensor(apply(b, UFUNCS["conjugate"], (left,), args.loc))
    word = "abcdefghijklmnop"[: left.rank]
    if any(
        one != other and ONE in (one, other)
        for one, other in zip(left.shape, right.shape, strict=True)
    ):
        refuse("PO0140", "the operands of np.vdot differ in shape", args.loc)
    return as_value(products.contract(b, (left, right), (word, word), "", args.loc))


def tensordot(b: Builder, args: Arguments) -> Value:
    """np.tensordot"""
    left, right, axes = args.take("a b", "axes")
    a, c = (forced(b, tensor(b, side, args.loc)) for side in (left, right))
    found = as_sequence(axes)
    if isinstance(found, Sequence):
        if len(found.items) != 2:
            refuse("PO0151", "np.tensordot needs a pair of axes", args.loc)
        ours, theirs = (known_axes(b, part, args.loc) or () for part in found.items)
    else:
        count = 2 if is_none(axes) else known_int(b, axes, "axes", args.loc)
        ours, theirs = tuple(range(a.rank - count, a.rank)), tuple(range(count))
    return products.tensordot(b, a, c, ours, theirs, args.loc)


def einsum(b: Builder, args: Arguments) -> Value:
    """np.einsum, with a text of subscripts or with lists of numbers"""
    unknown = set(args.keywords) - {"out", "optimize", "dtype", "order", "casting"}
    if unknown:
        refuse("PO0151", f"np.einsum with `{min(unknown)}=`", args.loc)
    text, values = _subscripts(b, args)
    operands = [forced(b, tensor(b, value, args.loc)) for value in values]
    kind = dtype(args.keywords.get("dtype", NONE), args.loc)
    if kind is not None:
        operands = [creation.in_type(operand, kind, args.loc) for operand in operands]
    result = products.einsum(b, text, operands, args.loc)
    return with_out(b, result, args.keywords.get("out", NONE), args)


def _subscripts(b: Builder, args: Arguments) -> tuple[str, tuple[Value, ...]]:
    """Return the text and the operands of np.einsum."""
    if not args.values:
        refuse("PO0151", "np.einsum without arguments", args.loc)
    first = args.values[0]
    if isinstance(first, Known) and isinstance(first.value, str):
        return first.value, args.values[1:]
    if len(args.values) < 2:
        refuse("PO0151", "np.einsum without subscripts", args.loc, 'write np.einsum("ij,jk", a, c)')
    count = len(args.values) // 2
    words = [_word(b, args.values[2 * n + 1], args) for n in range(count)]
    text = ",".join(words)
    if len(args.values) % 2:
        text += "->" + _word(b, args.values[-1], args)
    return text, args.values[: 2 * count : 2]


def _word(b: Builder, value: Value, args: Arguments) -> str:
    """Return the labels of a list of numbers, `...` for an Ellipsis."""
    found = as_sequence(value)
    if not isinstance(found, Sequence):
        refuse("PO0151", "np.einsum with these subscripts", args.loc, "give a text or lists")
    word = ""
    for item in found.items:
        if isinstance(item, Known) and item.value is Ellipsis:
            word += "..."
            continue
        number = known_int(b, item, "a subscript of np.einsum", args.loc)
        if not 0 <= number < len(products.LETTERS):
            refuse("PO0151", f"the subscript {number} of np.einsum", args.loc)
        word += products.LETTERS[number]
    return word


def count_nonzero(b: Builder, args: Arguments) -> Value:
    """np.count_nonzero"""
    r = request(b, args, _REDUCED["count_nonzero"])
    value = forced(b, r.value)
    flags = replace(value, dtype=DType.BOOL, at=lambda i: cast(value.at(i), DType.BOOL), view=None)
    return axis_reductions.reduced(b, "sum", flags, r.axes, r.keepdims, args.loc, DType.INT64)


dot = product(products.dot)
matmul = product(products.matmul)
inner = product(products.inner)
outer = product(products.outer)


FUNCTIONS: dict[str, Rule | OnMasked] = {
    **{name: OnMasked(reduction(name)) for name in ("sum", "prod", "any", "all")},
    "mean": OnMasked(mean),
    **{f"nan{n}": without_nan(n) for n in ("sum", "prod", "max", "min", "mean", "var", "std")},
}
