"""Bank conflicts of a kernel's accesses to shared memory, counted warp by warp.

In: kernels.  Out: for every access of a shared array how many turns its worst warp takes, for one
where there are no conflicts; what it would take without padding.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from polyopt.emit.gpu.nests import ThreadNest, Unbounded, spans, thread_nest
from polyopt.emit.nodes import expressions, nested
from polyopt.emit.regions import nodes
from polyopt.ir.array import Array
from polyopt.ir.banks import of_warps
from polyopt.ir.expr import Const, Expr, Iter, Load, add, evaluate, linear, substitute, walk
from polyopt.ir.loops import Assign, Body, DeclareArray, For, Kernel, LoopFunction, LoopKind, Space

WIDE = 16
"""Bytes that a thread reads or writes at once."""


@dataclass(frozen=True, slots=True)
class Shared:
    """An access of a shared array: `width` bytes at once, `turns` of the worst warp.

    `unpadded` is what it would take in rows without padding.
    """

    kernel: str
    array: Array
    is_written: bool
    width: int
    turns: int
    unpadded: int


def shared_accesses(fn: LoopFunction, pads: Mapping[str, int]) -> tuple[Shared, ...]:
    """Return the accesses of shared arrays; `pads` has the elements that rows are padded by."""
    found: dict[Shared, None] = {}
    for kernel in (node for node in nodes(fn.body) if isinstance(node, Kernel)):
        arrays = {
            node.array.name: node.array
            for node in nodes(kernel.body)
            if isinstance(node, DeclareArray) and node.space is Space.SHARED
        }
        for nest in _nests(kernel.body):
            for load, inner, written in _loads(nest.body, ()):
                array = arrays.get(load.array)
                if array is not None:
                    pad = pads.get(array.name, 0)
                    one = _counted(kernel, nest, array, load, inner, written, pad)
                    if one is not None:
                        found[one] = None
    return tuple(found)


def _nests(body: Body) -> Iterator[ThreadNest]:
    for node in body:
        if isinstance(node, For) and node.kind is LoopKind.THREAD:
            try:
                yield thread_nest(node)
            except Unbounded:
                continue
        else:
            for part in nested(node):
                yield from _nests(part)


_Found = tuple[Load, tuple[For, ...], bool]


def _loads(body: Body, inner: tuple[For, ...]) -> Iterator[_Found]:
    """Yield accesses, with the loops that the thread runs around them."""
    for node in body:
        target = node.target if isinstance(node, Assign) else None
        for expr in expressions(node):
            for part in walk(expr):
                if isinstance(part, Load):
                    yield part, inner, part is target
        around = (*inner, node) if isinstance(node, For) else inner
        for part_ in nested(node):
            yield from _loads(part_, around)


def _counted(
    kernel: Kernel, nest: ThreadNest, array: Array, load: Load, inner: tuple[For, ...],
    is_written: bool, pad: int,
) -> Shared | None:  # fmt: skip
    shape = [int(extent.value.real) for extent in array.shape if isinstance(extent, Const)]
    size = array.dtype.size
    width = _width(load, inner, shape, size)

    def turns(row: int) -> int:
        return of_warps(
            lambda t: size * _place(load, nest, inner, [*shape[:-1], row], t), width, threads
        )

    threads = min(kernel.threads, nest.size)
    try:
        own, plain = turns(shape[-1]), turns(shape[-1] - pad)
    except (TypeError, KeyError):
        return None
    return Shared(kernel.name, array, is_written, width, own, plain)


def _width(load: Load, inner: tuple[For, ...], shape: list[int], size: int) -> int:
    """Return the bytes that a thread touches at once: neighbours, where rows keep them aligned."""
    lanes = WIDE // size
    *outer, last = (linear(_from_zero(index, inner)) for index in load.index)
    for loop in inner:
        count = min((n for _, n in spans(loop)), default=0)
        name = Iter(loop.iter)
        rest = [factor for atom, factor in last.terms if atom != name]
        if (
            dict(last.terms).get(name) == 1
            and not any(name in dict(index.terms) for index in outer)
            and all(n % lanes == 0 for n in (count, shape[-1], last.constant, *rest))
        ):
            return size * min(lanes, count) if count else size
    return size


def _from_zero(index: Expr, inner: tuple[For, ...]) -> Expr:
    """Return a subscript over iterators that are counted from where their loops start."""
    for loop in reversed(inner):
        index = substitute(index, {loop.iter: add(loop.lower, Iter(loop.iter))})
    return index


def _place(
    load: Load, nest: ThreadNest, inner: tuple[For, ...], shape: list[int], thread: int
) -> int:
    """Return the number of the element that a thread touches first."""
    values = _Zero()
    number = thread
    for loop, extent in reversed(tuple(zip(nest.loops, nest.extents, strict=True))):
        values[loop.iter] = evaluate(loop.lower, _Zero()) + number % extent * loop.step
        number //= extent
    for loop in inner:
        values[loop.iter] = evaluate(loop.lower, values)
    total = 0
    for index, extent in zip(load.index, shape, strict=True):
        total = total * extent + evaluate(index, values)
    return total


class _Zero(dict[str, int]):
    """Values of names; 0 for others."""

    def __missing__(self, name: str) -> int:
        return 0


def conflict_lines(fn: LoopFunction, pads: Mapping[str, int]) -> tuple[str, ...]:
    """Return a line for every way in which a kernel touches shared memory."""
    merged: dict[tuple[str, str, bool], Shared] = {}
    for one in shared_accesses(fn, pads):
        key = (one.kernel, one.array.name, one.is_written)
        other = merged.get(key)
        if other is not None:
            one = replace(one, turns=max(one.turns, other.turns),
                          unpadded=max(one.unpadded, other.unpadded),
                          width=min(one.width, other.width))  # fmt: skip
        merged[key] = one
    return tuple(_line(one, pads.get(one.array.name, 0)) for one in merged.values())


def _line(one: Shared, pad: int) -> str:
    verb = "written" if one.is_written else "read"
    text = f"{one.kernel}: {one.array.name}, {verb} {one.width} bytes a thread: {_ways(one.turns)}"
    if pad and one.unpadded != one.turns:
        text += f"; rows padded by {pad}: {_ways(one.unpadded)} without"
    return text


def _ways(turns: int) -> str:
    return "no bank conflicts" if turns == 1 else f"{turns}-way bank conflicts"
