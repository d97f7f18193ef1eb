"""Meshes of ranks, and the blocks of indices that they own.

In: extents of a mesh.  Out: coordinates of ranks; the first and the last index of each block.
"""

from __future__ import annotations

import math

from polyopt.dataclass import dataclass
from polyopt.errors import UsageError

Sign = tuple[int, ...]
"""How another rank lies to this one along each axis of the mesh: before (-1), level (0), after."""


@dataclass(frozen=True, slots=True)
class Mesh:
    """Ranks in a row or a grid, numbered like the elements of a C array."""

    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        """The number of ranks."""
        return math.prod(self.shape)

    @property
    def axes(self) -> int:
        """The number of axes."""
        return len(self.shape)

    def coordinates(self, rank: int) -> tuple[int, ...]:
        """Return where a rank lies."""
        found: list[int] = []
        for extent in reversed(self.shape):
            rank, place = divmod(rank, extent)
            found.append(place)
        return tuple(reversed(found))

    def sign(self, rank: int, other: int) -> Sign:
        """Return how `other` lies to `rank`."""
        pairs = zip(self.coordinates(rank), self.coordinates(other), strict=True)
        return tuple((b > a) - (b < a) for a, b in pairs)


def mesh(*shape: int) -> Mesh:
    """Return a mesh of so many ranks along each axis; raises `UsageError` PO0850.

    `po.mesh(4)` is a row of four ranks, `po.mesh(2, 3)` a grid of six.
    """
    if not shape or any(type(extent) is not int or extent < 1 for extent in shape):
        raise UsageError(
            "PO0850",
            f"a mesh of {', '.join(map(repr, shape)) or 'no'} ranks",
            hint="give the number of ranks along each axis, from 1: `po.mesh(4)`",
        )
    return Mesh(shape)


@dataclass(frozen=True, slots=True)
class Cyclic:
    """An array is cut along `axis` into blocks of `block` indices, which ranks get in turn."""

    axis: int
    block: int


def cyclic(axis: int, block: int = 1) -> Cyclic:
    """Return how to cut an array along `axis`: blocks of `block` indices, dealt to ranks in turn.

    For `shard=` of a kernel, where the work of an index depends on where it lies, as in
    factorizations of matrices.  Raises `UsageError` PO0853.
    """
    if type(axis) is not int or type(block) is not int or block < 1:
        raise UsageError(
            "PO0853",
            f"axis {axis!r} in blocks of {block!r} indices",
            hint="give an axis, and the length of blocks from 1: `po.cyclic(0, 32)`",
        )
    return Cyclic(axis, block)


def block(extent: int, parts: int, number: int) -> tuple[int, int]:
    """Return the first index of a block and the first one after it.

    Blocks follow one another; the first `extent % parts` are one longer than the others.
    """
    whole, longer = divmod(extent, parts)
    start = number * whole + min(number, longer)
    return start, start + whole + (number < longer)
