"""A program of another system's gallery, ported: the function, its data, and what had to change.

In: a function of Python, a maker of its arguments, the lines that differ.  Out: a `Ported` record.
Refuses: nothing; `tests/ported/test_ported.py` checks that the record is true of the function.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np

Maker = Callable[[np.random.Generator], tuple[Any, ...]]
_F = TypeVar("_F", bound=Callable[..., Any])


@dataclass(frozen=True)
class Ported:
    """One program.

    `changed` has, for each line of the algorithm that differs, the line a user of the other system
    writes and the line here.  `refused` is the code of the error for a program that is refused;
    `hint` is a part of its hint, and `instead` the program as the hint says to write it, with data.
    """

    gallery: str
    function: Callable[..., Any]
    make: Maker
    changed: Mapping[str, str] = field(default_factory=dict)
    refused: str = ""
    hint: str = ""
    instead: tuple[Callable[..., Any], Maker] | None = None

    @property
    def name(self) -> str:
        """The gallery and the function's name."""
        return f"{self.gallery}/{self.function.__name__}"

    def arguments(self) -> tuple[Any, ...]:
        """Return new arguments; every call returns equal ones."""
        return self.make(np.random.default_rng(7))

    def following_the_hint(self) -> Ported:
        """Return the program as the hint says to write it."""
        assert self.instead is not None
        return replace(self, function=self.instead[0], make=self.instead[1], refused="")


def ported(
    make: Maker,
    changed: Mapping[str, str] | None = None,
    refused: str = "",
    hint: str = "",
    instead: tuple[Callable[..., Any], Maker] | None = None,
) -> Callable[[_F], _F]:
    """Return a decorator that says of a function that it is a ported program."""

    def note(function: _F) -> _F:
        gallery = function.__module__.rpartition("from_")[2]
        record = Ported(gallery, function, make, changed or {}, refused, hint, instead)
        function.ported = record  # type: ignore[attr-defined]
        return function

    return note
