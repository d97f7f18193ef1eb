"""Kernels with one barrier, or one wait for copies, less: as loops and as text.

In: a `LoopFunction`; CUDA text.  Out: the loops without a barrier; a device on which a barrier of
the text can be lost from call to call, the text being built once.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from polyopt.emulator import EmulatedProvider, Rules
from polyopt.emulator.library import Library
from polyopt.ir.loops import AwaitCopies, Barrier, Body, Kernel, LoopFunction, Node
from polyopt.ir.nodes import all_nodes, map_bodies
from polyopt.runtime.device.provider import Extent3, KernelArgument, Log, Module, no_log

_TEXT = re.compile(r"\b(?:__sync(?:threads|warp)\(\)|po_cp_async_wait<\d+>\(\));")
_STRIDED = re.compile(r"\+= (?:\(long long\))?gridDim\.([yz])")
_SWITCH = (
    'extern "C" int po_lost = -1; PE_OWN bool po_keeps(int number) { return po_lost != number; } '
)


@dataclass(frozen=True, slots=True)
class Lost:
    """Loops with a barrier less: the kernel that had it, and what it said."""

    kernel: str
    note: str
    loops: LoopFunction


def count_barriers(body: Body) -> int:
    """Return how many there are to lose."""
    return sum(isinstance(node, Barrier | AwaitCopies) for node in all_nodes(body))


def each_loss(fn: LoopFunction) -> Iterator[Lost]:
    """Yield `fn` without each of its barriers, in their order."""
    number = 0
    for kernel in (node for node in all_nodes(fn.body) if isinstance(node, Kernel)):
        for node in all_nodes(kernel.body):
            if isinstance(node, Barrier | AwaitCopies):
                less = replace(fn, body=without_barrier(fn.body, number))
                what = f"{node.scope.value}: {node.note}" if isinstance(node, Barrier) else "copies"
                yield Lost(kernel.name, what, less)
                number += 1


def without_barrier(body: Body, number: int) -> Body:
    """Return `body` without the barrier that has this number from the top."""
    left = [number]

    def visit(part: Body) -> Body:
        kept: list[Node] = []
        for node in part:
            if isinstance(node, Barrier | AwaitCopies):
                left[0] -= 1
                if left[0] == -1:
                    continue
            kept.append(map_bodies(node, visit))
        return tuple(kept)

    return visit(body)


@dataclass
class TextBarrier:
    """A barrier of the text; `found` says how its loss was noticed."""

    number: int
    kernel: str
    line: int
    found: str = ""


@dataclass
class _Switch:
    """What tells a library which barrier is lost."""

    number: ctypes.c_int | None = None
    barriers: list[TextBarrier] = field(default_factory=list)
    strided: dict[str, set[str]] = field(default_factory=dict)


class LosingDevice(EmulatedProvider):
    """An emulated device that loses the barrier that it is told to.

    Where blocks go through rows of the grid, or layers, it runs one, which goes round for all.
    """

    def __init__(self, rules: Rules | None = None) -> None:
        super().__init__(rules)
        self._switch = _Switch()

    @property
    def barriers(self) -> list[TextBarrier]:
        """Those of the text that was compiled last."""
        return self._switch.barriers

    def lose(self, number: int) -> None:
        """Lose this barrier from now on; none for -1."""
        assert self._switch.number is not None
        self._switch.number.value = number

    def compile(
        self, text: str, entries: Sequence[str], flags: tuple[str, ...] = (), log: Log = no_log
    ) -> Module:
        self._switch = _Switch()
        heads = {match.start(): match[1] for match in re.finditer(_heads(entries), text)}

        def switched(match: re.Match[str]) -> str:
            number = len(self._switch.barriers)
            kernel = next((k for at, k in reversed(heads.items()) if at < match.start()), "")
            line = text.count("\n", 0, match.start()) + 1
            self._switch.barriers.append(TextBarrier(number, kernel, line))
            return f"if (po_keeps({number})) {match[0]}"

        changed = _TEXT.sub(switched, text)
        starts = [*heads, len(text)]
        for (start, kernel), end in zip(heads.items(), starts[1:], strict=True):
            self._switch.strided[kernel] = set(_STRIDED.findall(text[start:end]))
        module = super().compile(_SWITCH + changed, entries, flags, log)
        assert isinstance(module.keep, Library)
        self._switch.number = ctypes.c_int.in_dll(module.keep._native, "po_lost")
        return module

    def launch(
        self,
        module: Module,
        entry: str,
        grid: Extent3,
        block: Extent3,
        args: Sequence[KernelArgument],
        shared: int = 0,
    ) -> None:
        few = self._switch.strided.get(entry, set())
        rows, layers = (min(n, 1) if a in few else n for n, a in zip(grid[1:], "yz", strict=True))
        grid = (grid[0], rows, layers)
        super().launch(module, entry, grid, block, args, shared)


def _heads(entries: Sequence[str]) -> str:
    names = "|".join(re.escape(entry) for entry in entries)
    return rf"\b({names})\s*\("
