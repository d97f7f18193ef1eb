"""From a graph to kernels, and a call from kernel to kernel.

In: a graph.  Out: `Stage`s; the values of the outputs for arrays.
Errors of the compiler point at the line that recorded the operation.
Segments of large graphs.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
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
from polyopt.frontend.syntax.annotations import ArgType, ArrayType, ScalarType
from polyopt.ir.source import Layout
from polyopt.ir.types import dtype_of
from polyopt.never import assert_never
from polyopt.runtime.store import digest
from polyopt.specialize import array_type
from polyopt.tracing.evaluation import evaluate
from polyopt.tracing.nodes import (
    MOVES,
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
    reachable,
    sources,
)
from polyopt.tracing.program import Program, names_needed, names_told, write


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
