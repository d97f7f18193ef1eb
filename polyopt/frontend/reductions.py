"""NumPy's reduction and product calls: arguments read, then `folds` and `products` do the work.

In: arguments of the call.  Out: values.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from polyopt.frontend import folds, products
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
from polyopt.frontend.elementwise import apply
from polyopt.frontend.memory import settled
from polyopt.frontend.operators import operand
from polyopt.frontend.ufuncs import UFUNCS
from polyopt.frontend.values import Operandish, Tensor, Value

Rule: TypeAlias = Callable[[Builder, Arguments], Value]


def reduction(name: str) -> Rule:
    """Return the rule of `np.<name>(a, axis, dtype, keepdims)`."""
    second = "axis dtype keepdims" if name in ("sum", "prod") else "axis keepdims"

    def rule(b: Builder, args: Arguments) -> Value:
        found = dict(zip(["a", *second.split()], args.take("a", second), strict=True))
        array = tensor(b, found["a"], args.loc)
        axes = known_axes(b, found["axis"], args.loc)
        keepdims = known_bool(found["keepdims"], "keepdims", args.loc)
        kind = dtype(found["dtype"], args.loc) if "dtype" in found else None
        return folds.reduced(b, name, array, axes, keepdims, args.loc, kind)

    return rule


def mean(b: Builder, args: Arguments) -> Value:
    """np.mean"""
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
    assert not isinstance(found, type(None))
    return apply(b, UFUNCS["sqrt"], (operand(found, args.loc),), args.loc)


def dot(b: Builder, args: Arguments) -> Value:
    """np.dot, ndarray.dot"""
    left, right = _two(b, args)
    return products.dot(b, left, right, args.loc)


def matmul(b: Builder, args: Arguments) -> Value:
    """np.matmul"""
    left, right = _two(b, args)
    return products.matmul(b, left, right, args.loc)


def inner(b: Builder, args: Arguments) -> Value:
    """np.inner"""
    left, right = _two(b, args)
    return products.inner(b, left, right, args.loc)


def vdot(b: Builder, args: Arguments) -> Value:
    """np.vdot of real vectors"""
    left, right = _two(b, args)
    if left.dtype.is_complex or _rank(left) != 1 or _rank(right) != 1:
        refuse("PO0151", "np.vdot of anything but real vectors", args.loc, "use np.sum(a * b)")
    return products.inner(b, left, right, args.loc)


def _rank(value: Operandish) -> int:
    return value.rank if isinstance(value, Tensor) else 0


def outer(b: Builder, args: Arguments) -> Value:
    """np.outer"""
    left, right = _two(b, args)
    if not isinstance(left, Tensor) or not isinstance(right, Tensor):
        refuse("PO0141", "np.outer of numbers", args.loc, "multiply with `*`")
    return products.outer(b, left, right, args.loc)


def _two(b: Builder, args: Arguments) -> tuple[Operandish, Operandish]:
    left, right = args.take("a b")
    return (
        settled(b, operand(left, args.loc)),
        settled(b, operand(right, args.loc)),
    )
