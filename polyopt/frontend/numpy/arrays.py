"""np.array and np.asarray: arrays of arrays, of nested tuples and lists, of what a loop yields.

In: arguments of the call.  Out: arrays.
Refuses: empty lists that are no vector of float64 (PO0173).
"""

from __future__ import annotations

from polyopt.frontend.integers.affine_integers import ONE, ZERO, at_least, compare
from polyopt.frontend.numpy import creation
from polyopt.frontend.numpy.axis_reductions import with_unit_axes
from polyopt.frontend.numpy.call_arguments import Arguments, dtype, is_none, known_int, tensor
from polyopt.frontend.program.builder import Builder
from polyopt.frontend.program.memory import forced
from polyopt.frontend.reader.comprehensions import collected
from polyopt.frontend.values.constants import as_sequence, nested
from polyopt.frontend.values.values import Iterated, Sequence, Tensor, Value
from polyopt.frontend.variables.lists import is_list
from polyopt.ir.expr import CompareOp
from polyopt.ir.types import DType


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
