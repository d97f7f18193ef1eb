"""How many blocks of a kernel a multiprocessor holds at once, and what allows no more.

In: threads, registers and shared memory of a block; an architecture.  Out: `Occupancy`.
"""

from __future__ import annotations

from polyopt.dataclass import dataclass

_WARP = 32
_REGISTERS = 64 << 10
_PARTS = 4  # of a multiprocessor, each with its own registers
_AT_ONCE = 256  # registers are given to a warp in such portions, and shared memory in these:
_PORTION = 128


@dataclass(frozen=True, slots=True)
class Multiprocessor:
    """What one of an architecture has; `reserved` bytes of shared memory go to every block."""

    threads: int
    blocks: int
    shared: int
    reserved: int


MULTIPROCESSORS = {
    "sm_75": Multiprocessor(1024, 16, 64 << 10, 0),
    "sm_80": Multiprocessor(2048, 32, 164 << 10, 1 << 10),
    "sm_90": Multiprocessor(2048, 32, 228 << 10, 1 << 10),
}


@dataclass(frozen=True, slots=True)
class Occupancy:
    """`blocks` at once, their `threads` of those there is room for, and what is used up first."""

    arch: str
    blocks: int
    threads: int
    room: int
    limit: str

    def __str__(self) -> str:
        share = round(100 * self.threads / self.room)
        blocks = f"{self.blocks} block{'s' * (self.blocks != 1)}"
        return f"{self.arch}: {blocks}, {share} % of its threads, limited by {self.limit}"


def occupancy(arch: str, threads: int, registers: int, shared: int) -> Occupancy | None:
    """Return the occupancy of blocks that take so much, or None for an unknown architecture."""
    has = MULTIPROCESSORS.get(arch)
    if has is None:
        return None
    warps = -(-threads // _WARP)
    of_warp = -(-registers * _WARP // _AT_ONCE) * _AT_ONCE
    allowed = {"threads": has.threads // (warps * _WARP), "blocks": has.blocks}
    if of_warp:
        allowed["registers"] = _PARTS * (_REGISTERS // _PARTS // of_warp) // warps
    taken = -(-shared // _PORTION) * _PORTION + has.reserved
    if taken:
        allowed["shared memory"] = has.shared // taken
    limit = min(allowed, key=lambda what: allowed[what])
    blocks = allowed[limit]
    return Occupancy(arch, blocks, blocks * warps * _WARP, has.threads, limit)
