"""The functions that raise the front end's errors.

In: a code, a reason, a place, a hint.  Out: `FrontendError`; `RaisingError` for what
Python refuses, too.
"""

from __future__ import annotations

from typing import NoReturn

from polyopt.errors import FrontendError, Loc

_HINTS: dict[str, str] = {
    "PO0103": "give each parameter one argument",
    "PO0116": "leave texts out of the kernel",
    "PO0119": "write it with NumPy operations or loops",
    "PO0122": "assign to a variable and return it at the end",
    "PO0124": "use arrays and numbers; pass other data as arguments",
    "PO0127": "write it with plain assignments, loops and branches",
    "PO0132": "use a nonzero constant step",
    "PO0134": "use a nonzero constant step",
    "PO0135": "give one subscript or slice for each dimension",
    "PO0137": "use sums of sizes and integer arguments, times constants",
    "PO0140": "check the shapes of the operands",
    "PO0141": "check the ranks of the operands",
    "PO0142": "use one element, or np.any, np.all or np.sum of the array",
    "PO0143": "use bool, 8 to 64 bit integers, float16 to float64, complex64 or complex128",
    "PO0144": "convert with `.astype` or take `.real`",
    "PO0145": "use a wider element type",
    "PO0146": "convert the operands first",
    "PO0147": "check the values",
    "PO0151": "use the arguments that `polyopt doctor --numpy` lists",
    "PO0153": "count axes from 0, or from -1 backwards",
    "PO0155": "use an integer, such as `np.uint64(7)`",
    "PO0156": "use integers, `low` less than `high`",
    "PO0160": "write into the array with `name[:] = ...`, or use another name",
    "PO0161": "use another name",
    "PO0163": "write into elements or slices of an array",
    "PO0174": "pass sizes of at least zero",
    "PO0180": "divide it into several kernels",
    "PO0183": "differentiate by other parameters, or write it with NumPy operations and loops",
}


class RaisingError(FrontendError):
    """Python itself raises an error wherever the statement is reached."""


def refuse_raising(code: str, message: str, loc: Loc | None, hint: str | None = None) -> NoReturn:
    """Refuse what Python raises for, too, on any values: on some paths it is no matter."""
    raise RaisingError(code, message, loc=loc, hint=hint or _HINTS.get(code))


def hint_of_no_dimensions(name: str) -> str:
    """Return what to write in place of changing an array without dimensions."""
    return f"use an array of one element, and write `{name}[0]`"


def refuse(code: str, message: str, loc: Loc | None, hint: str | None = None) -> NoReturn:
    """Raise a `FrontendError`, with the hint that goes with its code where none is given."""
    raise FrontendError(code, message, loc=loc, hint=hint or _HINTS.get(code))
