"""Execution of loop AST nodes, for `interp.run_loops`.

In: a body.  Out: a function that changes a frame's arrays and locals as the loops would.
Refuses: with `shuffle`, iterations of a PARALLEL or VECTOR loop that conflict (PO0914).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any, Protocol, TypeAlias

import numpy as np

from polyopt.dataclass import dataclass, field
from polyopt.errors import InternalError, kernel_fault
from polyopt.ir.array import Array
from polyopt.ir.evaluate import (
    Cell,
    Frame,
    Value,
    compile_expr,
    compile_index,
    compile_store,
    convert,
)
from polyopt.ir.expr import BinaryOp, Symbol
from polyopt.ir.library import call_library
from polyopt.ir.loops import (
    CONCURRENT,
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
    LoopKind,
    Node,
    SetLocal,
    While,
    vectors_of_sums,
)
from polyopt.ir.nodes import all_nodes
from polyopt.ir.showing import show
from polyopt.ir.source import LibraryCall, Signature
from polyopt.ir.storage import storage
from polyopt.never import assert_never

Trace: TypeAlias = list[tuple[str, tuple[int, ...]]]
Action: TypeAlias = Callable[[Frame], None]

_COMBINE: dict[BinaryOp, Callable[[Value, Value], Value]] = {
    BinaryOp.ADD: np.add,
    BinaryOp.MUL: np.multiply,
    BinaryOp.MIN: np.minimum,
    BinaryOp.MAX: np.maximum,
    BinaryOp.AND: np.bitwise_and,
    BinaryOp.OR: np.bitwise_or,
    BinaryOp.XOR: np.bitwise_xor,
}


class Device(Protocol):
    """What runs kernels and holds the arrays, in place of the interpreter."""

    def launcher(self, kernel: Kernel) -> Action:
        """Return the action that runs `kernel` on a frame's arrays."""

    def storage(self, array: Array, shape: Sequence[int]) -> Any:  # noqa: ANN401
        """Return memory for an array, to be kept among a frame's arrays."""

    def library(self, call: LibraryCall, inputs: Sequence[Any], outputs: Sequence[Any]) -> None:
        """Call a library function on arrays that `storage` made."""


@dataclass(frozen=True, slots=True)
class Setting:
    """How to run: faults and library calls, randomness of free loops, where to note instances.

    `faults` are the arrays whose elements any iteration may set.  `lanes` tells how many
    accumulators the reductions of a VECTOR loop have; without it they have one.  `device` runs the
    kernels, where there is one.
    """

    signature: Signature
    shuffle: Random | None
    trace: Trace | None
    reassociable: frozenset[str] = frozenset()
    faults: frozenset[str] = frozenset()
    lanes: Callable[[For], int] | None = None
    device: Device | None = None


class Left(Exception):
    """A `Break` on its way to its loop."""


class Failed(Exception):
    """A `Fail` on its way out; `fault` is its number."""

    def __init__(self, fault: int) -> None:
        super().__init__(fault)
        self.fault = fault


def raise_faults(signature: Signature, noted: Sequence[int], failed: int | None = None) -> None:
    """Raise the lowest fault that was noted, or the one the kernel failed with."""
    first = min(noted, default=failed)
    if first is not None:
        fault = signature.faults[first]
        raise kernel_fault(fault.code, fault.message, loc=fault.loc, hint=fault.hint)


def allocated(body: Body) -> frozenset[str]:
    """Return the arrays that `body` gives memory to."""
    return frozenset(n.array.name for n in all_nodes(body) if isinstance(n, AllocateArray))


def compile_body(body: Body, setting: Setting) -> Action:
    """Return the nodes as one action; locals and local arrays end with the body."""
    actions = [_compile(node, setting) for node in body]
    locals_here = {node.name for node in body if isinstance(node, Declare)}
    arrays_here = {node.array.name for node in body if isinstance(node, DeclareArray)}

    def run(frame: Frame) -> None:
        symbols = {name: frame.symbols.get(name) for name in locals_here}
        arrays = {name: frame.arrays.get(name) for name in arrays_here}
        try:
            for action in actions:
                action(frame)
        finally:
            _restore(frame.symbols, symbols)
            _restore(frame.arrays, arrays)

    return run


