"""What asks for a derivative in the text of a kernel.

In: nothing.  Out: `derivative`, which stands for one as a whole; `MAKERS`, the functions that make
derivatives of functions, by what they make.  The front end knows how to read calls of both.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn, TypeVar

from polyopt.errors import UsageError

_F = TypeVar("_F", bound=Callable[..., Any])

MAKERS: dict[Callable[..., Any], str] = {}


def makes(mode: str) -> Callable[[_F], _F]:
    """Note that kernels may call a function, for derivatives in `mode`."""

    def noted(function: _F) -> _F:
        MAKERS[function] = mode
        return function

    return noted


def derivative(*_: object, **__: object) -> NoReturn:
    """Stand for a derivative in the text of kernels; it has no meaning as Python."""
    raise UsageError(
        "PO0229",
        "a derivative is compiled only: it does not run as Python",
        hint="leave POLYOPT_DISABLE unset, or call the function itself",
    )
