"""The recorded graph: immutable nodes, one for each NumPy operation.

In: operations and their operands.  Out: `Node`; `reachable` lists a graph in recording order.
An operand is a node, a size, a constant, or a tuple, list or slice of operands.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

import numpy as np

from polyopt.dataclass import dataclass, field
from polyopt.errors import Loc
from polyopt.tracing.sizes import Extent, Shape, Size, Unknown, atoms

Array: TypeAlias = "np.ndarray[tuple[int, ...], np.dtype[np.generic]]"

BINARY = {
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "**",
    "and": "&", "or": "|", "xor": "^", "lshift": "<<", "rshift": ">>",
}  # fmt: skip
COMPARE = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}
"""Python's operators by the names of their methods."""

MOVES = frozenset([
    np.transpose, np.swapaxes, np.moveaxis, np.expand_dims, np.squeeze, np.reshape, np.ravel,
    np.broadcast_to, np.flip, np.flipud, np.fliplr, np.diagonal,
])  # fmt: skip
"""NumPy's functions that give views."""


@dataclass(frozen=True, slots=True)
class Placeholder:
    """An array that a call passes."""

    name: str


@dataclass(frozen=True, slots=True, eq=False)
class Captured:
    """A concrete array; its contents are those at the time of a call."""

    array: Array
    name: str | None


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a NumPy function."""

    function: Callable[..., object]


@dataclass(frozen=True, slots=True)
class Operator:
    """A Python operator: `text` as it is written, `function` what computes it."""

    text: str
    function: Callable[..., object]


@dataclass(frozen=True, slots=True)
class Method:
    """A call of an array method that has no function of its own; operand 0 is the array."""

    name: str


@dataclass(frozen=True, slots=True)
class Subscript:
    """`operand 0[operand 1]`."""


@dataclass(frozen=True, slots=True)
class Part:
    """Result number `position` of an operation with several."""

    position: int


@dataclass(frozen=True, slots=True)
class Store:
    """A copy of operand 0 in which the elements at operand 1 are operand 2."""


@dataclass(frozen=True, slots=True)
class SizeValue:
    """A size as a number."""

    size: Size


@dataclass(frozen=True, slots=True)
class Loops:
    """A comprehension: loops written out; operands are the arrays it reads."""

    nest: LoopNest


class LoopNest:
    """What a comprehension computes; its module knows how."""

    def define(self, name: str) -> list[str]:
        """Return the lines of a function of the operands."""
        raise NotImplementedError

    def evaluate(self, operands: Sequence[object]) -> Array:
        """Return the value by plain NumPy."""
        raise NotImplementedError


Op: TypeAlias = (
    "Placeholder | Captured | Call | Operator | Method | Subscript | Part | Store | SizeValue"
    " | Loops"
)


@dataclass(frozen=True, slots=True)
class Kind:
    """A value's shape and element type; `weak` tells a Python number (NEP 50)."""

    shape: Shape
    dtype: np.dtype[np.generic]
    weak: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """One operation; `kinds` are those of its results where it has several."""

    op: Op
    operands: tuple[object, ...]
    keywords: tuple[tuple[str, object], ...]
    kind: Kind
    loc: Loc | None
    kinds: tuple[Kind, ...] = ()
    serial: int = field(default_factory=itertools.count().__next__)

    @property
    def shape(self) -> Shape:
        """The extents."""
        return self.kind.shape

    @property
    def dtype(self) -> np.dtype[np.generic]:
        """The element type."""
        return self.kind.dtype

    def __repr__(self) -> str:
        return f"<Node {self.serial} {self.op}>"


def leaves(value: object) -> Iterator[object]:
    """Yield the nodes, sizes and constants in an operand."""
    match value:
        case tuple() | list():
            for part in value:
                yield from leaves(part)
        case slice(start=start, stop=stop, step=step):
            yield from leaves((start, stop, step))
        case dict():
            for part in value.values():
                yield from leaves(part)
        case _:
            yield value


def mapped(value: object, leaf: Callable[[object], object]) -> object:
    """Return an operand with `leaf` of each node, size and constant in it."""
    match value:
        case tuple():
            return tuple(mapped(part, leaf) for part in value)
        case list():
            return [mapped(part, leaf) for part in value]
        case slice(start=start, stop=stop, step=step):
            return slice(*(mapped(part, leaf) for part in (start, stop, step)))
        case _:
            return leaf(value)


def nodes_in(value: object) -> Iterator[Node]:
    """Yield the nodes that an operand needs, those whose extents its sizes mention included."""
    for leaf in leaves(value):
        if isinstance(leaf, Node):
            yield leaf
        elif isinstance(leaf, Size):
            yield from nodes_of_size(leaf)


def nodes_of_size(size: Extent) -> Iterator[Node]:
    """Yield the nodes whose extents a size mentions."""
    for part in atoms(size):
        if isinstance(part, Unknown):
            assert isinstance(part.node, Node)
            yield part.node


def sources(node: Node) -> Iterator[Node]:
    """Yield the nodes that `node` is computed from, once for each use."""
    if isinstance(node.op, SizeValue):
        yield from nodes_of_size(node.op.size)
    for operand in node.operands:
        yield from nodes_in(operand)
    for _, operand in node.keywords:
        yield from nodes_in(operand)


def reachable(outputs: Sequence[Node]) -> list[Node]:
    """Return all nodes that `outputs` need, in the order in which they were recorded."""
    found: dict[int, Node] = {}
    pending = list(outputs)
    while pending:
        node = pending.pop()
        if id(node) not in found:
            found[id(node)] = node
            pending += sources(node)
    return sorted(found.values(), key=lambda node: node.serial)
