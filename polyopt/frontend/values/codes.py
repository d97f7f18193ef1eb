"""The front end's error codes and the functions that raise them.

In: a code of `CODES`, a reason, a place, a hint.  Out: `FrontendError`; `RaisingError` for what
Python refuses, too.
"""

from __future__ import annotations

from typing import NoReturn

from polyopt.errors import FrontendError, Loc

CODES: dict[str, str] = {
    "PO0101": "the source of the function cannot be read",
    "PO0102": "not a plain Python function",
    "PO0103": "the arguments do not fit the function's parameters",
    "PO0104": "the source of the function changed since it was imported",
    "PO0110": "`while` loop that never ends",
    "PO0112": "`try` or `with`",
    "PO0113": "generator, coroutine or `yield`",
    "PO0114": "dict or set comprehension, or a generator of unknown length",
    "PO0115": "dict or set",
    "PO0116": "string as a value",
    "PO0117": "class or decorator inside the kernel",
    "PO0118": "`global` or `nonlocal`",
    "PO0119": "call of a function that has no array meaning",
    "PO0120": "import inside the kernel",
    "PO0121": "`del`",
    "PO0122": "`return` on some paths only, or of a value that a loop cannot return",
    "PO0123": "recursive call",
    "PO0124": "unknown name, or a name whose value is no number, array or function",
    "PO0125": "a name that may have no value here",
    "PO0126": "`*` before a value of unknown items, or a `**` argument",
    "PO0127": "Python construct outside the supported set",
    "PO0128": "a call changes an array that the same expression reads",
    "PO0130": "`for` over a value that cannot be iterated",
    "PO0131": "loop bound is not an integer",
    "PO0132": "step of a range or slice is zero",
    "PO0134": "slice step is zero, or not a constant beside index arrays",
    "PO0135": "subscript of a kind that is not supported (floats, too many)",
    "PO0136": "a slice or a tuple made from a loop variable is used after its loop",
    "PO0137": "size is not an integer, or has no known bound",
    "PO0140": "shapes do not fit together",
    "PO0141": "operands of a product have ranks that do not fit",
    "PO0142": "truth value of an array",
    "PO0143": "element type outside the supported set",
    "PO0144": "result cannot be cast to the element type of the target",
    "PO0145": "integer constant does not fit the element type",
    "PO0146": "operation is not defined for these element types",
    "PO0147": "operation is not defined for these values",
    "PO0150": "NumPy function outside the supported set",
    "PO0151": "argument of a NumPy function outside the supported set",
    "PO0152": "attribute or method outside the supported set",
    "PO0153": "axis outside the array's dimensions",
    "PO0155": "key, stream or offset of random numbers that is not an integer",
    "PO0156": "bounds of random integers without an integer in between",
    "PO0157": "random numbers whose place in the stream is unknown",
    "PO0160": "a name that may stand for one of several arrays is used or written",
    "PO0161": "a name changes its shape, kind or type in a loop or branch",
    "PO0163": "assignment to elements of an expression",
    "PO0164": "returned values differ between paths, or are nested tuples",
    "PO0165": "assignment to an array that is no argument",
    "PO0170": "at call: a subscript would leave its array",
    "PO0171": "at call: a slice bound has the wrong sign",
    "PO0172": "at call: maximum or minimum of an empty array",
    "PO0173": "at call: sizes that must be equal differ",
    "PO0174": "at call: a size is negative",
    "PO0175": "at call: a loop must run because its variables are used afterwards",
    "PO0176": "at call: an integer does not fit the element type",
    "PO0177": "at call: an assertion does not hold, or a `raise` is reached",
    "PO0178": "the result is not what its annotation says",
    "PO0180": "the function, or a constant in it, is too large",
    "PO0183": "an operation without a derivative",
    "PO0184": "the result to differentiate is no floating-point number",
    "PO0185": "an argument to differentiate by is no floating-point number or array",
    "PO0186": "axes of `po.vmap` do not fit the arguments or results",
}


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
    assert code in CODES, code
    raise RaisingError(code, message, loc=loc, hint=hint or _HINTS.get(code))


def refuse(code: str, message: str, loc: Loc | None, hint: str | None = None) -> NoReturn:
    """Raise a `FrontendError` with a code of `CODES`."""
    assert code in CODES, code
    raise FrontendError(code, message, loc=loc, hint=hint or _HINTS.get(code))
