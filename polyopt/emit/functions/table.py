"""The definition of every elementary function that is not left to the C library.

In: a function's name in C, a dtype, the name to define.  Out: lines of C.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from polyopt.emit.functions import arcs, errors, exponentials, logarithms, powers, roots, vectors
from polyopt.emit.functions import trigonometry as angles
from polyopt.emit.functions.text import INLINE
from polyopt.ir.types import DType

COVERED = (DType.FLOAT32, DType.FLOAT64)
Body = Callable[[DType], list[str]]

_BODIES: Mapping[str, Body] = {
    "exp": exponentials.exp_body,
    "exp2": exponentials.exp2_body,
    "expm1": exponentials.expm1_body,
    "sinh": exponentials.sinh_body,
    "cosh": exponentials.cosh_body,
    "tanh": exponentials.tanh_body,
    "log": logarithms.log_body,
    "log2": logarithms.log2_body,
    "log10": logarithms.log10_body,
    "log1p": logarithms.log1p_body,
    "asin": arcs.asin_body,
    "acos": arcs.acos_body,
    "atan": arcs.atan_body,
    "atan2": arcs.atan2_body,
    "cbrt": roots.cbrt_body,
    "hypot": roots.hypot_body,
    "cube": roots.cube_body,
    "products": roots.products_body,
    "precise": roots.precise_body,
    "erf": errors.erf_body,
    "erfc": errors.erfc_body,
}
_TWO = {
    "atan2": ("y", "x"),
    "hypot": ("y", "x"),
    "pow": ("x", "y"),
    "products": ("x", "y"),
    "precise": ("x", "y"),
}
_USUAL: Mapping[str, Body] = {
    "sin": angles.sin_body,
    "cos": angles.cos_body,
    "tan": angles.tan_body,
    "pow": powers.pow_body,
}


def definition(function: str, dtype: DType, name: str) -> list[str]:
    """Return the lines that define `name` as `function` of numbers of `dtype`."""
    arguments = _TWO.get(function, ("x",))
    if function in _USUAL:
        far = powers.far(dtype) if function == "pow" else angles.far(function, dtype)
        body = _USUAL[function](dtype)
        return vectors.definition(name, function, dtype, arguments, body, far)
    params = ", ".join(f"{dtype.ctype} {argument}" for argument in arguments)
    body = _BODIES[function](dtype)
    lines = (line if line[0] == "#" else f"    {line}" for line in body)
    return [f"{INLINE} {dtype.ctype} {name}({params})", "{", *lines, "}"]
