"""The definition of every elementary function that is not left to the C library.

In: a function's name in C, a dtype, the name to define.  Out: lines of C.
"""

from __future__ import annotations

from collections.abc import Callable

from polyopt.emit import functions
from polyopt.emit.functions.text import INLINE
from polyopt.ir.types import DType
from polyopt.late import Table

COVERED = (DType.FLOAT32, DType.FLOAT64)
Body = Callable[[DType], list[str]]

BODIES: Table[Body] = Table(
    "polyopt.emit.functions",
    "BODIES",
    {
        "arcs": "asin acos atan atan2",
        "errors": "erf erfc",
        "exponentials": "exp exp2 expm1 sinh cosh tanh",
        "logarithms": "log log2 log10 log1p",
        "powers": "pow",
        "roots": "cbrt hypot cube products precise",
        "trigonometry": "sin cos tan",
    },
)
_TWO = {
    "atan2": ("y", "x"),
    "hypot": ("y", "x"),
    "pow": ("x", "y"),
    "products": ("x", "y"),
    "precise": ("x", "y"),
}
_USUAL = ("sin", "cos", "tan", "pow")
"""Functions with a body for usual arguments, and another one for all."""


def definition(function: str, dtype: DType, name: str) -> list[str]:
    """Return the lines that define `name` as `function` of numbers of `dtype`."""
    arguments = _TWO.get(function, ("x",))
    if function in _USUAL:
        is_power = function == "pow"
        far = (
            functions.powers.far(dtype) if is_power else functions.trigonometry.far(function, dtype)
        )
        body = BODIES[function](dtype)
        return functions.vectors.definition(name, function, dtype, arguments, body, far)
    params = ", ".join(f"{dtype.ctype} {argument}" for argument in arguments)
    body = BODIES[function](dtype)
    lines = (line if line[0] == "#" else f"    {line}" for line in body)
    return [f"{INLINE} {dtype.ctype} {name}({params})", "{", *lines, "}"]
