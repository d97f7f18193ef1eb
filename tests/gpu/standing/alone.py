"""Kernels launched by themselves, with no more than the arrays they touch.

In: a device program, a device, sizes.  Out: what the device says of one launch.
A program of large arrays may have kernels of small ones, which take a second warp only at sizes
that the whole program is too large for.  Elements are by chance; subscripts that are data are cut
by the kernel itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from polyopt.emulator import DeviceFault
from polyopt.hosting.kernel import Memory, _Device
from polyopt.ir.array import Array, Role
from polyopt.ir.evaluate import Frame
from polyopt.ir.host import DeviceProgram
from polyopt.ir.integers import evaluate
from polyopt.ir.loops import Body, For, Kernel
from polyopt.ir.nodes import bodies
from polyopt.ir.run_loops import Action
from polyopt.ir.source import KernelParamKind
from polyopt.ir.types import Kind
from polyopt.runtime.device.provider import Provider

MOST_BYTES, MOST_THREADS = 2**24, 2**18
"""Of the arrays of a launch; in its grid."""
WIDTHS = (3, 2000)
"""Integers by chance are smaller than one of these, and not smaller than minus that but one."""


@dataclass(frozen=True)
class Alone:
    """A kernel, the loops of the host around it, and how it is launched."""

    program: DeviceProgram
    provider: Provider
    memory: Memory
    kernel: Kernel
    loops: tuple[For, ...]
    launch: Action

    def run(self, sizes: Mapping[str, int], width: int) -> str | None:
        """Return what the device says of a launch, None if nothing.

        Raises `ValueError` where it would be too large, or its sizes are not known.
        """
        values = dict(sizes)
        iters: dict[str, int] = {}
        entries = self.program.source.launches(self.kernel.name)
        try:
            for loop in self.loops:
                iters[loop.iter] = values[loop.iter] = evaluate(loop.lower, values)
            threads = sum(e.threads * prod(evaluate(n, values) for n in e.grid) for e in entries)
        except TypeError:
            raise ValueError(f"the blocks of {self.kernel.name} are computed") from None
        if threads > MOST_THREADS:
            raise ValueError("too many threads")
        arrays = {}
        for array in self._touched():
            try:
                shape = tuple(max(0, evaluate(extent, values)) for extent in array.shape)
            except TypeError:
                raise ValueError(f"the extent of {array.name} is computed") from None
            if prod(shape) * array.dtype.size > MOST_BYTES:
                raise ValueError("an array is too large")
            arrays[array.name] = self.memory.make(array, shape)
            if array.role is not Role.FAULT:
                arrays[array.name].put(_by_chance(array, shape, width))
        scalars = {p.name: 1 for e in entries for p in e.params if p.kind is KernelParamKind.VALUE}
        try:
            self.launch(Frame(arrays, values, {**scalars, **values}, iters))
        except DeviceFault as error:
            races = [finding for finding in error.findings if finding.kind.is_race]
            return (races or list(error.findings))[0].describe()
        finally:
            for name in arrays:
                self.memory.give_back(name)
        return None

    def _touched(self) -> Iterator[Array]:
        kinds = (KernelParamKind.ARRAY, KernelParamKind.FAULTS, KernelParamKind.STRIDE)
        names = {
            param.name
            for entry in self.program.source.launches(self.kernel.name)
            for param in entry.params
            if param.kind in kinds
        }
        return (array for array in self.program.arrays if array.name in names)


def kernels_alone(program: DeviceProgram, provider: Provider) -> dict[str, Alone]:
    """Return the kernels of a program by the names of their entries; compiles it."""
    entries = tuple(entry.name for entry in program.source.entries)
    module = provider.compile(program.text, entries, program.source.flags)
    memory = Memory(provider)
    device = _Device(program, provider, module, memory)
    return {
        entry.name: Alone(program, provider, memory, kernel, loops, device.launcher(kernel))
        for kernel, loops in _kernels(program.body, ())
        for entry in program.source.launches(kernel.name)
    }


def _kernels(body: Body, around: tuple[For, ...]) -> Iterator[tuple[Kernel, tuple[For, ...]]]:
    for node in body:
        if isinstance(node, Kernel):
            yield node, around
            continue
        inner = (*around, node) if isinstance(node, For) else around
        for part in bodies(node):
            yield from _kernels(part, inner)


def sizes_alone(
    names: Sequence[str], found: Sequence[str], small: Sequence[int], others: Sequence[int]
) -> list[dict[str, int]]:
    """Return sizes that are all alike, and with one or all of them larger.

    Those `found` on the way, as where a row begins, may be 0 or less, too.
    """
    plain = [dict.fromkeys((*names, *found), size) for size in small]
    one = [{**each, name: size} for size in others for each in plain for name in names]
    large = [dict.fromkeys((*names, *found), size) for size in others]
    below = [{**each, name: by * each[name]} for each in large for name in found for by in (0, -1)]
    return [*plain, *one, *large, *below]


def _by_chance(array: Array, shape: tuple[int, ...], width: int) -> np.ndarray:
    random = np.random.default_rng(3)
    kind = array.dtype.kind
    if kind in (Kind.SIGNED, Kind.UNSIGNED, Kind.BOOL):
        least = 1 - width if kind is Kind.SIGNED else 0
        most = 2 if kind is Kind.BOOL else min(width, 127)
        return random.integers(least, most, shape).astype(array.dtype.numpy)
    return random.random(shape).astype(array.dtype.numpy)
