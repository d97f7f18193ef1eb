"""The table of supported NumPy functions and array methods: name -> rule.

In: a NumPy object or a method name.  Out: the rule that turns a call into a value, or None.
Everything polyopt knows of NumPy is listed here; a function not listed is refused by name.
"""

from __future__ import annotations

from collections.abc import Callable
from types import BuiltinFunctionType, MethodType
from typing import TypeAlias

import numpy as np

from polyopt.frontend import (
    axes,
    creation,
    diagonals,
    facts_of_types,
    finding,
    grids,
    indexing,
    invoke,
    joining,
    library,
    padding,
    reductions,
    regrouping,
    reshaping,
    scans,
    selection,
    splitting,
    ufunc_calls,
    windows,
)
from polyopt.frontend.arguments import Arguments, dtype, is_none, known_int, tensor
from polyopt.frontend.builder import Builder
from polyopt.frontend.constants import as_sequence, nested
from polyopt.frontend.folds import with_unit_axes
from polyopt.frontend.generating import collected
from polyopt.frontend.integers import ONE, ZERO, at_least, compare
from polyopt.frontend.library import Written
from polyopt.frontend.lists import is_list, tolist
from polyopt.frontend.memory import forced
from polyopt.frontend.reductions import reduction
from polyopt.frontend.ufuncs import PAIRS, UFUNCS
from polyopt.frontend.values import (
    Iterated,
    Sequence,
    Tensor,
    Value,
)
from polyopt.ir.expr import CompareOp
from polyopt.ir.types import DType

Rule: TypeAlias = Callable[[Builder, Arguments], Value]


def array(b: Builder, args: Arguments) -> Value:
    """np.array of an array (a copy) or of nested tuples and lists"""
    value, kind, *_, least, _ = args.take("object", "dtype copy order subok ndmin like")
    found = _made(b, value, kind, args)
    missing = 0 if is_none(least) else known_int(b, least, "ndmin", args.loc) - found.rank
    return with_unit_axes(found, tuple(range(missing))) if missing > 0 else found


def _made(b: Builder, value: Value, kind: Value, args: Arguments) -> Tensor:
    found = as_sequence(value)
    if isinstance(found, Iterated):
        made = collected(b, found, dtype(kind, args.loc), args.loc)
        if made.rank > 1 or (is_none(kind) and made.dtype is not DType.FLOAT64):
            hint = "make the array with np.zeros, and fill it in a loop"
            b.demand(at_least(made.shape[0], ONE), "PO0173", _of_none(args), args.loc, hint)
        return made
    if isinstance(found, Sequence):
        return nested(b, found, dtype(kind, args.loc), args.loc)
    array = forced(b, tensor(b, value, args.loc))
    if is_list(array):
        if is_none(kind) and array.dtype is not DType.FLOAT64:
            hint = f"name the type: `{args.name}(..., dtype=np.{array.dtype})`"
            number = b.fault("PO0173", _of_none(args), args.loc, hint)
            b.fail_where(compare(CompareOp.EQ, array.shape[0], ZERO), number)
        array = Tensor(array.shape, array.dtype, array.at)
    return creation.converted(array, dtype(kind, args.loc) or array.dtype, args.loc)


def _of_none(args: Arguments) -> str:
    return f"`{args.name}` of an empty list is an empty vector of float64"


def asarray(b: Builder, args: Arguments) -> Value:
    """np.asarray: the array itself where its type is the one wanted"""
    value, kind, *_ = args.take("a", "dtype order device copy like")
    wanted = dtype(kind, args.loc)
    if isinstance(value, Tensor) and not is_list(value) and wanted in (None, value.dtype):
        return value
    return _made(b, value, kind, args)


