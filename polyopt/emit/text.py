"""Emit text in the language of a target.

In: proven loops.  Out: `Source`, or a `DeviceProgram` for devices.
"""

from __future__ import annotations

from collections.abc import Callable

from polyopt.emit.c import emit_c
from polyopt.ir.host import Emitted, device_program
from polyopt.ir.loops import LoopFunction
from polyopt.ir.source import DeviceSource
from polyopt.late import Table

SUFFIXES = {"c": ".c", "cuda": ".cu", "opencl": ".cl"}
"""How names of files end, by language."""


_OF_DEVICES: Table[Callable[[LoopFunction], DeviceSource]] = Table(
    "polyopt.emit", "PRINTERS", {"cuda": "cuda", "opencl": "opencl"}
)


def emit(loops: LoopFunction, language: str) -> Emitted:
    """Return `loops` in `language`, one of `SUFFIXES`; raises `EmitError`."""
    if language == "c":
        return emit_c(loops)
    return device_program(loops, _OF_DEVICES[language](loops))
