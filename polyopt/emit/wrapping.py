"""Lines of C broken at a width.

In: text.  Out: the same tokens, continuation lines indented by eight.
Leaves: preprocessor lines, and lines without a place to break.
"""

from __future__ import annotations

import re

from polyopt.emit.line_marks import split_mark

WIDTH = 100

_BINDING = dict.fromkeys("+-", 8) | dict.fromkeys("*/%", 9) | dict.fromkeys(("<<", ">>"), 9)
_BINDING |= dict.fromkeys(("?", ":"), 2) | {"=": 10} | {"||": 3, "&&": 4, "|": 5, "^": 5, "&": 5}
_BINDING |= dict.fromkeys(("<", ">", "<=", ">=", "==", "!="), 6)
"""How tightly operators bind; commas and assignments least."""

_AHEAD = 8  # characters: more than the pattern looks beyond a break
_BREAK = re.compile(r" (?=(?:[-+*/%&|^?:<>=]|&&|\|\||<<|>>|[<>=!+*/-]=) )|(?<=[,;]) ")


def wrapped(text: str, width: int = WIDTH) -> str:
    """Return `text` with its long lines broken before operators and after commas."""
    return "\n".join(part for line in text.split("\n") for part in _lines(line, width))


def _lines(line: str, width: int) -> list[str]:
    line, mark = split_mark(line)
    if mark:
        *parts, last = _lines(line, width)
        return [*parts, last + mark]
    body = line.lstrip(" ")
    if body.startswith("/*") and len(line) > width and line.endswith("*/"):
        return [f"{line[: width - 7].rstrip()} ... */"]
    if body.startswith(("#", "/*", "* ", "*/")):
        return [line]
    indent = line[: len(line) - len(body)] + " " * 8
    found: list[str] = []
    while len(line) > width:
        place = _best_break(line, width)
        if place is None:
            break
        found.append(line[:place])
        line = indent + line[place + 1 :]
    return [*found, line]


def _best_break(line: str, width: int) -> int | None:
    """Return the position of the space to break at: after `;`, least nested, least binding."""
    start = len(line) - len(line.lstrip(" "))
    line = line[: width + _AHEAD]
    depth = _depths(line)
    places = [m.start() for m in _BREAK.finditer(line) if m.start() <= width]
    late = [p for p in places if p > start + (width - start) // 3]

    def rank(place: int) -> tuple[bool, int, int, int]:
        operator = line[place + 1 : place + 3].rstrip()
        return line[place - 1] == ";", -depth[place], -_BINDING.get(operator, 1), place

    return max(late, key=rank, default=None)


def _depths(line: str) -> list[int]:
    """Return for every character how many brackets are open before it."""
    found: list[int] = []
    depth = 0
    for character in line:
        found.append(depth)
        depth += (character in "([{") - (character in ")]}")
    return found
