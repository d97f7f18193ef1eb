"""What asks for a derivative, or a function of many examples, in the text of a kernel.

In: nothing.  Out: `derivative` and `examples`, which stand for one as a whole; `MAKERS`, the
functions that make derivatives of functions, or map them over examples, by what they make;
`Derived` and `Mapped`, what they make.  The front end knows how to read calls of all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn, TypeVar

from polyopt.dataclass import dataclass
from polyopt.errors import UsageError

_F = TypeVar("_F", bound=Callable[..., Any])

MAKERS: dict[object, str] = {}


@dataclass(frozen=True, eq=False)
class Derived:
    """The derivative of `function` by the parameters `by`, by position or name.

    `of`: the written parameters whose contents are the results; empty for what is returned.
    `is_many`: gradients come as a tuple.  `is_flat`: all values and gradients come as one tuple of
    arrays and numbers, or as the only one.
    """

    function: Any
    mode: str
    by: tuple[int | str, ...]
    of: tuple[str, ...]
    is_many: bool
    is_flat: bool = False


@dataclass(frozen=True, eq=False)
class Mapped:
    """`function` for all examples along axes of its arguments.

    `inward`: the axis of each argument, or of all; `outward`: that of each result, or of all.
    `is_whole`: it is all that a kernel does.
    """

    function: Any
    inward: Any
    outward: Any
    is_whole: bool = False


def makes(mode: str) -> Callable[[_F], _F]:
    """Note that kernels may call a function, for what `mode` says."""

    def noted(function: _F) -> _F:
        MAKERS[function] = mode
        return function

    return noted


def examples(*_: object, **__: object) -> NoReturn:
    """Stand for a mapped function in the text of kernels; it has no meaning as Python."""
    raise UsageError(
        "PO0229",
        "a mapped function is compiled only: it does not run as Python",
        hint="leave POLYOPT_DISABLE unset, or call the function itself in a loop",
    )


def derivative(*_: object, **__: object) -> NoReturn:
    """Stand for a derivative in the text of kernels; it has no meaning as Python."""
    raise UsageError(
        "PO0229",
        "a derivative is compiled only: it does not run as Python",
        hint="leave POLYOPT_DISABLE unset, or call the function itself",
    )
