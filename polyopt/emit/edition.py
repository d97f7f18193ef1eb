"""The two editions of emitted C: the one polyopt builds itself, and the one that is handed over.

In: a program, its version.  Out: `Edition`, which the printers ask.
The first compiles quickly, asks for signals, and decides on threads without OpenMP.  The second is
for readers: plain names and headers, comments with the source's lines, each loop once.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from polyopt.dataclass import dataclass, field
from polyopt.emit.banner import plain
from polyopt.errors import Loc
from polyopt.ir.program import Program, all_parts
from polyopt.ir.scop import Scop

LONGEST = 80
"""Characters of a source line in a comment."""


@dataclass(frozen=True, slots=True)
class Edition:
    """What a text is for.

    `is_handed_over`: it is for readers.  `lines` gives the comment of each statement, `version`
    polyopt's, `origin` the file of the function.
    """

    is_handed_over: bool = False
    lines: Mapping[str, str] = field(default_factory=dict)
    version: str = ""
    origin: str = ""


BUILT = Edition()
"""The edition that polyopt builds."""


def handed_over(program: Program, version: str = "") -> Edition:
    """Return the edition for readers of what was compiled from `program`."""
    lines: dict[str, str] = {}
    origin = ""
    scops = (part for part in all_parts(program.parts) if isinstance(part, Scop))
    for statement in (one for scop in scops for one in scop.statements):
        if statement.loc is None:
            continue
        lines[statement.name] = source_comment(statement.loc, statement.text)
        origin = origin or plain(os.path.basename(statement.loc.file))
    return Edition(True, lines, version, origin)


def source_comment(loc: Loc, text: str) -> str:
    """Return what a comment says of a source line: its file, its number, its text.

    >>> source_comment(Loc("/tmp/a.py", 3, 1, 3, 9), "  x[0] = 1  # */ ??/")
    'a.py:3: x[0] = 1  # * / ? ?/'
    """
    line = plain(text.strip())
    if len(line) > LONGEST:
        line = f"{line[: LONGEST - 4].rstrip()} ..."
    return f"{plain(os.path.basename(loc.file))}:{loc.line}: {line}"
