"""A kernel from nearer than its summary: its loop nests, ten lines each; its text, line by line.

In: a summary's subject.  Out: lines.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from polyopt.ir.expr import Expr
from polyopt.ir.loops import Assign, Body, Declare, For, If, Kernel, LoopKind, SetLocal, While
from polyopt.ir.scop import Statement
from polyopt.ir.showing import show
from polyopt.report.summary import Subject, nest_facts
from polyopt.report.summary_text import nest_line, roles_line

MOST = 10
"""Lines of a nest, its headings included."""
LONGEST = 60  # characters of a bound
CODE = 72  # columns of code before the note of a line
_WORDS = {
    LoopKind.SEQUENTIAL: "for",
    LoopKind.PARALLEL: "parallel for",
    LoopKind.VECTOR: "vector for",
    LoopKind.UNROLL: "unrolled for",
}


def nest_lines(subject: Subject, most: int = MOST) -> Iterator[str]:
    """Yield every nest in at most `most` lines, in the order of the text."""
    total = sum(nest.seconds for nest in subject.nests)
    for number, nest in enumerate(subject.nests, start=1):
        facts = nest_facts(subject, number, nest, total)
        yield nest_line(facts)
        yield f"   {roles_line(facts)}"
        lines = list(_loops(subject, nest.body, 1, set()))
        room = most - 2
        yield from lines if len(lines) <= room else lines[: room - 1]
        if len(lines) > room:
            yield f"   … {len(lines) - room + 1} more lines: --level code"


def _loops(subject: Subject, body: Body, depth: int, seen: set[str]) -> Iterator[str]:
    """Yield the loops and, once each, the statements of a body."""
    pad = "   " * min(depth, 12)
    for node in body:
        match node:
            case For():
                lines = list(_loops(subject, node.body, depth + 1, seen))
                if lines:
                    yield f"{pad}{_head(subject, node)}"
                    yield from lines
            case While():
                yield f"{pad}while …"
                yield from _loops(subject, node.body, depth + 1, seen)
            case If():
                yield from _loops(subject, (*node.then, *node.otherwise), depth, seen)
            case Kernel():
                yield f"{pad}kernel {node.name}, {node.threads} threads a block"
                yield from _loops(subject, (*node.body, *node.finish), depth + 1, seen)
            case Assign() | Declare() | SetLocal() if node.statement not in ("", *seen):
                seen.add(node.statement)
                known = subject.statements.get(node.statement)
                if known is not None:
                    yield f"{pad}{statement_text(known)}"
            case _:
                pass


def _head(subject: Subject, loop: For) -> str:
    word = _WORDS.get(loop.kind, f"{loop.kind.value} for")
    if word == "for" and subject.in_lanes(loop):
        word = "vector for"
    step = "" if loop.step == 1 else f", {loop.step}"
    bounds = f"{_bound(subject, loop.lower)}, {_bound(subject, loop.upper)}{step}"
    return f"{word} {subject.names.text(loop.iter)} in range({bounds})"


def _bound(subject: Subject, bound: Expr) -> str:
    text = subject.names.text(show(bound))
    return text if len(text) <= LONGEST else "…"


def statement_text(statement: Statement) -> str:
    """Return a statement as the source has it, after its line."""
    where = "" if statement.loc is None else f"line {statement.loc.line}: "
    return f"{where}{statement.text or statement.name}"


def code_lines(subject: Subject, text: Sequence[tuple[str, str]]) -> Iterator[str]:
    """Yield lines of text with the line of the source that each one runs beside it."""
    for line, name in text:
        note = _note(subject, name)
        yield f"{line:<{CODE}}  {note}" if note else line


def assembly_lines(
    subject: Subject, found: Sequence[tuple[str, int]], text: Sequence[tuple[str, str]]
) -> Iterator[str]:
    """Yield assembly; where another line of the source begins, that line."""
    before = ""
    for line, number in found:
        name = text[number - 1][1] if 0 < number <= len(text) else ""
        if name and name != before:
            yield f"    {_note(subject, name).replace('//', '#', 1)}"
            before = name
        yield line


def _note(subject: Subject, name: str) -> str:
    statement = subject.statements.get(name)
    return "" if statement is None else f"// {statement_text(statement)}"
