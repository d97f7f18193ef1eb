"""Hostile texts: 500 of them, each for one of the places that data from elsewhere comes in at.

In: a file that none of them may make.  Out: `Hostile`s, made of payloads and wrappings.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import cycle, islice, product

PLACES = {
    "name": 140, "comment": 100, "schedule": 80, "log": 40, "entry": 40, "npz": 30, "c": 40,
    "compiler": 30,
}  # fmt: skip
"""Where a text comes in, and how many there are of each; 500 together."""


@dataclass(frozen=True, slots=True)
class Hostile:
    """A text for a place; `number` tells it apart from the place's others."""

    place: str
    number: int
    text: str

    def __str__(self) -> str:
        return f"{self.place}-{self.number}"


def payloads(canary: str) -> tuple[str, ...]:
    """Return what is attempted: commands, includes, calls, directives, escapes."""
    return (
        f'system("touch {canary}");', f"$(touch {canary})", f"`touch {canary}`",
        f"; touch {canary} #", f"| touch {canary}", f'#include "{canary}"', "#pragma omp barrier",
        f"__import__('os').system('touch {canary}')", f"open('{canary}', 'w')", "abort();",
        f'asm(".incbin \\"{canary}\\"");', "while(1);", "x[-1] = 1;", f"@{canary}", f"-o{canary}",
        f"-fplugin={canary}", "/etc/passwd", f"../../{canary}", "%s%n", "\x1b]0;owned\x07",
    )  # fmt: skip


WRAPPINGS = (
    "{}", "*/ {} /*", "a\n{}\n", "a\r{}", "\\\n{}", "??/\n{}", '"; {} "', "'{}'", "\u202e{}\u2066",
    "\x00{}", "//\\\n{}", "a\u2028{}", "/*{}", "#define A {}\n", "a){{ {} }}", "{}" + "x" * 5000,
    "_Pragma(\"{}\")", "%:{}", "<%{}%>", "line__{}",
)  # fmt: skip


def hostile(canary: str) -> Iterator[Hostile]:
    """Yield all texts, the same ones each time."""
    wrapped = cycle(
        wrapping.format(payload) for payload, wrapping in product(payloads(canary), WRAPPINGS)
    )
    for place, count in PLACES.items():
        yield from (Hostile(place, n, text) for n, text in enumerate(islice(wrapped, count)))