def _restore(scope: dict[str, Any], before: dict[str, Any]) -> None:
    for name, value in before.items():
        if value is None:
            scope.pop(name, None)
        else:
            scope[name] = value


def _compile(node: Node, setting: Setting) -> Action:  # noqa: C901 - one case per node
    match node:
        case For():
            return _for(node, setting)
        case If():
            return _if(node, setting)
        case Assign():
            return _assign(node, setting)
        case Declare() | SetLocal():
            return _set_local(node, setting)
        case DeclareArray(array=array) | AllocateArray(array=array):
            shape = compile_index(array.shape)
            make = storage if setting.device is None else setting.device.storage

            def declare(frame: Frame) -> None:
                frame.arrays[array.name] = make(array, shape(frame))

            return declare
        case While():
            return _while(node, setting)
        case Break():
            return _leave
        case Fail(fault=fault):

            def fail(frame: Frame) -> None:
                raise Failed(fault)

            return fail
        case CallLibrary():
            return _library(node, setting)
        case Kernel() if setting.device is not None:
            return setting.device.launcher(node)
        case Kernel():
            return compile_body((*node.body, *node.finish), setting)
        case Comment() | Barrier() | CommitCopies() | AwaitCopies():
            return lambda frame: None
        case DeclareView():
            raise AssertionError("loops run without views")
        case _:
            assert_never(node)


def _leave(frame: Frame) -> None:
    raise Left


def _while(node: While, setting: Setting) -> Action:
    condition, body = compile_expr(node.condition), compile_body(node.body, setting)

    def run(frame: Frame) -> None:
        try:
            while condition(frame):
                stop_when_noted(frame, setting)
                body(frame)
        except Left:
            pass

    return run


def stop_when_noted(frame: Frame, setting: Setting) -> None:
    """End the kernel when a fault was noted: what only data ends might go on for ever."""
    found = [int(k) for name in setting.faults for k in np.flatnonzero(frame.arrays[name])]
    if found:
        raise Failed(min(found))


def _library(node: CallLibrary, setting: Setting) -> Action:
    call = setting.signature.library[node.site]
    kinds = tuple((a.dtype, len(a.shape)) for a in node.inputs)
    made = tuple((a.dtype, len(a.shape)) for a in node.outputs)
    if (kinds, made) != (call.inputs, call.outputs):
        raise InternalError("PO0911", f"{call.function} is called with other types or ranks")
    sized = tuple((a.name, compile_index(a.shape)) for a in (*node.inputs, *node.outputs))
    run_call = call_library if setting.device is None else setting.device.library

    def run(frame: Frame) -> None:
        for name, shape in sized:
            if frame.arrays[name].shape != shape(frame):
                raise InternalError("PO0911", f"{name} has not the shape it is passed with")
        inputs = [frame.arrays[array.name] for array in node.inputs]
        run_call(call, inputs, [frame.arrays[array.name] for array in node.outputs])

    return run


def _if(node: If, setting: Setting) -> Action:
    condition = compile_expr(node.condition)
    then, otherwise = compile_body(node.then, setting), compile_body(node.otherwise, setting)

    def run(frame: Frame) -> None:
        (then if condition(frame) else otherwise)(frame)

    return run


def _assign(node: Assign, setting: Setting) -> Action:
    value, store = compile_expr(node.value), compile_store(node.target)
    note, index = _note(node, setting), compile_index(node.target.index)
    accumulates = node.statement in setting.reassociable

    def run(frame: Frame) -> None:
        cell = (node.target.array, index(frame))
        frame.accumulator = (cell, node.statement) if accumulates else None
        store(frame, value)
        frame.accumulator = None
        note(frame)

    return run


