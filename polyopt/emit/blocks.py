"""C blocks in the layout of the emitted files, on top of cgen.

In: heads and bodies.  Out: cgen nodes that print with four spaces and the brace on the head's line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import cgen

INDENT = "    "


class Nest(cgen.Generable):
    """`head {`, the body indented, `}`."""

    mapper_method = "map_nest"

    def __init__(self, head: str, body: Sequence[cgen.Generable]) -> None:
        self.head = head
        self.body = tuple(body)

    def generate(self, with_semicolon: bool = True) -> Iterator[str]:
        """Yield the lines."""
        del with_semicolon
        yield f"{self.head} {{"
        yield from indented(self.body)
        yield "}"


class Branch(cgen.Generable):
    """`if (condition) { … } else { … }`."""

    mapper_method = "map_branch"

    def __init__(
        self, condition: str, then: Sequence[cgen.Generable], otherwise: Sequence[cgen.Generable]
    ) -> None:
        self.condition = condition
        self.then = tuple(then)
        self.otherwise = tuple(otherwise)

    def generate(self, with_semicolon: bool = True) -> Iterator[str]:
        """Yield the lines."""
        del with_semicolon
        yield f"if ({self.condition}) {{"
        yield from indented(self.then)
        if self.otherwise:
            yield "} else {"
            yield from indented(self.otherwise)
        yield "}"


class Function(cgen.Generable):
    """A function definition; the brace stands on its own line, long parameter lists are broken."""

    mapper_method = "map_function"

    def __init__(self, head: str, params: Sequence[str], body: Sequence[cgen.Generable]) -> None:
        self.head = head
        self.params = tuple(params)
        self.body = tuple(body)

    def generate(self, with_semicolon: bool = True) -> Iterator[str]:
        """Yield the lines."""
        del with_semicolon
        yield from prototype(self.head, self.params, "")
        yield "{"
        yield from indented(self.body)
        yield "}"


def prototype(head: str, params: Sequence[str], end: str) -> list[str]:
    """Return the lines of `head(params)end`, a declaration."""
    return calling(head, params or ("void",), end)


def calling(head: str, arguments: Sequence[str], end: str, width: int = 98) -> list[str]:
    """Return `head(arguments)end`, broken after commas where it would be wider than `width`."""
    if not arguments:
        return [f"{head}(){end}"]
    lines: list[str] = []
    line = f"{head}("
    for number, argument in enumerate(arguments):
        piece = argument + ("," if number < len(arguments) - 1 else f"){end}")
        spaced = piece if line.endswith("(") else f" {piece}"
        if len(line) + len(spaced) > width and not line.endswith("("):
            lines.append(line)
            line = f"{INDENT}{piece}"
        else:
            line += spaced
    return [*lines, line]


def indented(body: Sequence[cgen.Generable]) -> Iterator[str]:
    """Yield the lines of `body`, indented; pragmas too."""
    for node in body:
        for line in node.generate():
            yield f"{INDENT}{line}" if line else ""


def words(body: Sequence[cgen.Generable]) -> frozenset[str]:
    """Return the identifiers in the text of `body`."""
    return frozenset(re.findall(r"[A-Za-z_]\w*", "\n".join(str(node) for node in body)))
