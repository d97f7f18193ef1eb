"""An emulated device that changes the text it compiles: what a fault in the text would do.

In: `Device.change`, a text and another.  Out: kernels with the other in place of its first.
"""

from __future__ import annotations

from collections.abc import Sequence

from polyopt.emulator import EmulatedProvider
from polyopt.runtime.device.provider import Log, Module, no_log


class Device(EmulatedProvider):
    """A device that changes the text it compiles."""

    change: tuple[str, str] = ("", "")

    def compile(
        self, text: str, entries: Sequence[str], flags: tuple[str, ...] = (), log: Log = no_log
    ) -> Module:
        old, new = Device.change
        assert old in text
        return super().compile(text.replace(old, new, 1), entries, flags, log)
