"""The table of supported NumPy functions and array methods: name -> rule.

In: a NumPy object or a method name.  Out: the rule that turns a call into a value, or None.
Everything polyopt knows of NumPy is listed here; a function not listed is refused by name.
"""

from __future__ import annotations

from collections.abc import Callable
from types import BuiltinFunctionType, MethodType
from typing import TypeAlias

import numpy as np

from polyopt.frontend import creation, joining, masks, reductions, reshaping, scans, selection
from polyopt.frontend.arguments import Arguments, dtype, is_none, tensor
from polyopt.frontend.builder import Builder
from polyopt.frontend.codes import refuse
from polyopt.frontend.constants import as_sequence, nested
from polyopt.frontend.elementwise import Elementwise, apply
from polyopt.frontend.integers import ONE
from polyopt.frontend.memory import forced, store
from polyopt.frontend.operators import operand
from polyopt.frontend.promote import is_castable
from polyopt.frontend.reductions import reduction
from polyopt.frontend.ufuncs import UFUNCS
from polyopt.frontend.values import (
    Index,
    Masked,
    Number,
    Sequence,
    Tensor,
    Value,
    as_tensor,
    remapped,
)
from polyopt.ir.expr import CompareOp

Rule: TypeAlias = Callable[[Builder, Arguments], Value]


def elementwise(op: Elementwise) -> Rule:
    """Return the rule of a ufunc call: positional operands and `out=`."""

    def rule(b: Builder, args: Arguments) -> Value:
        names = [f"x{number}" for number in range(1, op.ufunc.nin + 1)]
        *values, out = args.take(" ".join(names), "out")

        def compute(plain: tuple[Value, ...]) -> Value:
            return apply(b, op, [operand(value, args.loc) for value in plain], args.loc)

        result = masks.through(b, values, compute, args.loc)
        if isinstance(result, Masked):
            return result
        assert isinstance(result, Number | Tensor)
        if is_none(out):
            return result
        target = tensor(b, out, args.loc)
        if not is_castable(result.dtype, target.dtype, "same_kind"):
            refuse("PO0144", f"{result.dtype} does not go into `out` of {target.dtype}", args.loc)
        store(b, target, as_tensor(result), args.loc)
        return target

    return rule


def outer_of(op: Elementwise) -> Rule:
    """Return the rule of `np.<ufunc>.outer`: all pairs of elements."""

    def rule(b: Builder, args: Arguments) -> Value:
        left, right = (forced(b, tensor(b, value, args.loc)) for value in args.take("a b"))
        rank = left.rank
        shape: Index = (*left.shape, *(ONE,) * right.rank)
        wide = remapped(left, shape, lambda index: index[:rank])
        return apply(b, op, (wide, right), args.loc)

    return rule


def array(b: Builder, args: Arguments) -> Value:
    """np.array of an array (a copy) or of nested tuples and lists"""
    value, kind = args.take("object", "dtype")
    found = as_sequence(value)
    if isinstance(found, Sequence):
        return nested(b, found, dtype(kind, args.loc), args.loc)
    if is_none(kind):
        return creation.copy(b, Arguments(args.name, (value,), {}, args.loc))
    return creation.astype(b, Arguments(args.name, (value, kind), {}, args.loc))


