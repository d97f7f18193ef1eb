"""Mark lines of emitted text by the statement that they run.

In: a node and its lines.  Out: the lines, the last one with a character that no text has behind it,
while somebody asks for marks (`emit.annotated`).  Breaking lines leaves marks where they are.
The text with the statement of the program that each line runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

from polyopt.dataclass import dataclass
from polyopt.emit.c_statements import Code, Line
from polyopt.emit.text import emit
from polyopt.ir.host import DeviceProgram
from polyopt.ir.loops import Assign, Declare, LoopFunction, Node, SetLocal

FIRST, MOST = 0xE000, 6400  # characters that Unicode leaves to private use


@dataclass(frozen=True, slots=True)
class _Asked:
    marks: Mapping[str, str]


_ASKED: ContextVar[_Asked | None] = ContextVar("line_marks", default=None)


@contextmanager
def marking(statements: Sequence[str]) -> Iterator[Mapping[str, str]]:
    """Mark the lines of these statements; gives each one's mark."""
    marks = {name: chr(FIRST + number) for number, name in enumerate(statements[:MOST])}
    token = _ASKED.set(_Asked(marks))
    try:
        yield marks
    finally:
        _ASKED.reset(token)


def marked(node: Node, lines: list[Code]) -> list[Code]:
    """Return the lines of a node, the last one marked if its statement is asked for."""
    asked = _ASKED.get()
    if asked is None or not lines or not isinstance(node, Assign | Declare | SetLocal):
        return lines
    mark, last = asked.marks.get(node.statement, ""), lines[-1]
    if not mark or not isinstance(last, Line):
        return lines
    return [*lines[:-1], Line(last.text + mark)]


def split_mark(line: str) -> tuple[str, str]:
    """Return a line without its mark, and the mark or ""."""
    if line and FIRST <= ord(line[-1]) < FIRST + MOST:
        return line[:-1], line[-1]
    return line, ""


def annotated(
    loops: LoopFunction, language: str, statements: Sequence[str]
) -> tuple[tuple[str, str], ...]:
    """Return the lines of the text, each with the statement it runs or "".

    Without the names it is the text that `emit` returns.
    """
    with marking(statements) as marks:
        made = emit(loops, language)
    text = made.source.text if isinstance(made, DeviceProgram) else made.text
    named = {mark: name for name, mark in marks.items()}
    found = [split_mark(line) for line in text.splitlines()]
    return tuple((line, named.get(mark, "")) for line, mark in found)
