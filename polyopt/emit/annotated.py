"""The emitted text with the statement of the program that each line runs.

In: proven loops, a language.  Out: lines and the names of their statements.
"""

from __future__ import annotations

from collections.abc import Sequence

from polyopt.emit.line_marks import marking, split_mark
from polyopt.emit.text import emit
from polyopt.ir.host import DeviceProgram
from polyopt.ir.loops import LoopFunction


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
