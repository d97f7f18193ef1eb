"""Layout: keep a temporary's elements in another order in memory.

In: a temporary, its new dimensions.  Out: the program with changed subscripts and extents.
Refuses: arguments of the program; dimensions that are left out or named twice.
"""

from __future__ import annotations

import re
from enum import Enum, unique

from polyopt.dataclass import dataclass, replace
from polyopt.errors import ScheduleError
from polyopt.ir.affine import condition_set
from polyopt.ir.array import Turn
from polyopt.ir.expr import Binary, BinaryOp, Compare, CompareOp, Expr, Load, add, integer, mul, sub
from polyopt.ir.linear import normalize
from polyopt.ir.scop import Array, Role, Scop
from polyopt.ir.types import DType
from polyopt.never import assert_never
from polyopt.schedule.data_steps import DataStep, RewrittenProgram
from polyopt.schedule.tree import Tree
from polyopt.transforms.accesses import find_array, redirected, refuse_found
from polyopt.transforms.written import Written


@unique
class Part(Enum):
    """The part of an old dimension in a new one."""

    WHOLE = ""  # its subscript
    PADDED = "+"  # its subscript; so many more elements are kept
    TILE = "/"  # the number of its tile
    POINT = "%"  # its place in the tile
    SKEWED = "@"  # its subscript, and `size` times that of another one
    SWIZZLED = "^"  # its subscript; in shared memory groups of `size` elements change places


@dataclass(frozen=True, slots=True)
class Dimension:
    """A new dimension: `1`, `0+8`, `0/32`, `0%32` or `1+2*0`, dimension 1 with twice 0 added.

    `1^8*0/2%4`: threads of a block keep element (r, c) at column `c ^ 8 * (r / 2 % 4)`.
    """

    old: int
    part: Part = Part.WHOLE
    size: int = 0
    by: int = 0
    rows: int = 0
    count: int = 0

    @property
    def moves(self) -> bool:
        """Whether its subscript is another than the old one."""
        return self.part not in (Part.WHOLE, Part.PADDED, Part.SWIZZLED)

    def index(self, old: tuple[Expr, ...]) -> Expr:
        """Return its subscript for the old ones."""
        value = old[self.old]
        match self.part:
            case Part.WHOLE | Part.PADDED | Part.SWIZZLED:
                return value
            case Part.TILE:
                return Binary(BinaryOp.FLOORDIV, value, integer(self.size), DType.INT64)
            case Part.POINT:
                return Binary(BinaryOp.MOD, value, integer(self.size), DType.INT64)
            case Part.SKEWED:
                return normalize(add(value, mul(integer(self.size), old[self.by])))
            case _:
                assert_never(self.part)

    def extent(self, old: tuple[Expr, ...]) -> Expr:
        """Return its extent for the old ones."""
        value = old[self.old]
        match self.part:
            case Part.WHOLE | Part.SWIZZLED:
                return value
            case Part.PADDED:
                return normalize(add(value, integer(self.size)))
            case Part.TILE:
                whole = normalize(add(value, integer(self.size - 1)))
                return Binary(BinaryOp.FLOORDIV, whole, integer(self.size), DType.INT64)
            case Part.POINT:
                return integer(self.size)
            case Part.SKEWED:
                most = sub(old[self.by], integer(1))
                return normalize(add(value, mul(integer(self.size), most)))
            case _:
                assert_never(self.part)

    def __str__(self) -> str:
        if self.part is Part.SWIZZLED:
            return f"{self.old}^{self.size}*{self.by}/{self.rows}%{self.count}"
        if self.part is Part.SKEWED:
            return f"{self.old}+{self.size}*{self.by}"
        return f"{self.old}{self.part.value}{self.size if self.size else ''}"


def refuse_incomplete(dimensions: tuple[Dimension, ...], array: Array, step: str) -> None:
    """Raise `ScheduleError` PO0335 where a dimension of `array` is left out or named twice."""
    if not _is_complete(dimensions, len(array.shape)):
        raise ScheduleError(
            "PO0335",
            f"{step}: {array.name} has {len(array.shape)} dimensions, and each has to be kept once",
            hint="name each dimension once, or as a tile and a point: 0/32 and 0%32",
        )


def _is_complete(dimensions: tuple[Dimension, ...], rank: int) -> bool:
    if rank == 0 or any(d.old >= rank for d in dimensions):
        return False
    whole = [d.old for d in dimensions if d.part in (Part.WHOLE, Part.PADDED)]
    if any(d.part in (Part.SKEWED, Part.SWIZZLED) and d.by not in whole for d in dimensions):
        return False
    for old in range(rank):
        parts = sorted((d.part.value, d.size) for d in dimensions if d.old == old)
        match parts:
            case [("" | "+" | "@" | "^", _)]:
                continue
            case [("%", point), ("/", tile)] if point == tile:
                continue
            case _:
                return False
    return True


