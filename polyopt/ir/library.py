"""Library functions a kernel calls back into Python for.

In: a `LibraryCall`, arrays for its operands and results.  Out: the results, copied in.
Refuses: functions outside NumPy and SciPy, results of another type or shape (PO0903), SciPy where
it is not installed (PO0507).  What the function itself raises is passed on.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from polyopt.errors import InternalError, ToolchainError
from polyopt.ir.source import LibraryCall, Operand

HOMES = ("numpy", "scipy")
"""The packages whose functions may be called."""


@cache
def resolve(function: str) -> Callable[..., object]:
    """Return the function with the full name `function`, `numpy.linalg.solve`."""
    parts = function.split(".")
    if parts[0] not in HOMES or len(parts) < 2 or any(p.startswith("_") for p in parts):
        raise InternalError("PO0903", f"`{function}` is not a function of {' or '.join(HOMES)}")
    try:
        found: Any = importlib.import_module(parts[0])
    except ImportError:
        raise ToolchainError(
            "PO0507",
            f"`{function}` needs {parts[0]}, which is not installed",
            hint=f"pip install {parts[0]}",
        ) from None
    for count, part in enumerate(parts[1:], start=2):
        if not hasattr(found, part):
            found = _submodule(".".join(parts[:count]), function)
        else:
            found = getattr(found, part)
    if not callable(found):
        raise InternalError("PO0903", f"`{function}` cannot be called")
    return found  # type: ignore[no-any-return]


def _submodule(name: str, function: str) -> object:
    try:
        return importlib.import_module(name)
    except ImportError:
        raise ToolchainError(
            "PO0507",
            f"the installed {name.partition('.')[0]} has no `{function}`",
            hint=f"pip install --upgrade {name.partition('.')[0]}",
        ) from None


def call_library(
    call: LibraryCall,
    inputs: Sequence[np.ndarray[Any, Any]],
    outputs: Sequence[np.ndarray[Any, Any]],
) -> None:
    """Call the function on `inputs`, which it may not write; copy its results into `outputs`."""
    function = resolve(call.function)
    views = [_read_only(array) for array in inputs]
    arguments = [filled(argument, views) for argument in call.arguments]
    keywords = {name: filled(value, views) for name, value in call.keywords}
    result = function(*arguments, **keywords)
    if not outputs:
        return
    results = result if isinstance(result, tuple) else (result,)
    if len(results) != len(outputs):
        raise InternalError(
            "PO0903",
            f"`{call.function}` returned {len(results)} values, {len(outputs)} were expected",
            loc=call.loc,
        )
    for number, (value, output) in enumerate(zip(results, outputs, strict=True)):
        array = np.asarray(value)
        if array.dtype != output.dtype or array.shape != output.shape:
            raise InternalError(
                "PO0903",
                f"result {number} of `{call.function}` is {array.dtype}{list(array.shape)}, "
                f"{output.dtype}{list(output.shape)} was expected",
                loc=call.loc,
            )
        output[...] = array


def _read_only(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    view: np.ndarray[Any, Any] = array.view()
    view.flags.writeable = False
    return view


def filled(value: object, inputs: Sequence[np.ndarray[Any, Any]]) -> object:
    """Return an argument with its operands in place; elements of 0-d arrays are scalars."""
    match value:
        case Operand(number=number, weak=weak):
            return inputs[number].item() if weak else inputs[number][()]
        case tuple():
            return tuple(filled(part, inputs) for part in value)
        case _:
            return value
