"""From a graph to kernels, and a call from kernel to kernel.

In: a graph.  Out: `Stage`s; the values of the outputs for arrays.
Errors of the compiler point at the line that recorded the operation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from importlib import import_module
from typing import Any

import numpy as np

import polyopt
from polyopt.api import Kernel
from polyopt.capture.text import function_of_text
from polyopt.compiled import CompiledKernel
from polyopt.dataclass import dataclass
from polyopt.decorator import kernel
from polyopt.errors import Loc, PolyoptError
from polyopt.frontend.syntax.argtypes import ArgType, ArrayType, ScalarType
from polyopt.ir.source import Layout
from polyopt.ir.types import dtype_of
from polyopt.never import assert_never
from polyopt.runtime.store import digest
from polyopt.specialize import array_type
from polyopt.tracing.nodes import (
    Call,
    Captured,
    Kind,
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
    reachable,
    sources,
)
from polyopt.tracing.program import Program, names_needed, names_told, write
from polyopt.tracing.segments import segmented
from polyopt.tracing.sizes import Extent, Size, Unknown, value_of


@dataclass(frozen=True, slots=True, eq=False)
class Stage:
    """A part of a graph as a kernel."""

    program: Program
    kernel: Kernel[..., Any]
    compiled: CompiledKernel


class Graph:
    """Inputs, outputs, and all nodes in the order of recording."""

    def __init__(self, inputs: Sequence[Node], outputs: Sequence[Node]) -> None:
        self.inputs = tuple(inputs)
        self.outputs = tuple(outputs)
        self.order = tuple(reachable(outputs))

    @property
    def captured(self) -> tuple[Node, ...]:
        """The nodes of concrete arrays."""
        return tuple(node for node in self.order if isinstance(node.op, Captured))

    def run(
        self, stages: Sequence[Stage], given: Sequence[object], sizes: Mapping[str, int]
    ) -> tuple[object, ...]:
        """Return the outputs: what the stages leave open is evaluated by NumPy."""
        values = {id(node): value for node, value in zip(self.inputs, given, strict=True)}
        for stage in stages:
            program = stage.program
            arguments = _take(program.parameters, values, sizes)
            with user_places(program):
                found = stage.kernel(*(_scalar_or_array(value) for value in arguments))
            results = found if len(program.outputs) != 1 else (found,)
            values.update((id(n), v) for n, v in zip(program.outputs, results, strict=True))
        return tuple(_take(self.outputs, values, sizes))


def _take(
    nodes: Sequence[Node], values: dict[int, object], sizes: Mapping[str, int]
) -> list[object]:
    """Return the values of nodes, computing those that no stage did."""
    missing: dict[int, Node] = {}
    pending = list(nodes)
    while pending:
        node = pending.pop()
        if id(node) not in values and id(node) not in missing:
            missing[id(node)] = node
            pending += sources(node)
    if missing:
        order = sorted(missing.values(), key=lambda node: node.serial)
        values = evaluate(order, values, sizes)
    return [values[id(node)] for node in nodes]


def _scalar_or_array(value: object) -> object:
    """Arrays of rank 0 are passed as numbers."""
    return value[()] if isinstance(value, np.ndarray) and value.ndim == 0 else value


# -- compilation ------------------------------------------------------------------------------


def build(name: str, graph: Graph, options: Mapping[str, object]) -> tuple[Stage, ...]:
    """Return the stages of a graph: one kernel, or several of a large graph."""
    segments = segmented(graph.order, graph.outputs)
    if segments is None:
        parameters = (*graph.inputs, *graph.captured)
        return (_stage(write(name, parameters, graph.outputs, graph.order), options),)
    stages = []
    for segment in segments:
        parameters = _with_sizes(segment.inputs, segment.nodes, graph.inputs)
        program = write(name, parameters, segment.outputs, segment.nodes, numbered=True)
        stages.append(_stage(program, options))
    return tuple(stages)


def _with_sizes(
    inputs: Sequence[Node], nodes: Sequence[Node], placeholders: Sequence[Node]
) -> tuple[Node, ...]:
    """Return the inputs, and placeholders that tell sizes which the inputs do not."""
    found = list(inputs)
    needed = names_needed(nodes) - names_told(found)
    for node in placeholders:
        if needed & names_told([node]):
            needed -= names_told([node])
            found.append(node)
    return tuple(found)


def _stage(program: Program, options: Mapping[str, object]) -> Stage:
    with user_places(program):
        made = _kernel(program.name, program.text, _options_key(options), _Handed(options, program))
        return Stage(program, made, made.compile(*map(_declared, program.parameters)))


def _declared(node: Node) -> ArgType:
    """Return the type a parameter is compiled for first."""
    if isinstance(node.op, Captured) and node.shape:
        return array_type("c", node.op.array)
    return _type_of(node.kind)


def _type_of(kind: Kind) -> ArgType:
    dtype = dtype_of(kind.dtype)
    if kind.shape == ():
        return ScalarType(dtype, weak=dtype.value == "bool")
    ones = tuple(extent == 1 for extent in kind.shape)
    return ArrayType(dtype, len(kind.shape), Layout.C, ones)


class _Handed:
    """What a cached constructor needs besides its key."""

    def __init__(self, options: Mapping[str, object], program: Program) -> None:
        self.options = options
        self.program = program

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _Handed):
            return NotImplemented
        mine, theirs = self.program.others, other.program.others
        return mine.keys() == theirs.keys() and all(mine[key] is theirs[key] for key in mine)

    def __hash__(self) -> int:
        return 0


def _options_key(options: Mapping[str, object]) -> str:
    return repr(sorted(options.items(), key=lambda item: item[0]))


@lru_cache(maxsize=512)
def _kernel(name: str, text: str, options: str, handed: _Handed) -> Kernel[..., Any]:
    """Return the kernel of a text; equal graphs share it."""
    file = _file(text)
    scope: dict[str, object] = {"np": np, "po": polyopt, "__name__": "traced"}
    if "ml_dtypes." in text:  # NumPy has bfloat16 from there
        scope["ml_dtypes"] = import_module("ml_dtypes")
    scope.update(handed.program.others)
    function = function_of_text(text, name, file, scope)
    options_of_kernel: Any = handed.options
    found: Kernel[..., Any] = kernel(function).with_options(**options_of_kernel)
    return found


def _file(text: str) -> str:
    return f"<polyopt graph {digest(text.encode())[:16]}>"


# -- errors -----------------------------------------------------------------------------------


@contextmanager
def user_places(program: Program) -> Iterator[None]:
    """Errors point at the line that recorded the operation."""
    try:
        yield
    except PolyoptError as error:
        if error.loc is not None and error.loc.file == _file(program.text):
            lines = program.text.splitlines()
            line = error.loc.line
            if 0 < line <= len(lines):
                error.notes = (*error.notes, f"in the traced function: {lines[line - 1].strip()}")
            error.loc = _users(program, error.loc)
        raise


def _users(program: Program, loc: Loc) -> Loc | None:
    """Return the user's line behind a place of the text: the smallest span around it."""
    spans = [
        span
        for span in program.spans
        if span.line == loc.line and span.start <= loc.col < max(span.end, span.start + 1)
        and loc.end_col <= span.end
    ]  # fmt: skip
    if spans:
        return min(spans, key=lambda span: span.end - span.start).loc
    same = [span for span in program.spans if span.line == loc.line]
    return same[0].loc if same else None


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