def _set_local(node: Declare | SetLocal, setting: Setting) -> Action:
    value, kind = compile_expr(node.value), node.dtype.numpy.type
    note = _note(node, setting)
    statement = node.statement if isinstance(node, SetLocal) else ""
    accumulates = statement in setting.reassociable

    def run(frame: Frame) -> None:
        frame.accumulator = ((node.name, ()), statement) if accumulates else None
        new = convert(value(frame), kind)
        if node.lanes > 1 and np.shape(new) != (node.lanes,):
            message = f"{node.name} has {node.lanes} lanes, its value {show(node.value)} has not"
            raise InternalError("PO0911", message)
        if frame.on_write is not None and isinstance(node, SetLocal):
            frame.on_write((node.name, ()))
        frame.accumulator = None
        frame.symbols[node.name] = new
        note(frame)

    return run


def _note(node: Assign | Declare | SetLocal, setting: Setting) -> Action:
    trace, instance = setting.trace, compile_index(node.instance)
    if trace is None or not node.statement:
        return lambda frame: None
    return lambda frame: trace.append((node.statement, instance(frame)))


def _for(node: For, setting: Setting) -> Action:
    lower, upper = compile_expr(node.lower), compile_expr(node.upper)
    body = compile_body(node.body, setting)
    if node.step <= 0:
        raise InternalError("PO0911", f"loop {node.iter} has step {node.step}")

    def run(frame: Frame) -> None:
        before = frame.iters.get(node.iter)
        iterations = range(int(lower(frame)), int(upper(frame)), node.step)
        try:
            if node.kind is LoopKind.PARALLEL:
                _run_parallel(node, frame, body, iterations, setting)
            else:
                _run_iterations(node, frame, body, iterations, setting)
        finally:
            _restore(frame.iters, {node.iter: before})

    return run


def _run_parallel(
    node: For, frame: Frame, body: Action, iterations: Sequence[int], setting: Setting
) -> None:
    """Run all iterations; the lowest fault that one ended with is raised after the last."""
    failed: list[int] = []

    def alone(frame: Frame) -> None:
        try:
            body(frame)
        except Failed as stop:
            failed.append(stop.fault)

    _run_iterations(node, frame, alone, iterations, setting)
    if failed:
        raise Failed(min(failed))


def _run_iterations(
    node: For, frame: Frame, body: Action, iterations: Sequence[int], setting: Setting
) -> None:
    if node.kind in CONCURRENT and setting.shuffle is not None:
        _run_free(node, frame, body, iterations, setting)
        return
    if node.kind is LoopKind.VECTOR and node.reductions and setting.lanes is not None:
        _run_lanes(node, frame, body, iterations, setting.lanes(node))
        return
    for iteration in iterations:
        frame.iters[node.iter] = iteration
        try:
            body(frame)
        except Left:
            if node.kind is LoopKind.SEQUENTIAL:
                return
            raise


def _run_lanes(
    node: For, frame: Frame, body: Action, iterations: Sequence[int], lanes: int
) -> None:
    """Run whole vectors lane by lane, the rest in the first lane; then join the lanes in turn.

    Explicit vectors: several at a time, then one; lanes are joined in pairs.
    """
    names = [(op, symbol, frame.symbols[symbol.name]) for op, symbol in node.reductions]
    width = lanes
    if node.lanes > 1:
        width = node.lanes
        lanes = width * vectors_of_sums(node)
    copies = {s.name: [_identity(op, s, start)] * lanes for op, s, start in names}
    whole = len(iterations) // lanes * lanes
    rest = width if node.lanes > 1 else 1
    for number, iteration in enumerate(iterations):
        lane = number % lanes if number < whole else (number - whole) % rest
        frame.iters[node.iter] = iteration
        frame.symbols.update({name: values[lane] for name, values in copies.items()})
        body(frame)
        for name, values in copies.items():
            values[lane] = frame.symbols[name]
    for op, symbol, start in names:
        values = copies[symbol.name]
        if node.lanes > 1:
            values = [_total(values, width)]
        total = start
        for value in values:
            total = _COMBINE[op](total, value)
        frame.symbols[symbol.name] = total


def _total(values: list[Value], width: int) -> Value:
    """Add vectors of `width` elements in pairs of neighbours, then halves of what is left."""
    while len(values) > width:
        pairs = zip(*(values[k :: 2 * width] for k in range(2 * width)), strict=True)
        values = [pair[k] + pair[k + width] for pair in pairs for k in range(width)]
    while len(values) > 1:
        half = len(values) // 2
        values = [one + other for one, other in zip(values[:half], values[half:], strict=True)]
    return values[0]


