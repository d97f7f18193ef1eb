"""Element types of results, by running the function itself on arrays of one element.

In: a function and its operands.  Out: the dtype of its result, and whether it is a Python number.
Refuses: operands that the function does not take (PO0146), element types outside the set (PO0143).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping

import numpy as np

from polyopt.ir.types import DType
from polyopt.tracing.nodes import Kind, Node
from polyopt.tracing.places import refuse
from polyopt.tracing.sizes import Size

_PYTHON: dict[str, object] = {"b": True, "i": 1, "f": 1.0, "c": 1j}


def sample(value: object) -> object:
    """Return an operand with each array replaced by one of one element, each size by 1."""
    match value:
        case Node():
            return _sample_of(value.kind)
        case Size():
            return 1
        case tuple():
            return tuple(sample(part) for part in value)
        case list():
            return [sample(part) for part in value]
        case slice():
            return slice(sample(value.start), sample(value.stop), sample(value.step))
        case _:
            return value


def _sample_of(kind: Kind) -> object:
    if kind.weak:
        return _PYTHON[kind.dtype.kind]
    fill = 0 if kind.dtype.kind in "iu" else 1
    if kind.shape == ():
        return kind.dtype.type(fill)
    return np.full((1,) * len(kind.shape), fill, kind.dtype)


def run(
    function: Callable[..., object], operands: tuple[object, ...], keywords: Mapping[str, object]
) -> object:
    """Return the function's result for samples; refuse what it raises."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return function(
                *(sample(value) for value in operands),
                **{name: sample(value) for name, value in keywords.items()},
            )
        except (TypeError, ValueError, IndexError, ArithmeticError, RuntimeError) as error:
            if type(error).__name__ == "AxisError":
                refuse("PO0153", str(error))
            name = getattr(function, "__name__", str(function))
            hint = "check the operands, or convert them first"
            refuse("PO0146", f"`{name}` does not take these operands: {error}", hint=hint)


def element_type(result: object) -> tuple[np.dtype[np.generic], bool]:
    """Return the dtype of a sample's result, and whether it is a Python number."""
    if type(result) in (bool, int, float, complex):
        return np.dtype(type(result)), True
    dtype = np.asarray(result).dtype
    return known(dtype), False


def known(dtype: np.dtype[np.generic]) -> np.dtype[np.generic]:
    """Return a supported dtype; refuse others."""
    if dtype.name not in DType._value2member_map_ or not dtype.isnative:
        hint = "use bool, 8 to 64 bit integers, float16 to float64, complex64 or complex128"
        refuse("PO0143", f"lazy arrays of {dtype} are not supported", hint=hint)
    return dtype
