"""The syntax tree of a preprocessed C file, with places in the files it came from.

In: the preprocessor's output.  Out: `Unit`.
Refuses: a parser that is not installed (PO0523).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, NoReturn

from polyopt.dataclass import dataclass
from polyopt.errors import FrontendError, Loc, ToolchainError

if TYPE_CHECKING:
    from tree_sitter import Node

_MARKER = re.compile(rb'#(?:line)? (\d+) "((?:[^"\\]|\\.)*)".*')
_WORD = re.compile(rb"[A-Za-z_]\w*|\d[\w.]*")


@dataclass(frozen=True, eq=False)
class Unit:
    """A parsed file: `root`, its text, and for each line of it file and line in the source."""

    text: bytes
    root: Node
    places: tuple[tuple[str, int], ...]
    sources: dict[str, list[str]]

    @cached_property
    def lines(self) -> list[bytes]:
        """The lines of the text."""
        return self.text.split(b"\n")

    def source(self, node: Node) -> str:
        """Return the text of `node`, preprocessed."""
        return self.text[node.start_byte : node.end_byte].decode(errors="replace")

    def line(self, node: Node) -> int:
        """Return the line of the source that `node` begins at."""
        return self.places[node.start_point[0]][1]

    def loc(self, node: Node) -> Loc:
        """Return where `node` stands in the source.

        Where the preprocessor changed its line: the first of its words that the source's line has,
        or else the whole line.
        """
        row, column = node.start_point
        file, line = self.places[row]
        written = self._written(file, line)
        if written.encode() == self.lines[row]:
            end = node.end_point[1] if node.end_point[0] == row else len(self.lines[row])
            first = len(self.lines[row][:column].decode(errors="replace"))
            last = len(self.lines[row][:end].decode(errors="replace"))
            return Loc(file, line, first + 1, line, last + 1)
        for word in _WORD.findall(self.text[node.start_byte : node.end_byte]):
            found = re.search(rf"\b{re.escape(word.decode())}\b", written)
            if found is not None:
                return Loc(file, line, found.start() + 1, line, found.end() + 1)
        indent = len(written) - len(written.lstrip())
        return Loc(file, line, indent + 1, line, len(written) + 1)

    def written(self, node: Node) -> str:
        """Return the line of the source that `node` begins at."""
        return self._written(*self.places[node.start_point[0]])

    def line_of(self, node: Node, line: int) -> str:
        """Return a line of the source file that `node` is in."""
        return self._written(self.places[node.start_point[0]][0], line)

    def _written(self, file: str, line: int) -> str:
        if file not in self.sources:
            try:
                with open(file, encoding="utf-8", errors="replace") as stream:
                    self.sources[file] = stream.read().split("\n")
            except OSError:
                self.sources[file] = []
        lines = self.sources[file]
        return lines[line - 1] if 0 < line <= len(lines) else ""

    def refuse(self, code: str, message: str, node: Node, hint: str | None = None) -> NoReturn:
        """Raise the error at `node`."""
        raise FrontendError(code, message, loc=self.loc(node), hint=hint)


def parse_unit(text: bytes, file: str) -> Unit:
    """Return the tree of preprocessed text that begins in `file`."""
    try:
        import tree_sitter
        import tree_sitter_c
    except ImportError:
        raise ToolchainError(
            "PO0523",
            "C files are read by tree-sitter, which is not installed",
            hint="install the extra: pip install 'polyopt[c]'",
        ) from None
    places: list[tuple[str, int]] = []
    lines = text.split(b"\n")
    where, number = file, 1
    for position, line in enumerate(lines):
        marker = _MARKER.fullmatch(line.rstrip(b"\r"))
        places.append((where, number))
        number += 1
        if marker is not None:
            where = marker[2].decode(errors="replace").replace("\\\\", "\\")
            number = int(marker[1])
            lines[position] = b""
    cleaned = b"\n".join(lines)
    parser = tree_sitter.Parser(tree_sitter.Language(tree_sitter_c.language()))
    return Unit(cleaned, parser.parse(cleaned).root_node, tuple(places), {})


def walk(node: Node) -> Iterator[Node]:
    """Yield `node` and all below it, in textual order."""
    yield node
    for child in node.children:
        yield from walk(child)


def field(node: Node, name: str) -> Node:
    """Return a field that the grammar says is there."""
    found = node.child_by_field_name(name)
    assert found is not None, (node.type, name)
    return found


def is_word(node: Node) -> bool:
    """Tell whether `node` is an operand or a statement, no comment."""
    return node.is_named and node.type != "comment"


def is_inside(node: Node, kind: str) -> bool:
    """Tell whether `node` is, or is inside of, a node of this kind."""
    found: Node | None = node
    while found is not None:
        if found.type == kind:
            return True
        found = found.parent
    return False
