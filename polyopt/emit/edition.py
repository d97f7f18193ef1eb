"""The edition of emitted C that is handed over, for readers.

In: a program, polyopt's version.  Out: `Edition`, which the printers ask.
It has plain names and headers, comments with the source's lines, and each loop once.  The edition
that polyopt builds compiles quickly, asks for signals, and decides on threads without OpenMP.
"""

from __future__ import annotations

import os

from polyopt.emit.banner import Edition, plain
from polyopt.errors import Loc
from polyopt.ir.program import Program, all_parts
from polyopt.ir.scop import Scop

LONGEST = 80
"""Characters of a source line in a comment."""


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
