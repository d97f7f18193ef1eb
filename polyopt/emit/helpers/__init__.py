"""Small C functions that give an operation NumPy's meaning where C's operator differs.

In: what an operation is and its dtype.  Out: the function's name, and its definition as C text.
"""

from __future__ import annotations

from polyopt.emit.helpers import memory, scalars, vectors
from polyopt.emit.helpers.helper import SUFFIX, Helper, HelperKind, in_one_line, vector_type
from polyopt.emit.helpers.memory import ENOUGH_WORK, LINE

__all__ = [
    "ENOUGH_WORK",
    "LINE",
    "SUFFIX",
    "Helper",
    "HelperKind",
    "definition",
    "in_one_line",
    "vector_type",
]

_DEFINITIONS = {**scalars.DEFINITIONS, **memory.DEFINITIONS, **vectors.DEFINITIONS}


def definition(helper: Helper) -> list[str]:
    """Return the lines that define `helper`."""
    return _DEFINITIONS[helper.kind](helper)