def _run_free(
    node: For, frame: Frame, body: Action, iterations: Sequence[int], setting: Setting
) -> None:
    """Run the iterations in random order, in up to three chunks with private reduction locals."""
    assert setting.shuffle is not None
    shuffled = list(iterations)
    setting.shuffle.shuffle(shuffled)
    chunks = [shuffled[k::3] for k in range(3)] if node.reductions else [shuffled]
    combined = frozenset(symbol.name for _, symbol in node.reductions)
    own = [(op, symbol) for op, symbol in node.reductions if symbol.name in frame.symbols]
    totals = {symbol.name: frame.symbols[symbol.name] for _, symbol in own}
    names = frozenset([*frame.symbols, *frame.arrays])
    watch = Watch(node, names - combined - setting.faults)
    outer = frame.on_read, frame.on_write
    for chunk in chunks:
        for op, symbol in own:
            frame.symbols[symbol.name] = _identity(op, symbol, totals[symbol.name])
        for iteration in chunk:
            frame.iters[node.iter] = iteration
            frame.on_read, frame.on_write = watch.hooks(frame, iteration, outer)
            body(frame)
        for op, symbol in own:
            totals[symbol.name] = _COMBINE[op](totals[symbol.name], frame.symbols[symbol.name])
    frame.on_read, frame.on_write = outer
    frame.symbols.update(totals)


def _identity(op: BinaryOp, symbol: Symbol, start: Value) -> Value:
    """Return a value that leaves the total unchanged; the total itself where `op` is idempotent."""
    match op:
        case BinaryOp.ADD | BinaryOp.XOR:
            return np.zeros_like(start)[()]
        case BinaryOp.MUL:
            return np.ones_like(start)[()]
        case BinaryOp.MIN | BinaryOp.MAX | BinaryOp.AND | BinaryOp.OR:
            return start
        case _:
            raise InternalError("PO0911", f"{symbol.name} is reduced by {op.value}")


Hook: TypeAlias = Callable[[Cell], None]
Owner: TypeAlias = tuple[int, str]


@dataclass(frozen=True, slots=True)
class Watch:
    """Who touched what in one execution of a loop; `shared` are the names older than the loop.

    An owner is an iteration and, in a VECTOR loop, the reassociable reduction whose accumulator the
    element is at that moment: iterations may share it.
    """

    loop: For
    shared: frozenset[str]
    readers: dict[Cell, set[Owner]] = field(default_factory=dict)
    writers: dict[Cell, set[Owner]] = field(default_factory=dict)

    def hooks(
        self, frame: Frame, iteration: int, outer: tuple[Hook | None, Hook | None]
    ) -> tuple[Hook, Hook]:
        """Return what to call for the reads and the writes of `iteration`."""
        outer_read, outer_write = outer
        vector = self.loop.kind is LoopKind.VECTOR

        def owner(cell: Cell) -> Owner:
            found = frame.accumulator
            free = vector and found is not None and found[0] == cell
            return (iteration, found[1] if free and found is not None else "")

        def on_read(cell: Cell) -> None:
            if cell[0] in self.shared:
                self._check(cell, owner(cell), self.writers.get(cell, set()))
                self.readers.setdefault(cell, set()).add(owner(cell))
            if outer_read is not None:
                outer_read(cell)

        def on_write(cell: Cell) -> None:
            if cell[0] in self.shared:
                others = self.readers.get(cell, set()) | self.writers.get(cell, set())
                self._check(cell, owner(cell), others)
                self.writers.setdefault(cell, set()).add(owner(cell))
            if outer_write is not None:
                outer_write(cell)

        return on_read, on_write

    def _check(self, cell: Cell, owner: Owner, others: set[Owner]) -> None:
        iteration, accumulates = owner
        for other, statement in sorted(others):
            if other == iteration or (accumulates and statement == accumulates):
                continue
            name, index = cell
            raise InternalError(
                "PO0914",
                f"{self.loop.kind.value} loop {self.loop.iter}: iterations {other} and {iteration} "
                f"both touch {name}{list(index)} and one writes it",
            )
