"""An emulated device whose work is done as late as it may be: what nobody waits for is not there.

In: what is asked of streams.  Out: it is done when somebody waits, and only what that needs.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from polyopt.emulator import EmulatedProvider
from polyopt.runtime.device.provider import AnyArray, Buffer, Extent3, KernelArgument, Module

OWN = 100


@dataclass
class Streams:
    """Queues by number; a place in one is told by how much was asked for before it."""

    queues: dict[int, deque[Callable[[], object]]] = field(default_factory=dict)
    done: dict[int, int] = field(default_factory=dict)

    def ask(self, stream: int, action: Callable[[], object]) -> None:
        """Put off an action."""
        self.queues.setdefault(stream, deque()).append(action)

    def order(self, first: int, then: int) -> None:
        """Have `then` wait for what `first` was asked for so far."""
        place = self.done.get(first, 0) + len(self.queues.get(first, ()))
        self.ask(then, lambda: self.run(first, place))

    def run(self, stream: int, until: int | None = None) -> None:
        """Do what a stream was asked for, up to a place or all of it."""
        queue = self.queues.setdefault(stream, deque())
        while queue and (until is None or self.done.get(stream, 0) < until):
            action = queue.popleft()
            self.done[stream] = self.done.get(stream, 0) + 1
            action()


class LateDevice(EmulatedProvider):
    """An emulated device with a stream that other streams can be in order with."""

    def __init__(self) -> None:
        super().__init__()
        self.streams = Streams()
        self.waits = 0

    @property
    def stream(self) -> int:
        return OWN

    def free(self, buffer: Buffer) -> None:
        self.streams.ask(OWN, lambda: super(LateDevice, self).free(buffer))

    def upload(self, buffer: Buffer, array: AnyArray) -> None:
        kept = np.array(array)
        self.streams.ask(OWN, lambda: super(LateDevice, self).upload(buffer, kept))

    def download(self, buffer: Buffer, array: AnyArray) -> None:
        self.synchronize()
        super().download(buffer, array)

    def fill(self, buffer: Buffer, byte: int) -> None:
        self.streams.ask(OWN, lambda: super(LateDevice, self).fill(buffer, byte))

    def launch(
        self,
        module: Module,
        entry: str,
        grid: Extent3,
        block: Extent3,
        args: Sequence[KernelArgument],
        shared: int = 0,
    ) -> None:
        given: list[Any] = [module, entry, grid, block, tuple(args), shared]
        self.streams.ask(OWN, lambda: super(LateDevice, self).launch(*given))

    def synchronize(self) -> None:
        self.waits += 1
        self.streams.run(OWN)

    def wait_for(self, stream: int) -> None:
        self.streams.order(stream, OWN)

    def lead(self, stream: int) -> None:
        self.streams.order(OWN, stream)
