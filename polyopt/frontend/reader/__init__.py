"""Python's statements, expressions and calls become statements of a program."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyopt.late import names_of

if TYPE_CHECKING:
    from polyopt.frontend.reader import (
        assertions,
        batching,
        branches,
        derivatives,
        filtered_comprehensions,
        iterables,
        reshaped_names,
    )
else:
    __getattr__ = names_of(
        __name__,
        {
            "assertions": "",
            "batching": "",
            "branches": "",
            "derivatives": "",
            "filtered_comprehensions": "",
            "iterables": "",
            "reshaped_names": "",
        },
    )

__all__ = [
    "assertions",
    "batching",
    "branches",
    "derivatives",
    "filtered_comprehensions",
    "iterables",
    "reshaped_names",
]