FUNCTIONS: dict[str, Rule] = {
    # elementwise
    **{name: elementwise(op) for name, op in UFUNCS.items()},
    "where": selection.where,
    "clip": selection.clip,
    "real": selection.real,
    "imag": selection.imag,
    "round": selection.round_,
    "nan_to_num": selection.nan_to_num,
    # reductions
    "sum": reduction("sum"),
    "prod": reduction("prod"),
    "max": reduction("max"),
    "min": reduction("min"),
    "any": reduction("any"),
    "all": reduction("all"),
    "mean": reductions.mean,
    "var": reductions.var,
    "std": reductions.std,
    "count_nonzero": reductions.count_nonzero,
    "ptp": reductions.ptp,
    # products
    "dot": reductions.dot,
    "matmul": reductions.matmul,
    "inner": reductions.inner,
    "outer": reductions.outer,
    "vdot": reductions.vdot,
    "tensordot": reductions.tensordot,
    "einsum": reductions.einsum,
    "trace": reductions.trace,
    "linalg.norm": reductions.norm,
    # along an axis
    "cumsum": scans.running("np.cumsum", "sum"),
    "cumprod": scans.running("np.cumprod", "prod"),
    "argmax": scans.arg_extreme("np.argmax", CompareOp.GT),
    "argmin": scans.arg_extreme("np.argmin", CompareOp.LT),
    "diff": joining.diff,
    "roll": joining.roll,
    "repeat": joining.repeat,
    # put together
    "concatenate": joining.concatenate,
    "stack": joining.stack,
    "vstack": joining.vstack,
    "hstack": joining.hstack,
    "column_stack": joining.column_stack,
    "pad": joining.pad,
    "meshgrid": joining.meshgrid,
    "diag": joining.diag,
    "diagonal": joining.diagonal,
    "tril": joining.triangle("tril"),
    "triu": joining.triangle("triu"),
    # creation
    "zeros": creation.zeros,
    "ones": creation.ones,
    "empty": creation.empty,
    "full": creation.full,
    "zeros_like": creation.zeros_like,
    "ones_like": creation.ones_like,
    "empty_like": creation.empty_like,
    "full_like": creation.full_like,
    "arange": creation.arange,
    "linspace": creation.linspace,
    "eye": creation.eye,
    "identity": creation.identity,
    "copy": creation.copy,
    "array": array,
    "ascontiguousarray": creation.copy,
    # views
    "transpose": reshaping.transpose,
    "swapaxes": reshaping.swapaxes,
    "moveaxis": reshaping.moveaxis,
    "expand_dims": reshaping.expand_dims,
    "squeeze": reshaping.squeeze,
    "reshape": reshaping.reshape,
    "ravel": reshaping.ravel,
    "flip": reshaping.flip,
    "flipud": reshaping.flipud,
    "fliplr": reshaping.fliplr,
    "broadcast_to": reshaping.broadcast_to,
}

_SHARED = """
sum prod max min any all mean var std argmax argmin cumsum cumprod dot copy transpose swapaxes
squeeze clip round reshape ravel trace diagonal repeat conjugate
"""
METHODS: dict[str, Rule] = {
    **{name: FUNCTIONS[name] for name in _SHARED.split()},
    "astype": creation.astype,
    "fill": creation.fill,
    "item": creation.item,
    "flatten": creation.flatten,
    "conj": FUNCTIONS["conjugate"],
}


def _objects() -> dict[int, tuple[object, Rule]]:
    """The same NumPy object may go by several names (`np.abs` is `np.absolute`)."""
    found: dict[int, tuple[object, Rule]] = {}
    for name, rule in FUNCTIONS.items():
        function: object = np
        for part in name.split("."):
            function = getattr(function, part, None)
        if function is not None:
            found[id(function)] = (function, rule)
    return found


_BY_OBJECT = _objects()


def rule_of(function: object) -> Rule | None:
    """Return the rule of a NumPy function object."""
    found = _BY_OBJECT.get(id(function))
    if found is not None:
        return found[1]
    owner = getattr(function, "__self__", None)
    if not isinstance(function, BuiltinFunctionType | MethodType) or not isinstance(
        owner, np.ufunc
    ):
        return None
    known = UFUNCS.get(owner.__name__)
    return outer_of(known) if known is not None and function.__name__ == "outer" else None


def method_rule(name: str) -> Rule | None:
    """Return the rule of an array method; the array is its first argument."""
    return METHODS.get(name)


def is_array(value: Value) -> bool:
    """Whether `value` is an array of at least one dimension."""
    return isinstance(value, Tensor) and value.rank > 0