_NAN = ("sum", "prod", "max", "min", "mean", "var", "std")
_ALL: dict[str, Rule | Written] = {
    # elementwise
    **{name: ufunc_calls.elementwise(op) for name, op in UFUNCS.items()},
    **{name: ufunc_calls.pair(name) for name in PAIRS},
    "vecdot": ufunc_calls.contracted("...i,...i"),
    "matvec": ufunc_calls.contracted("...ij,...j->...i"),
    "vecmat": ufunc_calls.contracted("...i,...ij->...j"),
    "where": selection.where,
    "clip": selection.clip,
    "real": selection.real,
    "imag": selection.imag,
    "round": selection.round_,
    "around": selection.round_,
    "nan_to_num": selection.nan_to_num,
    "select": selection.choice,
    "choose": selection.choose,
    "copyto": selection.copyto,
    # reductions
    "sum": reduction("sum"),
    "prod": reduction("prod"),
    "max": invoke.ordering("max", reduction("max")),
    "min": invoke.ordering("min", reduction("min")),
    "amax": invoke.ordering("max", reduction("max")),
    "amin": invoke.ordering("min", reduction("min")),
    "any": reduction("any"),
    "all": reduction("all"),
    "mean": reductions.mean,
    "var": reductions.var,
    "std": reductions.std,
    "count_nonzero": reductions.count_nonzero,
    "ptp": reductions.ptp,
    **{f"nan{name}": reductions.without_nan(name) for name in _NAN},
    # products
    "dot": reductions.dot,
    "matmul": reductions.matmul,
    "inner": reductions.inner,
    "outer": reductions.outer,
    "vdot": reductions.vdot,
    "tensordot": reductions.tensordot,
    "einsum": reductions.einsum,
    # along an axis
    "cumsum": scans.running("np.cumsum", "sum"),
    "cumprod": scans.running("np.cumprod", "prod"),
    "argmax": invoke.ordering("argmax", scans.arg_extreme("np.argmax", CompareOp.GT)),
    "argmin": invoke.ordering("argmin", scans.arg_extreme("np.argmin", CompareOp.LT)),
    "diff": joining.diff,
    "roll": joining.roll,
    # put together
    "concatenate": joining.concatenate,
    "stack": joining.stack,
    "vstack": joining.vstack,
    "hstack": joining.hstack,
    "column_stack": joining.column_stack,
    "row_stack": joining.vstack,
    "dstack": splitting.dstack,
    "block": splitting.block,
    "tile": splitting.tile,
    "split": splitting.split(None),
    "array_split": splitting.split(None, uneven=True),
    "hsplit": splitting.split(1),
    "vsplit": splitting.split(0, least=2),
    "dsplit": splitting.split(2, least=3),
    "unstack": axes.unstack,
    "pad": padding.pad,
    "meshgrid": grids.meshgrid,
    "indices": grids.indices,
    "diag": diagonals.diag,
    "diagflat": diagonals.diagflat,
    "diagonal": diagonals.diagonal,
    "trace": diagonals.trace,
    "tri": diagonals.tri,
    "tril": diagonals.triangle("tril"),
    "triu": diagonals.triangle("triu"),
    "fill_diagonal": diagonals.fill_diagonal,
    # creation
    "zeros": creation.zeros,
    "ones": creation.ones,
    "empty": creation.empty,
    "ndarray": creation.ndarray,
    "full": creation.full,
    "zeros_like": creation.zeros_like,
    "ones_like": creation.ones_like,
    "empty_like": creation.empty_like,
    "full_like": creation.full_like,
    "arange": grids.arange,
    "linspace": grids.linspace,
    "eye": creation.eye,
    "identity": creation.identity,
    "copy": creation.copy,
    "array": array,
    "asarray": asarray,
    "asanyarray": asarray,
    "ascontiguousarray": creation.contiguous,
    "asfortranarray": creation.contiguous,
    "astype": creation.astype,
    # views
    "transpose": reshaping.transpose,
    "swapaxes": reshaping.swapaxes,
    "moveaxis": axes.moveaxis,
    "expand_dims": reshaping.expand_dims,
    "squeeze": reshaping.squeeze,
    "reshape": regrouping.reshape,
    "ravel": regrouping.ravel,
    "flip": reshaping.flip,
    "flipud": reshaping.flipud,
    "fliplr": reshaping.fliplr,
    "broadcast_to": reshaping.broadcast_to,
    "lib.stride_tricks.sliding_window_view": windows.sliding_window_view,
    "broadcast_arrays": axes.broadcast_arrays,
    "rollaxis": axes.rollaxis,
    "atleast_1d": axes.atleast_1d,
    "atleast_2d": axes.atleast_2d,
    "atleast_3d": axes.atleast_3d,
    # what is known while compiling
    "ndim": axes.ndim,
    "shape": axes.shape,
    "size": axes.size,
    "iscomplexobj": axes.is_complex(True),
    "isrealobj": axes.is_complex(False),
    "isscalar": axes.isscalar,
    **{name: facts_of_types.rule(name) for name in facts_of_types.NAMES},
    # by index arrays
    **indexing.FUNCTIONS,
    **finding.FUNCTIONS,
    # written with other NumPy functions
    **{name: Written(function) for name, function in library.FUNCTIONS.items()},
}


