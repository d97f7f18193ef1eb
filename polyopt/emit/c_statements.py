"""Lay out C statements as in the emitted files.

In: lines, heads and bodies.  Out: pieces of C, which print with four spaces and the brace on the
head's line.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence

INDENT = "    "


class Code(ABC):
    """A piece of C."""

    @abstractmethod
    def generate(self) -> Iterator[str]:
        """Yield the lines."""

    def __str__(self) -> str:
        return "\n".join(line.rstrip() for line in self.generate())


class Line(Code):
    """A line as it is; the empty one if none is given."""

    def __init__(self, text: str = "") -> None:
        self.text = text

    def generate(self) -> Iterator[str]:
        """Yield the line."""
        yield self.text


class Pragma(Code):
    """`#pragma value`."""

    def __init__(self, value: str) -> None:
        self.value = value

    def generate(self) -> Iterator[str]:
        """Yield the line."""
        yield f"#pragma {self.value}"


class Compound(Code):
    """`head {`, the body indented, `}`."""

    def __init__(self, head: str, body: Sequence[Code]) -> None:
        self.head = head
        self.body = tuple(body)

    def generate(self) -> Iterator[str]:
        """Yield the lines."""
        yield f"{self.head} {{"
        yield from indented(self.body)
        yield "}"


class Block(Code):
    """`{`, the body indented, `}`; the body alone where nothing else is in the braces around."""

    def __init__(self, body: Sequence[Code]) -> None:
        self.body = tuple(body)

    def generate(self) -> Iterator[str]:
        """Yield the lines."""
        yield "{"
        yield from indented(self.body)
        yield "}"


class Branch(Code):
    """`if (condition) { … } else { … }`, or `else if` where the other branch is one of its own."""

    def __init__(self, condition: str, then: Sequence[Code], otherwise: Sequence[Code]) -> None:
        self.condition = condition
        self.then = tuple(then)
        self.otherwise = tuple(otherwise)

    def generate(self) -> Iterator[str]:
        """Yield the lines."""
        yield f"if ({self.condition}) {{"
        yield from indented(self.then)
        match self.otherwise:
            case (Branch() as other,):
                head, *lines = other.generate()
                yield f"}} else {head}"
                yield from lines
                return
            case ():
                pass
            case _:
                yield "} else {"
                yield from indented(self.otherwise)
        yield "}"


class Function(Code):
    """A function definition; the brace stands on its own line, long parameter lists are broken."""

    def __init__(self, head: str, params: Sequence[str], body: Sequence[Code]) -> None:
        self.head = head
        self.params = tuple(params)
        self.body = tuple(body)

    def generate(self) -> Iterator[str]:
        """Yield the lines."""
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


def indented(body: Sequence[Code]) -> Iterator[str]:
    """Yield the lines of `body`, indented; pragmas too."""
    match body:
        case (Block() as block,):
            body = block.body
    for node in body:
        for line in node.generate():
            yield f"{INDENT}{line}" if line else ""


def identifiers(body: Sequence[Code]) -> frozenset[str]:
    """Return the identifiers in the text of `body`."""
    return words("\n".join(str(node) for node in body))


def words(text: str) -> frozenset[str]:
    """Return the words of C outside of comments and numbers: `1e-05f` has none."""
    plain = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    return frozenset(re.findall(r"(?<!\w)[A-Za-z_]\w*", plain))
