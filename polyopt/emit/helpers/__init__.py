"""Small C functions that give an operation NumPy's meaning where C's operator differs.

In: what an operation is and its dtype.  Out: the function's name, and its definition as C text.
"""

from __future__ import annotations

from collections.abc import Callable

from polyopt.emit.helpers import memory, scalars, vectors
from polyopt.emit.helpers.helper import (
    SUFFIX,
    Helper,
    HelperKind,
    in_one_line,
    needed_by,
    vector_type,
)
from polyopt.emit.helpers.memory import ENOUGH_WORK, LINE
from polyopt.late import Table

__all__ = [
    "ENOUGH_WORK",
    "LINE",
    "SUFFIX",
    "Helper",
    "HelperKind",
    "definition",
    "in_one_line",
    "needed_by",
    "vector_type",
]

_DEFINITIONS = {**scalars.DEFINITIONS, **memory.DEFINITIONS, **vectors.DEFINITIONS}

_SELDOM: Table[Callable[[Helper], list[str]]] = Table(
    "polyopt.emit.helpers",
    "DEFINITIONS",
    {"random_numbers": "mulhi philox_block philox philox_row product normal", "blas": "gemm gemv"},
)


def definition(helper: Helper) -> list[str]:
    """Return the lines that define `helper`."""
    if helper.kind.value in _SELDOM:
        return _SELDOM[helper.kind.value](helper)
    return _DEFINITIONS[helper.kind](helper)
