"""What a program of the corpus is: a function and a maker of its arguments.

Arguments are made from a size and a generator; `least` is the smallest size Python itself accepts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Maker = Callable[[int, np.random.Generator], tuple[Any, ...]]


@dataclass(frozen=True)
class Case:
    """One program and its arguments at size n."""

    func: Callable[..., Any]
    make: Maker
    least: int = 0


PROGRAMS: list[Case] = []


def case(make: Maker, least: int = 0) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def add(func: Callable[..., Any]) -> Callable[..., Any]:
        PROGRAMS.append(Case(func, make, least))
        return func

    return add


def vec(n, r):
    return (r.standard_normal(n),)


def vec2(n, r):
    return (r.standard_normal(n), r.standard_normal(n))


def mat(n, r):
    return (r.standard_normal((n, n + 2)),)


def square(n, r):
    return (r.standard_normal((n, n)),)


def square2(n, r):
    return (r.standard_normal((n, n)), r.standard_normal((n, n)))
