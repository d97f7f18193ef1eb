"""Count the bank conflicts of a kernel's accesses to shared memory, warp by warp.

In: kernels.  Out: for every access of a shared array the wavefronts of its worst warp, those
without any conflict, and those without padding.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial

from polyopt.dataclass import dataclass, replace
from polyopt.emit.gpu.fragments import is_pair, is_transposed
from polyopt.emit.gpu.nests import ThreadNest, Unbounded, spans, thread_nest
from polyopt.emit.gpu.threads import outermost_nests
from polyopt.emit.regions import expressions
from polyopt.ir.array import Array, Turn
from polyopt.ir.banks import WORD, of_warps
from polyopt.ir.expr import Const, Expr, Iter, Load, add, substitute, walk
from polyopt.ir.integers import evaluate
from polyopt.ir.linear import linear
from polyopt.ir.loops import Assign, Body, DeclareArray, For, Kernel, LoopFunction, Space
from polyopt.ir.matrix import ROWS, MatrixTile, Operand, has_matrix, matrix_tile
from polyopt.ir.nodes import all_nodes, kernels_of, nodes_in_loops

WIDE = 16
"""Bytes that a thread reads or writes at once."""


@dataclass(frozen=True, slots=True)
class SharedAccess:
    """An access of a shared array: `width` bytes at once, `wavefronts` of the worst warp.

    `plain` counts those in rows that are neither padded nor swizzled.
    """

    kernel: str
    array: Array
    is_written: bool
    width: int
    wavefronts: int
    plain: int


def shared_accesses(fn: LoopFunction, pads: Mapping[str, int]) -> tuple[SharedAccess, ...]:
    """Return the accesses of shared arrays; `pads` has the elements that rows are padded by."""
    found: dict[SharedAccess, None] = {}
    for kernel in kernels_of(fn.body):
        arrays = {
            node.array.name: node.array
            for node in all_nodes(kernel.body)
            if isinstance(node, DeclareArray) and node.space is Space.SHARED
        }
        for nest in _nests(kernel.body):
            for access in _accesses(nest, arrays):
                array = arrays[access.array]
                one = _counted(kernel, nest, array, access, pads.get(array.name, 0))
                if one is not None:
                    found[one] = None
    return tuple(found)


@dataclass(frozen=True, slots=True)
class _Access:
    """A thread's access: `width` bytes from element `index` on."""

    array: str
    is_written: bool
    width: int
    index: Callable[[int], tuple[int, ...]]


def _accesses(nest: ThreadNest, arrays: Mapping[str, Array]) -> Iterator[_Access]:
    """Yield the accesses of a nest's threads to `arrays`."""
    if has_matrix(nest.body):
        tile = matrix_tile(nest.loops[0], nest.size, in_registers=False)
        for operand in (tile.left, tile.right):
            array = arrays.get(operand.load.array)
            if array is not None:
                yield _fragment(tile, operand, array, nest)
        return
    for load, inner, is_written in _loads(nest.body):
        array = arrays.get(load.array)
        if array is not None:
            width = _width(load, inner, array)
            yield _Access(array.name, is_written, width, partial(_index, load, nest, inner))


