"""Sketch: a language of devices that is CUDA's under a line of its own, run by the emulator.

In: loops, the option `device`.  Out: text; a device.
"""

from __future__ import annotations

from polyopt.dataclass import replace
from polyopt.emit.cuda import emit_cuda
from polyopt.emulator import EmulatedProvider
from polyopt.ir.loops import LoopFunction
from polyopt.ir.source import DeviceSource
from polyopt.ir.target import Target


def emit_sketch(loops: LoopFunction) -> DeviceSource:
    """Return the text of all kernels of `loops`."""
    source = emit_cuda(loops)
    return replace(source, language="sketch", text=f"/* a sketch */\n{source.text}")


def open_sketch(_: int | str | None) -> EmulatedProvider:
    """Return the device, of which there is one."""
    return EmulatedProvider()


SKETCH = Target("sketch", ".sketch", emit_sketch, open_sketch)
