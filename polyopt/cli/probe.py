"""A function that `polyopt doctor` compiles and calls.

In: an array.  Out: the array, each element its index.
"""

from __future__ import annotations

from typing import Any


def fill(values: Any) -> None:  # noqa: ANN401 - an array of any element type
    """Set every element to its index."""
    for i in range(values.shape[0]):
        values[i] = i
