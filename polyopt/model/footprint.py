"""Which lines of memory loops touch.

In: nodes of the loop AST, ranges of the iterators around them.  Out: bytes in whole lines; of each
array the smaller of the box around all accesses and the sum of their own boxes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import prod

from polyopt.dataclass import dataclass, field
from polyopt.ir.array import Array
from polyopt.ir.expr import Expr, Iter, Load, VectorLoad, walk
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
    DeclareView,
    Fail,
    For,
    If,
    Kernel,
    Node,
    SetLocal,
    While,
)
from polyopt.ir.names import iterators
from polyopt.ir.source import Layout
from polyopt.ir.types import DType
from polyopt.model.amount import ONE, ZERO, Amount, amount, product, total
from polyopt.model.ranges import Range, Ranges, holds, point, range_of
from polyopt.never import assert_never

Box = tuple[Range, ...]


@dataclass
class Touched:
    """The boxes of an array that are read or written."""

    array: Array
    boxes: dict[tuple[tuple[float, float], ...], Box] = field(default_factory=dict)
    shares: dict[tuple[tuple[float, float], ...], float] = field(default_factory=dict)
    is_written: bool = False

    def add(self, access: Boxed) -> None:
        """Note an access."""
        key = tuple((r.low.value, r.high.value) for r in access.box)
        self.boxes.setdefault(key, access.box)
        self.shares[key] = max(access.share, self.shares.get(key, 0.0))
        self.is_written |= access.is_written

    def bytes(self, line: int) -> Amount:
        """Return the bytes of all touched lines."""
        boxes = list(self.boxes.values())
        apart = [_bytes(self.array, box, line) for box in boxes]
        hull = tuple(
            Range(min(r.low for r in side), max(r.high for r in side))
            for side in zip(*boxes, strict=True)
        )
        whole = _bytes(self.array, hull, line)
        parts = list(zip(apart, self.shares.values(), strict=True))
        shares = [share for size, share in parts if 2 * size.value >= whole.value]
        return min(total(size * share for size, share in parts), whole * max(shares, default=1.0))


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
    for access in accesses(body, Inside(dict(ranges), dict(ranges)), memory):
        array = memory.arrays[access.array]
        found.setdefault(array.name, Touched(array)).add(access)
    sizes = [(touched.bytes(memory.line), touched.is_written) for touched in found.values()]
    moved = total(size * 2 if is_written else size for size, is_written in sizes)
    return Footprint(total(size for size, _ in sizes), moved)


@dataclass(frozen=True, slots=True)
class Boxed:
    """An access of `array` with the box of subscripts that it runs through.

    It touches a `share` of the box: of a triangle half.
    """

    array: str
    box: Box
    is_written: bool
    share: float


@dataclass(frozen=True, slots=True)
class Length:
    """Iterations of a loop: all that there are, those in the middle of the loops `around`."""

    most: float
    middle: float
    around: frozenset[str]


@dataclass(frozen=True, slots=True)
class Inside:
    """Ranges of iterators, `middle` those in the middle of the loops around, and their lengths."""

    ranges: dict[str, Range]
    middle: dict[str, Range]
    lengths: dict[str, Length] = field(default_factory=dict)

    def enter(self, loop: For) -> bool:
        """Note a loop's iterator; tell whether the loop runs in the middle of those around."""
        whole, inner = iterations(loop, self.ranges), iterations(loop, self.middle)
        bounds = (*walk(loop.lower), *walk(loop.upper))
        named = {p.name for p in bounds if isinstance(p, Iter)} & self.lengths.keys()
        around = named.union(*(self.lengths[name].around for name in named))
        is_part = 0 < whole.length.value < 1  # the only tile is not full
        self.ranges[loop.iter] = point(whole.low) if is_part else whole
        self.middle[loop.iter] = point(inner.middle)
        self.lengths[loop.iter] = Length(whole.length.value, inner.length.value, frozenset(around))
        return inner.length.value > 0

    def note(self, node: Declare | SetLocal) -> None:
        """Note the value of a local."""
        note_local(node, self.ranges)
        note_local(node, self.middle)

    def share(self, load: Load | VectorLoad, sides: list[Range], line: int) -> float:
        """Return the part of an access's box that its instances are enough for.

        Along a diagonal each of them has a line of its own.
        """
        own = [iterators(index) & self.lengths.keys() for index in load.index]
        used = set[str]().union(*own)
        deciding = used.union(*(self.lengths[name].around for name in used))
        box = prod(max(1.0, self.lengths[name].most) for name in used)
        found = prod(max(1.0, self.lengths[name].middle) for name in deciding) / box
        if len(used) < sum(map(len, own)):
            cells = prod(max(1.0, side.length.value) for side in sides)
            found = min(found, box * line / (load.dtype.size * cells))
        return min(1.0, found)


def accesses(body: Body, inside: Inside, memory: Memory) -> Iterator[Boxed]:
    """Yield every access with the box of subscripts that it runs through."""
    for node in body:
        yield from _of_node(node, inside, memory)


def _of_node(node: Node, inside: Inside, memory: Memory) -> Iterator[Boxed]:
    match node:
        case For():
            if inside.enter(node):
                yield from accesses(node.body, inside, memory)
        case While() | Kernel():
            yield from accesses(node.body, inside, memory)
        case If():
            for branch in _branches(node, inside):
                yield from accesses(branch, inside, memory)
        case Assign():
            yield from _of_load(node.target, True, inside, memory)
            yield from _of_value(node.value, inside, memory)
        case Declare() | SetLocal():
            inside.note(node)
            yield from _of_value(node.value, inside, memory)
        case DeclareArray() | AllocateArray() | Comment() | Barrier() | Break() | Fail():
            pass
        case CallLibrary() | CommitCopies() | AwaitCopies() | DeclareView():
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


def _branches(node: If, inside: Inside) -> tuple[Body, ...]:
    """Return what runs in the middle; both branches where that is open."""
    match holds(node.condition, inside.middle):
        case None:
            return node.then, node.otherwise
        case known:
            return (node.then if known else node.otherwise,)


def _of_value(value: Expr, inside: Inside, memory: Memory) -> Iterator[Boxed]:
    for part in walk(value):
        if isinstance(part, Load | VectorLoad):
            yield from _of_load(part, False, inside, memory)


def _of_load(
    load: Load | VectorLoad, is_written: bool, inside: Inside, memory: Memory
) -> Iterator[Boxed]:
    array = memory.arrays.get(load.array)
    if array is None:
        return
    sides: list[Range] = []
    for index, extent in zip(load.index, array.shape, strict=True):
        length = range_of(extent, memory.sizes) or point(amount(GUESS))
        whole = Range(ZERO, length.high - ONE)
        known = range_of(index, inside.ranges) or whole
        if isinstance(load, VectorLoad) and len(sides) == len(array.shape) - 1:
            known = Range(known.low, known.high + amount(load.span - 1))
        # no access is outside of its array
        sides.append(Range(max(known.low, whole.low), min(known.high, whole.high)))
    yield Boxed(load.array, tuple(sides), is_written, inside.share(load, sides, memory.line))


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
