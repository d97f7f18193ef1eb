"""The text that models learn, `garden.txt`, as numbers.

In: a seed, sizes.  Out: batches of characters and of those that follow them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np


@dataclass(frozen=True)
class Text:
    """A text, each character as its position among all that it has."""

    characters: str
    codes: np.ndarray

    def batches(self, count: int, length: int, seed: int = 0) -> Iterator[tuple[np.ndarray, ...]]:
        """Yield pieces of the text at random places, and the characters one place further."""
        rng = np.random.default_rng(seed)
        while True:
            starts = rng.integers(0, len(self.codes) - length, (count, 1))
            places = starts + np.arange(length)
            yield self.codes[places], self.codes[places + 1]


def garden() -> Text:
    """Return the text beside this module."""
    text = (Path(__file__).parent / "garden.txt").read_text(encoding="utf-8")
    characters = "".join(sorted(set(text)))
    return Text(characters, np.array([characters.index(c) for c in text]))
