"""CUDA text on the CPU, with checks: races, barriers, bounds, what nobody has set.

In: CUDA text, arrays, launches.  Out: an `EmulatedProvider`, a device like any other.
Refuses: kernels that are wrong, with the lines of their text (PO0521).
"""

from __future__ import annotations

from polyopt.emulator.findings import Actor, DeviceFault, Finding, FindingKind, Line
from polyopt.emulator.library import Order
from polyopt.emulator.provider import EmulatedProvider, Rules

__all__ = [
    "Actor",
    "DeviceFault",
    "EmulatedProvider",
    "Finding",
    "FindingKind",
    "Line",
    "Order",
    "Rules",
]
