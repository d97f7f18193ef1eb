"""Functions that call functions: fromfunction, piecewise.

In: functions of the user, conditions.  Out: what they give for every element.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from polyopt.frontend.library.asking import grids


def fromfunction(function: Any, shape: Any, *, dtype: Any = float) -> Any:
    """Call the function with the subscripts of every element."""
    return function(*grids(shape, dtype))


def piecewise(x: Any, condlist: Any, funclist: Any) -> Any:
    """The function, or constant, of the last condition that holds."""
    values = [(f(x) if callable(f) else f) for f in funclist]
    default = values[len(condlist)] if len(values) > len(condlist) else 0
    chosen = np.select(condlist[::-1], values[: len(condlist)][::-1], default)
    return chosen.astype(x.dtype)
