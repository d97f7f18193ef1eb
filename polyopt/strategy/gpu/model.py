"""The numbers of a device that decide how loops are mapped to it.

In: nothing.  Out: `GpuModel`, plain data.
"""

from __future__ import annotations

from polyopt.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class GpuModel:
    """A device; the defaults are what every device of the last ten years has.

    `threads` is the most a block may have, `block` how many it should have, `shared` the bytes
    that a block's threads share, `registers` the bytes of results that a thread keeps, `warp` how
    many neighbours access memory together, `processors` how many blocks run at the same time.
    `matrices`: warps have instructions for products of small matrices; such a device gives blocks
    `asked` bytes to share when a launch asks for them.  `atomics`: it updates numbers of 64 bits by
    atomic operations.
    """

    threads: int = 1024
    block: int = 256
    shared: int = 48 * 1024
    registers: int = 256
    warp: int = 32
    processors: int = 64
    matrices: bool = False
    atomics: bool = True
    asked: int = 64 * 1024