def _fits(scop: Scop, array: str, at: int, extent: Expr) -> bool:
    """Tell whether subscript `at` of all accesses to `array` stays below `extent`, as of rows of a
    triangle that are skewed into a square."""
    for statement in scop.statements:
        space = statement.domain.get_space()
        for access in (statement.write, *statement.reads):
            if access.array == array:
                beyond = condition_set(Compare(CompareOp.GE, access.index[at], extent), space)
                inside = statement.domain.intersect_params(scop.context)
                if not inside.is_disjoint(beyond):
                    return False
    return True


def turn_of(dimensions: tuple[Dimension, ...], shape: tuple[Expr, ...], step: str) -> Turn | None:
    """Return the swizzle of rows of `shape`; raises `ScheduleError` PO0335."""
    turned = [d for d in dimensions if d.part is Part.SWIZZLED]
    if not turned:
        return None
    last = dimensions[-1]
    by = next(at for at, d in enumerate(dimensions) if d.old == turned[0].by)
    turn = Turn(last.size, len(dimensions) - 1 - by, last.rows, last.count)
    if turned != [last] or not turn.fits(shape):
        raise ScheduleError(
            "PO0335",
            f"{step}: {turned[0]} does not give each row all of its elements",
            hint="turn the last dimension, by powers of two: groups of neighbours, rows, and how "
            "many groups; a row has a constant number of elements, a multiple of group times count",
        )
    return turn


_TURNED = re.compile(
    r"([0-9]{1,2})\s*\^\s*([0-9]{1,4})\s*\*\s*([0-9]{1,2})\s*/\s*([0-9]{1,4})\s*%\s*([0-9]{1,4})"
)
_DIMENSION = re.compile(r"([0-9]{1,2})\s*(?:([+/%])\s*([0-9]{1,9})(?:\s*\*\s*([0-9]{1,2}))?)?")


def read_dimension(text: str) -> Dimension | None:
    """Return the dimension written in a step, or None.

    >>> read_dimension("0/32")
    Dimension(old=0, part=<Part.TILE: '/'>, size=32, by=0, rows=0, count=0)
    """
    turned = _TURNED.fullmatch(text)
    if turned is not None:
        old, group, by, rows, count = map(int, turned.groups())
        return Dimension(old, Part.SWIZZLED, group, by, rows, count)
    found = _DIMENSION.fullmatch(text)
    if found is None:
        return None
    size = int(found[3] or 0)
    if found[2] and size < 1:
        return None
    if found[4] is not None:
        return (
            Dimension(int(found[1]), Part.SKEWED, size, int(found[4])) if found[2] == "+" else None
        )
    return Dimension(int(found[1]), Part(found[2] or ""), size)


@dataclass(frozen=True, slots=True)
class LayOut(DataStep, Written):
    """Store `array` with the dimensions given: `layout(T, 1, 0)` is its transpose in memory.

    `0/32` and `0%32` together store dimension 0 in tiles, `1+8` pads dimension 1 by 8 elements.
    `1^8*0/2%4` swizzles rows in shared memory: element (r, c) lies at column `c ^ 8 * (r / 2 % 4)`,
    so that a column's elements lie in different banks.
    """

    array: str
    dimensions: tuple[Dimension, ...]

    def renew(self, tree: Tree, scop: Scop) -> RewrittenProgram:
        """Return the changed program; raises `ScheduleError` PO0331, PO0332, PO0335."""
        array = find_array(scop, self.array, str(self), (Role.TEMP,))
        refuse_incomplete(self.dimensions, array, str(self))

        if any(at != d.old or d.moves for at, d in enumerate(self.dimensions)):
            refuse_found(scop.statements, array.name, str(self))

        def place(index: tuple[Expr, ...]) -> Load:
            found = tuple(d.index(index) for d in self.dimensions)
            return Load(array.name, found, array.dtype)

        statements = tuple(redirected(s, array.name, place) for s in scop.statements)
        made = replace(scop, statements=statements)
        shape = tuple(
            array.shape[d.old]
            if d.part is Part.SKEWED and _fits(made, array.name, at, array.shape[d.old])
            else d.extent(array.shape)
            for at, d in enumerate(self.dimensions)
        )
        turn = turn_of(self.dimensions, shape, str(self))
        laid = replace(array, shape=shape, turn=turn)
        arrays = tuple(laid if a is array else a for a in scop.arrays)
        return RewrittenProgram(replace(scop, arrays=arrays, statements=statements), tree)
