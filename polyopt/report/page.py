"""A kernel as one HTML page: source, loop nest and code linked by line, pictures, times.

In: a summary's subject, texts of its levels.  Out: HTML without anything from elsewhere, below a
megabyte.
Refuses: to write it without jinja2 (PO0524).
Nests and text from nearer than the summary.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from polyopt.dataclass import dataclass
from polyopt.ir.expr import Expr
from polyopt.ir.loops import Assign, Body, Declare, For, If, Kernel, LoopKind, SetLocal, While
from polyopt.ir.scop import Statement
from polyopt.ir.showing import show
from polyopt.report.cost import show_time
from polyopt.report.iterations import Picture, pictures
from polyopt.report.roofline import roofline
from polyopt.report.roofs import drawn_roofs
from polyopt.report.summary import Subject, nest_facts, summarize
from polyopt.report.summary_text import nest_line, roles_line, summary_lines
from polyopt.report.templates import template
from polyopt.schedule.tree import show_tree

LARGEST = 1_000_000
"""Bytes of a page."""
MOST_CODE = 3000  # lines
MOST_OF_A_NEST = 60
CELL, DOT = 34, 6  # of a picture, in pixels
COLOURS = ("#1f77b4", "#d95f02", "#1b9e77", "#7570b3", "#e7298a", "#66a61e", "#a6761d", "#666666")


@dataclass(frozen=True, slots=True)
class Text:
    """A line of a text, and the line of the source that it belongs to, 0 for none."""

    text: str
    line: int = 0


@dataclass(frozen=True, eq=False)
class Sources:
    """What a page is made of: the function's lines, the emitted text, times, notes on tuning."""

    first: int
    lines: Sequence[str]
    code: Sequence[tuple[str, str]]
    timings: Mapping[str, float]
    notes: Sequence[str]


def page(subject: Subject, sources: Sources) -> str:
    """Return the page; raises `ToolchainError` PO0524."""
    form = template("page.html.jinja")
    values = _values(subject, sources)
    text: str = form.render(values)
    while len(text.encode()) > LARGEST:
        values["code"] = values["code"][: len(values["code"]) // 2]
        values["pictures"] = values["pictures"][: len(values["pictures"]) // 2]
        values["is_cut"] = True
        text = form.render(values)
    return text


def _values(subject: Subject, sources: Sources) -> dict[str, Any]:
    summary = summarize(subject)
    nest = list(map(_linked, nest_lines(subject, MOST_OF_A_NEST)))
    code = [Text(line, _line_of(subject, name)) for line, name in sources.code]
    shown = [
        _drawn(one)
        for before, after in zip(subject.sources, subject.schedules, strict=True)
        for one in pictures(before, after, subject.names)
    ]
    total = sum(sources.timings.values()) or 1.0
    roofs = roofline(subject)
    return {
        "title": f"{summary.name} ({summary.place})",
        "summary": [*summary_lines(summary)[:-2]],
        "source": [Text(line, n) for n, line in enumerate(sources.lines, start=sources.first)],
        "nest": nest,
        "linked": {one.line for one in (*nest, *code) if one.line},
        "code": code[:MOST_CODE],
        "is_cut": len(code) > MOST_CODE,
        "pictures": shown,
        "trees": [
            {"steps": list(map(str, one.trace)), "lines": show_tree(one.tree, one.scop)}
            for one in subject.schedules
        ],
        "roofline": None if roofs is None else drawn_roofs(roofs),
        "stages": [
            (name, show_time(s), round(300 * s / total)) for name, s in sources.timings.items()
        ],
        "notes": list(sources.notes),
    }


def _line_of(subject: Subject, name: str) -> int:
    statement = subject.statements.get(name)
    return 0 if statement is None or statement.loc is None else statement.loc.line


def _linked(line: str) -> Text:
    """Return a line of a nest; statements begin with `line 4: `."""
    head, colon, _ = line.strip().partition(":")
    word, _, number = head.partition(" ")
    is_statement = bool(colon) and word == "line" and number.isdecimal()
    return Text(line, int(number) if is_statement else 0)


def _drawn(picture: Picture) -> dict[str, Any]:
    planes = []
    for plane in picture.planes:
        planes.append(
            {
                "title": plane.title,
                "across": plane.across,
                "down": plane.down,
                "width": CELL * (max(dot.x for dot in plane.dots) + 2),
                "height": CELL * (max(dot.y for dot in plane.dots) + 2),
                "dots": [
                    (_at(dot.x), _at(dot.y), COLOURS[dot.tile % len(COLOURS)], dot.text)
                    for dot in plane.dots
                ],
                "arrows": [
                    (*_shortened(one.start, one.end), one.kind)
                    for one in plane.arrows
                    if one.start != one.end
                ],
            }
        )
    return {"title": picture.title, "planes": planes}


def _at(cell: int) -> int:
    return CELL * (cell + 1)


def _shortened(start: tuple[int, int], end: tuple[int, int]) -> tuple[float, float, float, float]:
    """Return the ends of an arrow, outside of the dots that it joins."""
    x1, y1, x2, y2 = _at(start[0]), _at(start[1]), _at(end[0]), _at(end[1])
    length = ((x2 - x1) ** 2 + (y2 - y1) ** 2) ** 0.5
    dx, dy = (x2 - x1) / length * (DOT + 2), (y2 - y1) / length * (DOT + 2)
    return round(x1 + dx, 1), round(y1 + dy, 1), round(x2 - dx, 1), round(y2 - dy, 1)


LINES_OF_A_NEST = 10
"""Lines of a nest, its headings included."""
LONGEST = 60  # characters of a bound
CODE = 72  # columns of code before the note of a line
_WORDS = {
    LoopKind.SEQUENTIAL: "for",
    LoopKind.PARALLEL: "parallel for",
    LoopKind.VECTOR: "vector for",
    LoopKind.UNROLL: "unrolled for",
}


def nest_lines(subject: Subject, most: int = LINES_OF_A_NEST) -> Iterator[str]:
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
