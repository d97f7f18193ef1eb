"""Large graphs in segments: the time to schedule a kernel grows faster than its statements.

In: the nodes of a graph.  Out: `Segment`s in order; those of a repeated model have the same text.
Integer subscripts of arrays are left to the caller, which takes them as views.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from polyopt.dataclass import dataclass
from polyopt.never import assert_never
from polyopt.tracing.nodes import (
    MOVES,
    Call,
    Captured,
    Loops,
    Method,
    Node,
    Operator,
    Part,
    Placeholder,
    SizeValue,
    Store,
    Subscript,
    sources,
)

WHOLE = 40  # statements of a graph that is compiled in one piece
TARGET = 16  # statements of a segment
LONGEST_PERIOD = 400


@dataclass(frozen=True, slots=True, eq=False)
class Segment:
    """Nodes computed together from `inputs`; `outputs` are needed later."""

    nodes: tuple[Node, ...]
    inputs: tuple[Node, ...]
    outputs: tuple[Node, ...]


def segmented(order: Sequence[Node], outputs: Sequence[Node]) -> tuple[Segment, ...] | None:
    """Return the segments of a large graph, None for one that is compiled whole."""
    work = [node for node in order if not is_leaf(node) and not node.kind.weak]
    if sum(map(_cost, work)) <= WHOLE:
        return None
    work = [node for node in work if not is_row(node)]
    parts = _cut(work)
    place = {id(node): number for number, part in enumerate(parts) for node in part}
    last: dict[int, int] = {id(node): len(parts) for node in outputs}
    needs = [_needed(part) for part in parts]
    for number, (_, inputs) in enumerate(needs):
        for node in inputs:
            origin = _array_of(node)
            last[id(origin)] = max(last.get(id(origin), 0), number)
    for node in outputs:
        last[id(_array_of(node))] = len(parts)
    result = []
    for number, (part, (nodes, inputs)) in enumerate(zip(parts, needs, strict=True)):
        leaving = tuple(n for n in part if last.get(id(n), -1) > number and place[id(n)] == number)
        result.append(Segment(nodes, inputs, leaving))
    return tuple(segment for segment in result if segment.outputs)


def is_leaf(node: Node) -> bool:
    """Whether the node is given, not computed."""
    return isinstance(node.op, Placeholder | Captured)


def is_row(node: Node) -> bool:
    """Whether the node is `array[3]` or `array[3, 4]`: a contiguous view that costs nothing."""
    if not isinstance(node.op, Subscript) or node.shape == ():
        return False
    key = node.operands[1]
    return all(type(part) is int for part in (key if isinstance(key, tuple) else (key,)))


def _array_of(node: Node) -> Node:
    """Return the array whose rows are taken."""
    while is_row(node):
        base = node.operands[0]
        assert isinstance(base, Node)
        node = base
    return node


def _cost(node: Node) -> float:
    """Return about how many statements a node becomes; chains of elementwise ones share one."""
    match node.op:
        case Operator(text="@") | Loops() | Store():
            return 2
        case Call(function=np.ufunc() as function):
            return 2 if function is np.matmul else 0.1
        case Call(function=function):
            return 0.1 if function in MOVES else 2
        case Operator() | Subscript() | Part() | Method() | SizeValue():
            return 0.1
        case Placeholder() | Captured():
            return 0
        case _:
            assert_never(node.op)


def _needed(part: Sequence[Node]) -> tuple[tuple[Node, ...], tuple[Node, ...]]:
    """Return the nodes of a segment, Python numbers that it uses included, and its inputs."""
    own = {id(node): node for node in part}
    inputs: dict[int, Node] = {}
    pending = list(part)
    while pending:
        for source in sources(pending.pop()):
            if id(source) in own or id(source) in inputs:
                continue
            if source.kind.weak:
                own[id(source)] = source
                pending.append(source)
            else:
                inputs[id(source)] = source
    by_serial = sorted(own.values(), key=lambda node: node.serial)
    return tuple(by_serial), tuple(sorted(inputs.values(), key=lambda node: node.serial))


# -- where to cut -----------------------------------------------------------------------------


def _cut(work: Sequence[Node]) -> list[list[Node]]:
    """Divide the nodes where the model repeats itself, or after about `TARGET` statements."""
    start, period = _repetition([_signature(node) for node in work])
    parts: list[list[Node]] = [[]]
    cost = 0.0
    for number, node in enumerate(work):
        full = cost >= TARGET
        if period and number >= start:
            at_edge = (number - start) % period == 0
            full = at_edge and (full or number == start)
        if full and parts[-1] and not isinstance(node.op, Part):
            parts.append([])
            cost = 0.0
        parts[-1].append(node)
        cost += _cost(node)
    return parts


def _signature(node: Node) -> Hashable:
    function = getattr(node.op, "function", None)
    return type(node.op), function, node.dtype.str, len(node.shape)


def _repetition(signs: Sequence[Hashable]) -> tuple[int, int]:
    """Return where a repeated pattern begins and its length, (0, 0) if there is none."""
    count = len(signs)
    for period in range(1, min(LONGEST_PERIOD, count // 3) + 1):
        same = [a == b for a, b in zip(signs, signs[period:], strict=False)]
        if sum(same) < 0.8 * len(same):
            continue
        run = 0
        for number, equal in enumerate(same):
            run = run + 1 if equal else 0
            if run == period:
                return number + 1 - period, period
    return 0, 0
