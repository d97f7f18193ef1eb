"""Describe the properties of a device that a mapping depends on.

In: nothing.  Out: `GpuModel`, plain data.
"""

from __future__ import annotations

from polyopt.dataclass import dataclass
from polyopt.ir.target import Target


@dataclass(frozen=True, slots=True)
class GpuModel:
    """A device; the defaults are what every device of the last ten years has.

    `threads` is the maximum for a block, `block` the preferred number, `shared` the bytes of shared
    memory per block, `registers` the bytes of results that a thread keeps, `warp` the number of
    threads that access memory together, `processors` the number of blocks that run at the same
    time. `matrices`: warps have matrix instructions; such a device gives blocks `asked` bytes of
    shared memory when a launch asks for them.  `atomics`: it has atomic operations on 64 bits.
    `shuffles`: threads of a warp pass on values without memory and barriers.
    """

    threads: int = 1024
    block: int = 256
    shared: int = 48 * 1024
    registers: int = 256
    warp: int = 32
    processors: int = 64
    matrices: bool = False
    atomics: bool = True
    shuffles: bool = True
    asked: int = 64 * 1024

    @classmethod
    def of(cls, target: Target) -> GpuModel:
        """Return the devices that a target's text is for."""
        return cls(matrices=target.matrices, atomics=target.atomics, shuffles=target.shuffles)
