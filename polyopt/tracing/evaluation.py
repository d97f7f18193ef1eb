"""The oracle: a graph evaluated node by node by NumPy.

In: nodes in order, arrays for the inputs.  Out: arrays for the outputs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from polyopt.never import assert_never
from polyopt.tracing.nodes import (
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
    mapped,
)
from polyopt.tracing.sizes import Extent, Size, Unknown, value_of


def evaluate(
    order: Sequence[Node], inputs: Mapping[int, object], names: Mapping[str, int]
) -> dict[int, object]:
    """Return the value of every node by the node's id."""
    values: dict[int, object] = dict(inputs)
    with np.errstate(all="ignore"):
        for node in order:
            if id(node) not in values:
                values[id(node)] = _value(node, values, names)
    return values


def _value(node: Node, values: Mapping[int, object], names: Mapping[str, int]) -> object:
    operands: Any = [_operand(value, values, names) for value in node.operands]
    keywords = {key: _operand(value, values, names) for key, value in node.keywords}
    match node.op:
        case Captured(array=held):
            return held
        case Call(function=function) | Operator(function=function):
            return function(*operands, **keywords)
        case Method(name=name):
            return getattr(np.asarray(operands[0]), name)(*operands[1:])
        case Subscript():
            array, key = operands
            return array[key]
        case Part(position=position):
            return operands[0][position]
        case Store():
            array, key, value = operands
            copy = np.array(array)
            copy[key] = value
            return copy
        case SizeValue(size=size):
            return _extent(size, values, names)
        case Loops(nest=nest):
            return nest.evaluate(operands)
        case Placeholder(name=name):
            raise KeyError(name)
        case _:
            assert_never(node.op)


def _operand(value: object, values: Mapping[int, object], names: Mapping[str, int]) -> object:
    def leaf(part: object) -> object:
        match part:
            case Node():
                return values[id(part)]
            case Size():
                return _extent(part, values, names)
            case _:
                return part

    return mapped(value, leaf)


def _extent(extent: Extent, values: Mapping[int, object], names: Mapping[str, int]) -> int:
    def shape_of(part: Unknown) -> int:
        return np.shape(values[id(part.node)])[part.dim]  # type: ignore[call-overload, no-any-return]

    found = value_of(extent, names, shape_of)
    assert found is not None
    return found
