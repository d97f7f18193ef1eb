"""Which lines of memory loops touch.

In: nodes of the loop AST, ranges of the iterators around them.  Out: bytes in whole lines; of each
array the smaller of the box around all accesses and the sum of their own boxes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from polyopt.dataclass import dataclass, field
from polyopt.ir.array import Array
from polyopt.ir.expr import Expr, Load, VectorLoad, walk
from polyopt.ir.loops import (
    AllocateArray,
    Assign,
    AwaitCopies,
    Barrier,
    Body,
    Break,
    CallLibrary,
    Comment,
    CommitCopies,
    Declare,
    DeclareArray,
    Fail,
    For,
    If,
    Kernel,
    Node,
    SetLocal,
    While,
)
from polyopt.ir.source import Layout
from polyopt.ir.types import DType
from polyopt.model.amount import ONE, ZERO, Amount, amount, product, total
from polyopt.model.ranges import Range, Ranges, point, range_of
from polyopt.never import assert_never

Box = tuple[Range, ...]


@dataclass
class Touched:
    """The boxes of an array that are read or written."""

    array: Array
    boxes: dict[tuple[tuple[float, float], ...], Box] = field(default_factory=dict)
    is_written: bool = False

    def add(self, box: Box, is_written: bool) -> None:
        """Note an access."""
        key = tuple((r.low.value, r.high.value) for r in box)
        self.boxes.setdefault(key, box)
        self.is_written |= is_written

    def bytes(self, line: int) -> Amount:
        """Return the bytes of all touched lines."""
        boxes = list(self.boxes.values())
        apart = total(_bytes(self.array, box, line) for box in boxes)
        hull = tuple(
            Range(min(r.low for r in side), max(r.high for r in side))
            for side in zip(*boxes, strict=True)
        )
        return min(apart, _bytes(self.array, hull, line))


@dataclass(frozen=True, slots=True)
class Footprint:
    """Bytes of touched lines; `moved` counts those that are written twice: they go back."""

    size: Amount
    moved: Amount


@dataclass(frozen=True, slots=True)
class Memory:
    """Arrays by name, sizes' values, bytes of a line: what footprints are counted with."""

    arrays: Mapping[str, Array]
    sizes: Ranges
    line: int
    known: dict[object, Footprint] = field(default_factory=dict)  # by nodes and ranges


def footprint(body: Body, ranges: Ranges, memory: Memory) -> Footprint:
    """Return the bytes of all lines that running `body` once touches, each line once."""
    numbers = ((name, r.low.value, r.high.value) for name, r in ranges.items())
    key = (tuple(map(id, body)), frozenset(numbers))
    if key not in memory.known:
        memory.known[key] = _footprint(body, ranges, memory)
    return memory.known[key]


def _footprint(body: Body, ranges: Ranges, memory: Memory) -> Footprint:
    found: dict[str, Touched] = {}
    for access, box, is_written in accesses(body, dict(ranges), memory):
        array = memory.arrays[access.array]
        found.setdefault(array.name, Touched(array)).add(box, is_written)
    sizes = [(touched.bytes(memory.line), touched.is_written) for touched in found.values()]
    moved = total(size * 2 if is_written else size for size, is_written in sizes)
    return Footprint(total(size for size, _ in sizes), moved)


def accesses(
    body: Body, ranges: dict[str, Range], memory: Memory
) -> Iterator[tuple[Load | VectorLoad, Box, bool]]:
    """Yield every access with the box of subscripts that it runs through."""
    for node in body:
        yield from _of_node(node, ranges, memory)


def _of_node(
    node: Node, ranges: dict[str, Range], memory: Memory
) -> Iterator[tuple[Load | VectorLoad, Box, bool]]:
    match node:
        case For():
            ranges[node.iter] = iterations(node, ranges)
            yield from accesses(node.body, ranges, memory)
        case While() | Kernel():
            yield from accesses(node.body, ranges, memory)
        case If():
            yield from accesses(node.then, ranges, memory)
            yield from accesses(node.otherwise, ranges, memory)
        case Assign():
            yield from _of_load(node.target, True, ranges, memory)
            yield from _of_value(node.value, ranges, memory)
        case Declare() | SetLocal():
            note_local(node, ranges)
            yield from _of_value(node.value, ranges, memory)
        case DeclareArray() | AllocateArray() | Comment() | Barrier() | Break() | Fail():
            pass
        case CallLibrary() | CommitCopies() | AwaitCopies():
            pass
        case _:
            assert_never(node)


def note_local(node: Declare | SetLocal, ranges: dict[str, Range]) -> None:
    """Note the value of a whole number that subscripts and bounds may name."""
    if node.dtype is DType.INT64 and node.lanes == 1:
        known = range_of(node.value, ranges)
        if known is not None:
            ranges[node.name] = known


GUESS = 16
"""Iterations of a loop whose length only data tells."""


def iterations(loop: For, ranges: Ranges) -> Range:
    """Return the values of a loop's iterator."""
    low, high = range_of(loop.lower, ranges), range_of(loop.upper, ranges)
    if low is None or high is None:
        start = ZERO if low is None else low.low
        return Range(start, start + amount(GUESS - 1))
    return Range(low.low, max(high.high - ONE, low.low - ONE))


def _of_value(
    value: Expr, ranges: Ranges, memory: Memory
) -> Iterator[tuple[Load | VectorLoad, Box, bool]]:
    for part in walk(value):
        if isinstance(part, Load | VectorLoad):
            yield from _of_load(part, False, ranges, memory)


def _of_load(
    load: Load | VectorLoad, is_written: bool, ranges: Ranges, memory: Memory
) -> Iterator[tuple[Load | VectorLoad, Box, bool]]:
    array = memory.arrays.get(load.array)
    if array is None:
        return
    sides: list[Range] = []
    for index, extent in zip(load.index, array.shape, strict=True):
        length = range_of(extent, memory.sizes) or point(amount(GUESS))
        whole = Range(ZERO, length.high - ONE)
        known = range_of(index, ranges) or whole
        if isinstance(load, VectorLoad) and len(sides) == len(array.shape) - 1:
            known = Range(known.low, known.high + amount(load.span - 1))
        # no access is outside of its array
        sides.append(Range(max(known.low, whole.low), min(known.high, whole.high)))
    yield load, tuple(sides), is_written


def _bytes(array: Array, box: Box, line: int) -> Amount:
    """Return the bytes of the lines of a box: rows are contiguous."""
    if not box:
        return amount(line)
    sides = [side.length for side in box]
    if any(side.value <= 0 for side in sides):
        return ZERO
    if array.layout is Layout.STRIDED:
        return product(sides) * line
    row = sides[-1] * array.dtype.size
    segment = max(row, amount(line))  # a short row takes a line all the same
    return product(sides[:-1]) * segment
