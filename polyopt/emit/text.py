"""Emit text in the language of a target.

In: proven loops.  Out: `Source`, or a `DeviceProgram` for devices.
"""

from __future__ import annotations

from polyopt.ir.host import Emitted, device_program
from polyopt.ir.loops import LoopFunction
from polyopt.ir.program import Program
from polyopt.ir.source import DeviceSource, Source
from polyopt.ir.target import TARGETS, Target
from polyopt.late import named


def emit(loops: LoopFunction, language: str) -> Emitted:
    """Return `loops` in `language`, one of `TARGETS`; raises `EmitError`."""
    target = TARGETS[language]
    text: Source | DeviceSource = target.print_loops(loops)
    return text if isinstance(text, Source) else device_program(loops, text)


def emit_for_readers(
    loops: LoopFunction, language: str, program: Program, version: str = ""
) -> Emitted:
    """Return the text that is handed over: C in the edition for readers; raises `EmitError`.

    `program` tells the source's lines, `version` is polyopt's.
    """
    if TARGETS[language] is not Target.C:
        return emit(loops, language)
    edition = named("polyopt", "emit.edition.handed_over")(program, version)
    source: Source = named("polyopt", "emit.c.emit_c")(loops, edition)
    return source