def _fragment(tile: MatrixTile, operand: Operand, array: Array, nest: ThreadNest) -> _Access:
    """Return how warps read the factors of one instruction: rows of 8, or each lane its own."""
    load, size = operand.load, array.dtype.size
    at_once = is_transposed(tile, load, operand, array)
    group, lane = (loop.iter for loop in tile.threads[-2:])

    def index(thread: int) -> tuple[int, ...]:
        values = _values(nest, thread)
        row, term = values[group], values[lane] * max(1, WORD // size)
        if at_once is not None:
            row, term = (0, thread % ROWS) if at_once else (thread % ROWS, 0)
        values[group] = values[lane] = 0
        values[tile.depth.iter] = term
        found = [evaluate(part, values) for part in load.index]
        found[operand.row] += row
        return tuple(found)

    width = WIDE if at_once is not None else WORD if is_pair(load, operand, array) else size
    return _Access(array.name, False, width, index)


def _nests(body: Body) -> Iterator[ThreadNest]:
    for loop in outermost_nests(body):
        with suppress(Unbounded):
            yield thread_nest(loop)


_Found = tuple[Load, tuple[For, ...], bool]


def _loads(body: Body) -> Iterator[_Found]:
    """Yield accesses, with the loops that the thread runs around them."""
    for around, node in nodes_in_loops(body):
        target = node.target if isinstance(node, Assign) else None
        for expr in expressions(node):
            for part in walk(expr):
                if isinstance(part, Load):
                    yield part, around, part is target


def _counted(
    kernel: Kernel, nest: ThreadNest, array: Array, access: _Access, pad: int
) -> SharedAccess | None:
    shape = [int(extent.value.real) for extent in array.shape if isinstance(extent, Const)]
    threads = min(kernel.threads, nest.size)

    def wavefronts(row: int, turn: Turn | None) -> int:
        def place(thread: int) -> int:
            return array.dtype.size * place_of(access.index(thread), [*shape[:-1], row], turn)

        return of_warps(place, access.width, threads)

    try:
        own, plain = wavefronts(shape[-1], array.turn), wavefronts(shape[-1] - pad, None)
    except (TypeError, KeyError):
        return None
    return SharedAccess(kernel.name, array, access.is_written, access.width, own, plain)


def place_of(index: tuple[int, ...], shape: Sequence[int], turn: Turn | None) -> int:
    """Return the number of the element that lies where the one with subscripts `index` does."""
    total = 0
    for subscript, extent in zip(index[:-1], shape[:-1], strict=True):
        total = total * extent + subscript
    column = index[-1]
    if turn is not None:
        column = turn.place(index[-1 - turn.back], column)
    return total * shape[-1] + column


def _width(load: Load, inner: tuple[For, ...], array: Array) -> int:
    """Return the bytes of a thread's access: contiguous elements, where rows keep them aligned."""
    size, row = array.dtype.size, array.shape[-1]
    lanes = WIDE // size
    kept = [int(row.value.real) if isinstance(row, Const) else 1]
    kept += [] if array.turn is None else [array.turn.group]
    *outer, last = (linear(_from_zero(index, inner)) for index in load.index)
    for loop in inner:
        count = min((n for _, n in spans(loop)), default=0)
        name = Iter(loop.iter)
        rest = [factor for atom, factor in last.terms if atom != name]
        if (
            dict(last.terms).get(name) == 1
            and not any(name in dict(index.terms) for index in outer)
            and all(n % lanes == 0 for n in (count, *kept, last.constant, *rest))
        ):
            return size * min(lanes, count) if count else size
    return size


def _from_zero(index: Expr, inner: tuple[For, ...]) -> Expr:
    """Return a subscript over iterators that are counted from where their loops start."""
    for loop in reversed(inner):
        index = substitute(index, {loop.iter: add(loop.lower, Iter(loop.iter))})
    return index


def _index(load: Load, nest: ThreadNest, inner: tuple[For, ...], thread: int) -> tuple[int, ...]:
    """Return the subscripts of the first element that a thread accesses."""
    values = _values(nest, thread)
    for loop in inner:
        values[loop.iter] = evaluate(loop.lower, values)
    return tuple(evaluate(part, values) for part in load.index)


def _values(nest: ThreadNest, thread: int) -> _Zero:
    """Return the iterators of a thread."""
    values = _Zero()
    for loop, extent in reversed(tuple(zip(nest.loops, nest.extents, strict=True))):
        values[loop.iter] = evaluate(loop.lower, _Zero()) + thread % extent * loop.step
        thread //= extent
    return values


class _Zero(dict[str, int]):
    """Values of names; 0 for others."""

    def __missing__(self, name: str) -> int:
        return 0


def conflict_lines(fn: LoopFunction, pads: Mapping[str, int]) -> tuple[str, ...]:
    """Return a line for every distinct access of a kernel to shared memory."""
    merged: dict[tuple[str, str, bool], SharedAccess] = {}
    for one in shared_accesses(fn, pads):
        key = (one.kernel, one.array.name, one.is_written)
        other = merged.get(key)
        if other is not None:
            one = replace(one, wavefronts=max(one.wavefronts, other.wavefronts),
                          plain=max(one.plain, other.plain),
                          width=min(one.width, other.width))  # fmt: skip
        merged[key] = one
    return tuple(_line(one, pads.get(one.array.name, 0)) for one in merged.values())


def _line(one: SharedAccess, pad: int) -> str:
    verb = "written" if one.is_written else "read"
    ways = _ways(one.wavefronts)
    text = f"{one.kernel}: {one.array.name}, {verb} {one.width} bytes a thread: {ways}"
    if one.plain == one.wavefronts:
        return text
    if pad:
        text += f"; rows padded by {pad}: {_ways(one.plain)} without"
    elif one.array.turn is not None:
        text += f"; groups of {one.array.turn.group} turned by `^`: {_ways(one.plain)} without"
    return text


def _ways(wavefronts: int) -> str:
    return "no bank conflicts" if wavefronts == 1 else f"{wavefronts}-way bank conflicts"
