"""A loop AST over symbolic values, every node kind, iterations that run together watched.

In: a `LoopFunction`, a `World` with its arguments.  Out: the world, and which instances ran.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

from polyopt.ir.expr import Const, Expr, Load, Param, Symbol, VectorLoad, children, walk
from polyopt.ir.loops import (
    CONCURRENT,
    AllocateArray,
    Assign,
    Body,
    Break,
    CallLibrary,
    Comment,
    Declare,
    DeclareArray,
    DeclareView,
    Fail,
    For,
    If,
    LoopFunction,
    LoopKind,
    Node,
    SetLocal,
    While,
)
from polyopt.ir.scop import Role
from polyopt.never import assert_never
from tests.oracle.opaque import call_opaque
from tests.oracle.polynomials import compile_regrouped
from tests.oracle.run_source import Faulted, Instance, new_store, noted_faults, stepped
from tests.oracle.symbolic import (
    Local,
    Shown,
    Together,
    World,
    compile_index,
    compile_lanes,
    compile_value,
    consecutive,
    converted,
    lanes_of,
)

Action: TypeAlias = Callable[[World], None]


class _Left(Exception):
    """A `Break` on its way to its loop."""


@dataclass(slots=True)
class KernelRun:
    """A kernel on its way; `executed` counts the instances that nodes say they are.

    `open` are the statements whose operands the source leaves without an order, `fusible` those
    whose sums of products may be regrouped.  `named` are those that nodes name: others are part
    of the expressions that used them.
    """

    function: LoopFunction
    world: World
    open: frozenset[str]
    fusible: frozenset[str]
    executed: Counter[Instance] = field(default_factory=Counter)
    named: set[str] = field(default_factory=set)

    def run(self) -> int | None:
        """Run everything; return the fault the kernel ends with."""
        later = _allocated(self.function.body)
        for array in self.function.arrays:
            if array.role in (Role.TEMP, Role.FAULT) and array.name not in later:
                self.world.arrays[array.name] = new_store(self.world, array)
        failed: list[int] = []
        try:
            self.body(self.function.body)(self.world)
        except Faulted as stop:
            failed = [stop.number]
        except _Left:
            raise AssertionError("a break is outside of the loops it may leave") from None
        names = [a.name for a in self.function.arrays if a.role is Role.FAULT]
        return min((*noted_faults(self.world, names), *failed), default=None)

    def body(self, body: Body) -> Action:
        """Return the nodes as one action; names declared in it end with it."""
        actions = [self.node(node) for node in body]
        names = {node.name for node in body if isinstance(node, Declare)}
        arrays = {n.array.name for n in body if isinstance(n, DeclareArray | DeclareView)}
        if not names and not arrays:
            if len(actions) == 1:
                return actions[0]

            def straight(world: World) -> None:
                for action in actions:
                    action(world)

            return straight

        def run(world: World) -> None:
            before = {name: world.locals.get(name) for name in names}
            hidden = {name: world.arrays.get(name) for name in arrays}
            try:
                for action in actions:
                    action(world)
            finally:
                for name, local in before.items():
                    _put_back(world.locals, name, local)
                for name, store in hidden.items():
                    _put_back(world.arrays, name, store)

        return run

    def node(self, node: Node) -> Action:  # noqa: C901 - one case per node
        match node:
            case For():
                return self.loop(node)
            case While():
                return self.repeated(node)
            case If():
                condition = compile_value(node.condition)
                then, otherwise = self.body(node.then), self.body(node.otherwise)
                return lambda world: (then if world.integer(condition(world)) else otherwise)(world)
            case Break():
                return _leave
            case Fail(fault=fault):

                def fail(world: World) -> None:
                    raise Faulted(fault)

                return fail
            case Assign():
                return self.assign(node)
            case Declare() | SetLocal():
                return self.set_local(node)
            case DeclareArray(array=array):

                def declare(world: World) -> None:
                    world.arrays[array.name] = new_store(world, array)

                return declare
            case DeclareView():
                return self.show(node)
            case AllocateArray(array=array):
                slot = Local(f"the memory of {array.name}", ())

                def allocate(world: World) -> None:
                    world.write(slot, ())
                    world.arrays[array.name] = new_store(world, array)

                return allocate
            case CallLibrary():
                return self.library(node)
            case Comment():
                return lambda world: None
            case _:
                assert_never(node)

    def joins(self, statement: str) -> bool:
        """Tell whether the order of a node's outermost operation is open.

        Nodes that are no statement of the source only copy, or combine what was split.
        """
        return not statement or statement in self.open

    def note(self, node: Assign | Declare | SetLocal, lanes: int) -> Action:
        if not node.statement:
            return lambda world: None
        self.named.add(node.statement)
        instance, name, steps = compile_index(node.instance), node.statement, node.steps
        assert lanes == 1 or len(steps) == len(node.instance), node

        def count(world: World) -> None:
            first = instance(world)
            self.executed[name, first] += 1
            for lane in range(1, lanes):
                point = tuple(n + lane * step for n, step in zip(first, steps, strict=True))
                self.executed[name, point] += 1

        return count

    def show(self, node: DeclareView) -> Action:
        condition = compile_value(node.condition)
        places = [
            (place, compile_index(place.first.index)) for place in (node.otherwise, node.then)
        ]

        def run(world: World) -> None:
            place, first = places[world.integer(condition(world))]
            at = first(world)
            row = tuple(int(d == len(at) - 1) for d in range(len(at)))
            store = world.arrays[place.first.array]
            world.arrays[node.array.name] = Shown(store, at, (*place.steps, row))

        return run

    def assign(self, node: Assign) -> Action:
        target = node.target
        lanes = target.lanes if isinstance(target, VectorLoad) else 1
        index, value = compile_index(target.index), self.value(node.value, node.statement, lanes)
        note, source = self.note(node, lanes), node.value.dtype
        plain = Load(target.array, target.index, target.dtype)

        def run(world: World) -> None:
            stepped(world)
            values, first = value(world), index(world)
            store = world.arrays[target.array]
            for point, new in zip(
                consecutive(first, lanes) if lanes > 1 else (first,), values, strict=True
            ):
                world.save(store, point, converted(world.terms, new, source, target.dtype), plain)
            note(world)

        return run

    def is_number(self, expr: Expr) -> bool:
        """Tell whether an expression is made of arguments that are numbers."""
        own = {getattr(argument, "symbol", "") for argument in self.function.signature.arguments}
        atoms = [p for p in walk(expr) if isinstance(p, Load | VectorLoad) or not children(p)]
        return all(
            isinstance(part, Const | Param) or (isinstance(part, Symbol) and part.name in own)
            for part in atoms
        )

    def value(self, expr: Expr, statement: str, lanes: int) -> Callable[[World], tuple]:  # type: ignore[type-arg]
        """Return the value of `expr` in each of `lanes` lanes."""
        if lanes_of(expr) not in (1, lanes):
            raise AssertionError(f"{expr} has not {lanes} lanes")
        joins = self.joins(statement) and (bool(statement) or not self.is_number(expr))
        compiled = compile_regrouped if statement in self.fusible else compile_lanes
        thunk = compiled(expr, joins)
        if lanes > 1 and lanes_of(expr) == 1:
            return lambda world: thunk(world) * lanes
        return thunk

    def set_local(self, node: Declare | SetLocal) -> Action:
        value, note = (
            self.value(node.value, node.statement, node.lanes),
            self.note(node, node.lanes),
        )
        name, source, target = node.name, node.value.dtype, node.dtype
        is_new = isinstance(node, Declare)

        def run(world: World) -> None:
            stepped(world)
            new = tuple(converted(world.terms, v, source, target) for v in value(world))
            if is_new:
                world.locals[name] = Local(name, new)
            else:
                local = world.locals[name]
                if world.together:
                    world.write(local, ())
                local.values = new
            note(world)

        return run

    def library(self, node: CallLibrary) -> Action:
        call = self.function.signature.library[node.site]

        def run(world: World) -> None:
            inputs = [world.arrays[array.name] for array in node.inputs]
            outputs = [world.arrays[array.name] for array in node.outputs]
            for array, store in zip(
                (*node.inputs, *node.outputs), (*inputs, *outputs), strict=True
            ):
                shape = compile_index(array.shape)(world)
                if shape != store.shape:
                    where = f"library call {node.site}: {array.name} has shape {store.shape}"
                    world.outside.setdefault(array.name, f"{where}, passed as {shape}")
            call_opaque(world, node.site, call, inputs, outputs)

        return run

    def repeated(self, node: While) -> Action:
        condition, body = compile_value(node.condition), self.body(node.body)

        def run(world: World) -> None:
            try:
                while world.integer(condition(world)):
                    stepped(world)
                    body(world)
            except _Left:
                pass

        return run

    def loop(self, node: For) -> Action:
        lower, upper = compile_value(node.lower), compile_value(node.upper)
        body, name = self.body(node.body), node.iter
        assert node.step > 0, node
        is_free = node.kind in CONCURRENT

        def run(world: World) -> None:
            before = world.iters.get(name)
            steps = range(world.integer(lower(world)), world.integer(upper(world)), node.step)
            try:
                if is_free:
                    self.together(node, world, body, steps)
                else:
                    for step in steps:
                        world.iters[name] = step
                        stepped(world)
                        body(world)
            except _Left:
                if node.kind is not LoopKind.SEQUENTIAL:
                    raise
            finally:
                _put_back(world.iters, name, before)

        return run

    def together(self, node: For, world: World, body: Action, steps: range) -> None:
        """Run a loop whose iterations may run at once, reductions in two private copies."""
        loop = Together(f"{node.kind.value} {node.iter}")
        outer = {symbol.name: world.locals[symbol.name] for _, symbol in node.reductions}
        half = (len(steps) + 1) // 2
        failed: list[int] = []
        world.together.append(loop)
        for chunk in (steps[:half], steps[half:]) if node.reductions else (steps,):
            for op, symbol in node.reductions:
                neutral = world.terms.nothing(op, symbol.dtype)
                world.locals[symbol.name] = Local(symbol.name, (neutral,) * symbol.lanes, loop)
            for step in chunk:
                loop.now = world.iters[node.iter] = step
                stepped(world)
                try:
                    body(world)
                except Faulted as stop:
                    if node.kind is not LoopKind.PARALLEL:
                        raise
                    failed.append(stop.number)
            for op, symbol in node.reductions:
                own, total = world.locals[symbol.name], outer[symbol.name]
                total.values = tuple(
                    world.terms.joined(op, symbol.dtype, one, two)
                    for one, two in zip(total.values, own.values, strict=True)
                )
        world.together.pop()
        for name, local in outer.items():
            world.locals[name] = local
        if failed:
            raise Faulted(min(failed))


def _leave(world: World) -> None:
    raise _Left


def _put_back(scope: dict, name: str, before: object) -> None:  # type: ignore[type-arg]
    if before is None:
        scope.pop(name, None)
    else:
        scope[name] = before


def _allocated(body: Body) -> set[str]:
    found: set[str] = set()
    for node in body:
        match node:
            case AllocateArray():
                found.add(node.array.name)
            case For() | While():
                found |= _allocated(node.body)
            case If():
                found |= _allocated(node.then) | _allocated(node.otherwise)
            case _:
                pass
    return found
