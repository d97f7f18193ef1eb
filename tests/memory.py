"""How many bytes the temporaries of compiled loops take, compared with what they may take.

In: a program, its final loops.  Out: nothing, or an AssertionError that names sizes and arrays.
Formulas are evaluated at sizes of which one at a time is a million times the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import prod

from polyopt.emit.peaks import Allocation, StorageClass, allocations
from polyopt.ir.expr import Expr, Iter, Param, Symbol, rewrite, walk
from polyopt.ir.integers import evaluate
from polyopt.ir.loops import LoopFunction
from polyopt.ir.program import Program
from polyopt.ir.scop import Array, Role

SIZE, LARGE = 1000, 10**9
ROWS = 4096
"""Elements of a row that temporaries may have for each element of a row of the program."""
OF_CALL = (StorageClass.HEAP, StorageClass.DEVICE)


def assert_bounded(program: Program, loops: LoopFunction, times: float = 1.0) -> None:
    """Assert that temporaries take `times` the program's own arrays, and some rows, at most.

    Those that a thread has are a part of the program's arrays each.
    """
    own = {array.name: array for array in program.arrays if array.role is not Role.FAULT}
    found = [one for one in allocations(loops) if not _is_own(one, own)]
    for sizes in _growing([*own.values(), *(one.array for one in found)]):
        limit = times * sum(_bytes(array, sizes) for array in own.values())
        rows = ROWS * (1 + sum(_row(array, sizes) for array in own.values()))
        whole = [one.array for one in found if one.storage in OF_CALL]
        taken = sum(_bytes(array, sizes) for array in whole)
        assert taken <= limit + rows, _told(whole, sizes)
        for one in found:
            assert _bytes(one.array, sizes) <= limit + rows, _told([one.array], sizes)


def _is_own(one: Allocation, own: Mapping[str, Array]) -> bool:
    """Tell whether the source has the array, and as large."""
    same = own.get(one.array.name)
    return one.storage in OF_CALL and same is not None and same.shape == one.array.shape


def _growing(arrays: Iterable[Array]) -> Iterable[dict[str, int]]:
    extents = [extent for array in arrays for extent in array.shape]
    parts = [part for extent in extents for part in walk(extent)]
    names = sorted({part.name for part in parts if isinstance(part, Param | Symbol | Iter)})
    yield dict.fromkeys(names, SIZE)
    for large in names:
        yield {name: LARGE if name == large else SIZE for name in names}


def _extents(array: Array, sizes: Mapping[str, int]) -> list[int]:
    return [max(evaluate(rewrite(extent, _named), sizes), 0) for extent in array.shape]


def _named(part: Expr) -> Expr | None:
    """Return a size that is found on the way as a parameter."""
    return Param(part.name) if isinstance(part, Symbol) else None


def _bytes(array: Array, sizes: Mapping[str, int]) -> int:
    return array.dtype.size * prod(_extents(array, sizes))


def _row(array: Array, sizes: Mapping[str, int]) -> int:
    """Return the elements of the largest row, plane or the like, of a vector all."""
    extents = sorted(_extents(array, sizes))
    return prod(extents[1:] if len(extents) > 1 else extents)


def _told(arrays: Iterable[Array], sizes: Mapping[str, int]) -> str:
    shapes = {array.name: _extents(array, sizes) for array in arrays}
    return f"at {dict(sizes)}: {shapes}"