def function_named(name: str) -> object | None:
    """Return NumPy's function of this name; None where this version has none."""
    function: object = np
    for part in name.split("."):
        function = getattr(function, part, None)
    return function


FUNCTIONS = {name: rule for name, rule in _ALL.items() if function_named(name) is not None}
HOOKS: dict[object, Rule] = {
    library.require_extent: axes.require_extent,
    library.refused: axes.refused,
    library.repeated: joining.repeat,
    library.grids: grids.grids,
}
"""What the functions written in Python ask of the compiler."""

_SHARED = """
sum prod max min any all mean var std argmax argmin cumsum cumprod dot copy transpose swapaxes
squeeze clip round reshape ravel trace diagonal repeat conjugate choose
"""
METHODS: dict[str, Rule | Written] = {
    **{name: FUNCTIONS[name] for name in _SHARED.split()},
    "astype": creation.astype,
    "fill": creation.fill,
    "item": creation.item,
    "tolist": tolist,
    "flatten": regrouping.flatten,
    "conj": FUNCTIONS["conjugate"],
    **indexing.METHODS,
    **finding.METHODS,
    **invoke.METHODS,
}


def _objects() -> dict[int, tuple[object, Rule | Written]]:
    """The same NumPy object may go by several names (`np.abs` is `np.absolute`)."""
    found: dict[int, tuple[object, Rule | Written]] = {}
    for name, rule in FUNCTIONS.items():
        function = function_named(name)
        if function is not None:
            found[id(function)] = (function, rule)
    for hook, rule in HOOKS.items():
        found[id(hook)] = (hook, rule)
    return found


_BY_OBJECT = _objects()


def rule_of(function: object) -> Rule | Written | None:
    """Return the rule of a NumPy function object, or of one that does the same."""
    function = getattr(function, "same_as", function)
    found = _BY_OBJECT.get(id(function))
    if found is not None:
        return found[1]
    owner = getattr(function, "__self__", None)
    if not isinstance(function, BuiltinFunctionType | MethodType) or not isinstance(
        owner, np.ufunc
    ):
        return invoke.rule_of(function)
    known = UFUNCS.get(owner.__name__)
    if known is not None and function.__name__ == "at":
        return indexing.at_of(known)
    return None if known is None else ufunc_calls.method(known, function.__name__)


_OF_MASKED = ("sum", "prod", "any", "all", "mean", *UFUNCS)
_MASKED_RULES = frozenset(id(FUNCTIONS[name]) for name in _OF_MASKED)


def takes_masked(rule: Rule | Written) -> bool:
    """Whether a rule knows elements under a mask; the others get them as an array."""
    return id(rule) in _MASKED_RULES


def method_rule(name: str) -> Rule | Written | None:
    """Return the rule of an array method; the array is its first argument."""
    return METHODS.get(name)


def is_array(value: Value) -> bool:
    """Whether `value` is an array of at least one dimension."""
    return isinstance(value, Tensor) and value.rank > 0
