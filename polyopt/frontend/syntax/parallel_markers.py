"""Loops that the user says are parallel: `po.prange(n)`, `po.parallel(range(n))`, Numba's `prange`.

In: what a `for` loop runs over.  Out: the same; in Python, and for the code, they mean nothing.
`polyopt check` proves or refutes what they say.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from typing import TypeVar

_T = TypeVar("_T")


def prange(*bounds: int) -> range:
    """Return `range(*bounds)`; says that the loop's iterations are independent.

    >>> list(prange(2, 5))
    [2, 3, 4]
    """
    return range(*bounds)


def parallel(iterable: Iterable[_T]) -> Iterable[_T]:
    """Return `iterable`; says that the iterations of the loop over it are independent.

    >>> list(parallel(range(3)))
    [0, 1, 2]
    """
    return iterable


def is_prange(function: object) -> bool:
    """Whether a function is `prange`, ours or Numba's."""
    if function is prange:
        return True
    home = str(getattr(function, "__module__", "")).partition(".")[0]
    return home == "numba" and getattr(function, "__name__", "") == "prange"


def is_marker(function: object) -> bool:
    """Whether a function says that a loop is parallel."""
    return function is parallel or is_prange(function)


def marked_bounds(
    node: ast.expr, named: Callable[[ast.expr], object]
) -> tuple[list[ast.expr], bool]:
    """Return the bounds of `range(…)`, marked or not, and whether `node` is one.

    `named` gives the object that a dotted name stands for.
    """
    match node:
        case ast.Call(func=ast.Name(id="range"), args=args):
            return args, True
        case ast.Call(func=func, args=args) if is_prange(named(func)):
            return args, True
        case ast.Call(func=func, args=[inner]) if named(func) is parallel:
            return marked_bounds(inner, named)
        case _:
            return [], False
