"""Storage of the interpreter's arrays, filled so that reading what was not written shows.

In: an `Array`, its extents.  Out: a NumPy array: NaN, or a value no program writes by luck.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from polyopt.ir.array import Array, Role
from polyopt.ir.types import Kind
from polyopt.never import assert_never


def storage(array: Array, shape: Sequence[int]) -> np.ndarray[Any, Any]:
    """Return new storage for `array`; faults start as not noted."""
    result = np.empty(tuple(max(0, extent) for extent in shape), dtype=array.dtype.numpy)
    if array.role is Role.FAULT:
        result.fill(0)
        return result
    match array.dtype.kind:
        case Kind.FLOAT | Kind.COMPLEX:
            result.fill(np.nan)
        case Kind.BOOL:
            result.fill(True)
        case Kind.SIGNED | Kind.UNSIGNED:
            result.view(np.uint8).fill(0x5A) if result.ndim else result.fill(90)
        case _:
            assert_never(array.dtype.kind)
    return result
