"""NumPy's reduction and product calls: arguments read, then `folds` and `products` do the work.

In: arguments of the call.  Out: values.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

from polyopt.errors import Loc
from polyopt.frontend import folds, masks, products
from polyopt.frontend.arguments import (
    Arguments,
    dtype,
    is_none,
    known_axes,
    known_bool,
    known_int,
    tensor,
)
from polyopt.frontend.builder import Builder
from polyopt.frontend.codes import refuse
from polyopt.frontend.constants import as_sequence
from polyopt.frontend.elementwise import apply
from polyopt.frontend.integers import minimum
from polyopt.frontend.memory import forced, settled, store
from polyopt.frontend.operators import operand
from polyopt.frontend.promote import cast
from polyopt.frontend.ufuncs import UFUNCS
from polyopt.frontend.values import Known, Masked, Operandish, Sequence, Tensor, Value, as_tensor
from polyopt.ir.types import DType

Rule: TypeAlias = Callable[[Builder, Arguments], Value]


def reduction(name: str) -> Rule:
    """Return the rule of `np.<name>(a, axis, dtype, keepdims)`."""
    second = "axis dtype keepdims" if name in ("sum", "prod") else "axis keepdims"

    def rule(b: Builder, args: Arguments) -> Value:
        if args.values and isinstance(args.values[0], Masked):
            return masks.reduction(name, b, args)
        found = dict(zip(["a", *second.split()], args.take("a", second), strict=True))
        array = tensor(b, found["a"], args.loc)
        axes = known_axes(b, found["axis"], args.loc)
        keepdims = known_bool(found["keepdims"], "keepdims", args.loc)
        kind = dtype(found["dtype"], args.loc) if "dtype" in found else None
        return folds.reduced(b, name, array, axes, keepdims, args.loc, kind)

    return rule


def mean(b: Builder, args: Arguments) -> Value:
    """np.mean"""
    if args.values and isinstance(args.values[0], Masked):
        return masks.reduction("mean", b, args)
    array, axis, kind, keepdims = args.take("a", "axis dtype keepdims")
    axes = known_axes(b, axis, args.loc)
    keep = known_bool(keepdims, "keepdims", args.loc)
    value = tensor(b, array, args.loc)
    return folds.mean(b, value, axes, keep, args.loc, dtype(kind, args.loc))


def var(b: Builder, args: Arguments) -> Value:
    """np.var"""
    array, axis, ddof, keepdims = args.take("a", "axis ddof keepdims")
    axes = known_axes(b, axis, args.loc)
    keep = known_bool(keepdims, "keepdims", args.loc)
    less = 0 if is_none(ddof) else known_int(b, ddof, "ddof", args.loc)
    return folds.variance(b, tensor(b, array, args.loc), axes, keep, less, args.loc)


def std(b: Builder, args: Arguments) -> Value:
    """np.std"""
    found = var(b, args)
    return apply(b, UFUNCS["sqrt"], (operand(found, args.loc),), args.loc)


def _with_out(b: Builder, result: Operandish, out: Value, args: Arguments) -> Value:
    """Store the result into `out=` when it was given."""
    if is_none(out):
        return result
    target = tensor(b, out, args.loc)
    if target.dtype is not result.dtype:
        refuse("PO0144", f"{result.dtype} does not go into `out` of {target.dtype}", args.loc)
    store(b, target, as_tensor(result), args.loc)
    return target


def product(function: Callable[[Builder, Operandish, Operandish, Loc | None], Operandish]) -> Rule:
    """Return the rule of a product of two arrays, with `out=`."""

    def rule(b: Builder, args: Arguments) -> Value:
        left, right, out = args.take("a b", "out")
        sides = [settled(b, operand(side, args.loc)) for side in (left, right)]
        return _with_out(b, function(b, sides[0], sides[1], args.loc), out, args)

    return rule


def vdot(b: Builder, args: Arguments) -> Value:
    """np.vdot of real vectors"""
    left, right = (settled(b, operand(side, args.loc)) for side in args.take("a b"))
    if left.dtype.is_complex or as_tensor(left).rank != 1 or as_tensor(right).rank != 1:
        refuse("PO0151", "np.vdot of anything but real vectors", args.loc, "use np.sum(a * b)")
    return products.inner(b, left, right, args.loc)


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
    """np.einsum"""
    if not args.values or not isinstance(args.values[0], Known):
        refuse("PO0151", "np.einsum without a text of subscripts", args.loc)
    operands = [forced(b, tensor(b, value, args.loc)) for value in args.values[1:]]
    out = args.keywords.get("out", Known(None))
    unknown = set(args.keywords) - {"out", "optimize"}
    if unknown:
        refuse("PO0151", f"np.einsum with `{min(unknown)}=`", args.loc)
    result = products.einsum(b, str(args.values[0].value), operands, args.loc)
    return _with_out(b, result, out, args)


def trace(b: Builder, args: Arguments) -> Value:
    """np.trace of a matrix"""
    (array,) = args.take("a")
    value = forced(b, tensor(b, array, args.loc))
    if value.rank != 2:
        refuse("PO0141", "np.trace of anything but a matrix", args.loc)
    kind = folds.summation_dtype("sum", value.dtype)
    length = minimum(*value.shape)
    along = Tensor((length,), value.dtype, lambda i: value.at((i[0], i[0])), cost=value.cost)
    return folds.reduced(b, "sum", along, None, False, args.loc, kind)


def count_nonzero(b: Builder, args: Arguments) -> Value:
    """np.count_nonzero"""
    array, axis = args.take("a", "axis")
    value = forced(b, tensor(b, array, args.loc))
    flags = replace(value, dtype=DType.BOOL, at=lambda i: cast(value.at(i), DType.BOOL), view=None)
    axes = known_axes(b, axis, args.loc)
    return folds.reduced(b, "sum", flags, axes, False, args.loc, DType.INT64)


def ptp(b: Builder, args: Arguments) -> Value:
    """np.ptp: maximum less minimum"""
    array, axis = args.take("a", "axis")
    value = tensor(b, array, args.loc)
    axes = known_axes(b, axis, args.loc)
    ends = [folds.reduced(b, name, value, axes, False, args.loc) for name in ("max", "min")]
    return apply(b, UFUNCS["subtract"], ends, args.loc)


def norm(b: Builder, args: Arguments) -> Value:
    """np.linalg.norm: the root of the sum of squares"""
    array, order, axis, keepdims = args.take("x", "ord axis keepdims")
    value = forced(b, tensor(b, array, args.loc))
    if not is_none(order) and not (value.rank == 1 and known_int(b, order, "ord", args.loc) == 2):
        refuse("PO0151", "np.linalg.norm of another order", args.loc, "use np.sum and np.sqrt")
    if not value.dtype.is_float:
        refuse("PO0151", f"np.linalg.norm of {value.dtype}", args.loc, "convert to float first")
    squares = apply(b, UFUNCS["square"], (value,), args.loc)
    axes = known_axes(b, axis, args.loc)
    keep = known_bool(keepdims, "keepdims", args.loc)
    total = folds.reduced(b, "sum", as_tensor(squares), axes, keep, args.loc, value.dtype)
    return apply(b, UFUNCS["sqrt"], (total,), args.loc)


dot = product(products.dot)
matmul = product(products.matmul)
inner = product(products.inner)
outer = product(products.outer)
