"""The definition of every elementary function that is not left to the C library.

In: a function's name in C, a dtype, the name to define.  Out: lines of C.
"""

from __future__ import annotations

from collections.abc import Callable

from polyopt.emit import functions
from polyopt.emit.functions.text import INLINE, guarded
from polyopt.ir.types import DType
from polyopt.late import Table

COVERED = (DType.FLOAT32, DType.FLOAT64)
_PACKAGE = "polyopt.emit.functions"
DOUBLES: Table[Callable[[], list[str]]] = Table(
    _PACKAGE,
    "DOUBLES",
    {
        "arcs": "asin acos atan atan2",
        "errors": "erf",
        "exponentials": "exp exp2 expm1 sinh cosh tanh",
        "logarithms": "log log2 log10 log1p",
    },
)
SINGLES: Table[Callable[[], list[str]]] = Table(
    _PACKAGE,
    "SINGLES",
    {
        "single_arcs": "asin acos atan atan2",
        "singles": "exp exp2 expm1 sinh cosh tanh log log2 log10 log1p erf",
    },
)
BODIES: Table[Callable[[DType], list[str]]] = Table(
    _PACKAGE,
    "BODIES",
    {
        "errors": "erfc",
        "powers": "pow",
        "roots": "cbrt hypot cube products precise",
        "trigonometry": "sin cos tan",
    },
)
NAMES = frozenset((*DOUBLES, *BODIES))
_TWO = {
    "atan2": ("y", "x"),
    "hypot": ("y", "x"),
    "pow": ("x", "y"),
    "products": ("x", "y"),
    "precise": ("x", "y"),
}
_USUAL = ("sin", "cos", "tan", "pow")
"""Functions with a body for usual arguments, and another one for all."""


def _needs_fma(function: str, dtype: DType) -> bool:
    """Tell whether a body is exact with fused multiply-add only."""
    is_single_power = function == "precise" and dtype is DType.FLOAT32
    return function not in ("cube", "products") and not is_single_power


def _body(function: str, dtype: DType) -> list[str]:
    if function in BODIES:
        return BODIES[function](dtype)
    return (SINGLES if dtype is DType.FLOAT32 else DOUBLES)[function]()


def definition(function: str, dtype: DType, name: str) -> list[str]:
    """Return the lines that define `name` as `function` of numbers of `dtype`."""
    arguments, body = _TWO.get(function, ("x",)), _body(function, dtype)
    if function in _USUAL:
        is_power = function == "pow"
        far = (
            functions.powers.far(dtype) if is_power else functions.trigonometry.far(function, dtype)
        )
        return functions.vectors.definition(name, function, dtype, arguments, body, far)
    if _needs_fma(function, dtype):
        library = "pow" if function == "precise" else function
        body = guarded(body, library, dtype, arguments)
    params = ", ".join(f"{dtype.ctype} {argument}" for argument in arguments)
    lines = (line if line[0] == "#" else f"    {line}" for line in body)
    return [f"{INLINE} {dtype.ctype} {name}({params})", "{", *lines, "}"]
