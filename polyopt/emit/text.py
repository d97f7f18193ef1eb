"""Text in the language of a target.

In: proven loops.  Out: `Source`, or a `DeviceProgram` for devices.
"""

from __future__ import annotations

from polyopt.emit.c import emit_c
from polyopt.emit.idle import without_unread
from polyopt.ir.host import Emitted, device_program
from polyopt.ir.loops import LoopFunction

SUFFIXES = {"c": ".c", "cuda": ".cu", "opencl": ".cl"}
"""How names of files end, by language."""


def emit(loops: LoopFunction, language: str) -> Emitted:
    """Return `loops` in `language`, one of `SUFFIXES`; raises `EmitError`."""
    loops = without_unread(loops)
    match language:
        case "cuda":
            from polyopt.emit.cuda import emit_cuda

            return device_program(loops, emit_cuda(loops))
        case "opencl":
            from polyopt.emit.opencl import emit_opencl

            return device_program(loops, emit_opencl(loops))
        case _:
            assert language == "c", language
            return emit_c(loops)
