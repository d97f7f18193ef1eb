"""Where the user's program records an operation, and refusals that point there.

In: the stack of the running program.  Out: `Loc` of the innermost frame outside polyopt and NumPy.
"""

from __future__ import annotations

import itertools
import linecache
import sys
from functools import lru_cache
from pathlib import Path
from types import CodeType, FrameType
from typing import NoReturn

import numpy as np

from polyopt import errors
from polyopt.errors import FrontendError, Loc

_OWN = str(Path(__file__).parent)
_BOUNDARY = errors.__file__
_NUMPY = str(Path(np.__file__).parent)

HINTS: dict[str, str] = {
    "PO0140": "check the shapes of the operands; give sizes that are equal the same name",
    "PO0141": "check the ranks of the operands",
    "PO0151": "pass numbers, arrays, tuples and lists of them",
    "PO0153": "count axes from 0, or from -1 backwards",
    "PO0801": "use np.where for choices, or `.compute()` for values that need no input",
    "PO0802": "give it a lazy array, or a tuple, list or dict of them",
    "PO0803": "keep it in the computation: `x / n`, np.sqrt(n), np.full((n, 3), 0.0, like=x)",
    "PO0804": "store into the array itself before views of it are made, or take a `.copy()`",
    "PO0805": "list every placeholder once: `inputs=[x, w]`",
    "PO0806": 'write po.tensor("x", po.f32["N,64"]) or po.tensor("x", ("N", 64), np.float32)',
    "PO0807": "give extents: po.comprehend[i:n, j], po.sum(..., over={k: n})",
    "PO0808": "compile it with po.compile(value) and pass the inputs",
}


def refuse(code: str, message: str, loc: Loc | None = None, hint: str | None = None) -> NoReturn:
    """Raise a `FrontendError` at `loc`, or at the user's line that runs now."""
    error = FrontendError(code, message, loc=loc or here(), hint=hint or HINTS.get(code))
    raise error from None


def here() -> Loc | None:
    """Return the place of the call that led into polyopt."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and _is_inside(frame.f_code.co_filename):
        frame = frame.f_back
    return None if frame is None else _place(frame.f_code, frame.f_lasti, frame.f_lineno)


@lru_cache(maxsize=512)
def _is_inside(file: str) -> bool:
    return file == _BOUNDARY or file.startswith((_OWN, _NUMPY))


@lru_cache(maxsize=4096)
def _place(code: CodeType, instruction: int, line: int) -> Loc:
    """Return the span of an instruction, the whole line where Python does not tell columns."""
    file = code.co_filename
    text = linecache.getline(file, line).rstrip("\n")
    whole = Loc(file, line, len(text) - len(text.lstrip()) + 1, line, len(text) + 1)
    positions = getattr(code, "co_positions", None)
    if positions is None:
        return whole
    found = next(itertools.islice(positions(), instruction // 2, None), (None,) * 4)
    first, last, start, end = found
    if first is None or last is None or start is None or end is None:
        return whole
    return Loc(file, first, _column(file, first, start), last, _column(file, last, end))


def _column(file: str, line: int, offset: int) -> int:
    """Python counts bytes of UTF-8; people count characters."""
    text = linecache.getline(file, line)
    return len(text.encode()[:offset].decode(errors="ignore")) + 1
