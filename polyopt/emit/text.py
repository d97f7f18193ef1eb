"""Emit text in the language of a target.

In: proven loops.  Out: `Source`, or a `DeviceProgram` for devices.
"""

from __future__ import annotations

from polyopt.ir.host import Emitted, device_program
from polyopt.ir.loops import LoopFunction
from polyopt.ir.source import DeviceSource, Source
from polyopt.ir.target import TARGETS


def emit(loops: LoopFunction, language: str) -> Emitted:
    """Return `loops` in `language`, one of `TARGETS`; raises `EmitError`."""
    target = TARGETS[language]
    text: Source | DeviceSource = target.print_loops(loops)
    return text if isinstance(text, Source) else device_program(loops, text)
