"""The front end's program, one instance at a time, over symbolic values.

In: a `Program`, a `World` with its arguments.  Out: the world, and how often which instance ran.
Refuses: nothing; what a wrong program does is noted in the world.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import count
from typing import TypeAlias

from polyopt.ir.expr import Binary
from polyopt.ir.integers import evaluate
from polyopt.ir.program import Allocate, Bind, Invoke, Parts, Program, Repeat, Require, all_parts
from polyopt.ir.scop import Array, Role, Scop, Statement
from polyopt.never import assert_never
from tests.oracle.domains import Piece, Point, pieces_of, set_points
from tests.oracle.opaque import call_opaque
from tests.oracle.polynomials import compile_regrouped
from tests.oracle.symbolic import (
    Store,
    World,
    compile_index,
    compile_lanes,
    compile_value,
    converted,
)
from tests.oracle.terms import JOINING

Instance: TypeAlias = tuple[str, Point]
LIMIT = 400_000


class Faulted(Exception):
    """The kernel ends with a fault; `number` is its place in the signature."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


class TooLong(Exception):
    """A run takes more steps than a comparison is worth."""


def stepped(world: World) -> None:
    """Count a step; raises `TooLong`."""
    world.steps += 1
    if world.steps > LIMIT:
        raise TooLong


def new_store(world: World, array: Array) -> Store:
    """Return undefined storage; faults start as not noted."""
    shape = compile_index(array.shape)(world)
    store = Store(array.name, array.dtype, tuple(max(0, extent) for extent in shape))
    if array.role is Role.FAULT:
        store.cells = {(n,): 0 for n in range(store.shape[0])} if store.shape else {(): 0}
        store.free = world
    return store


def noted_faults(world: World, names: Iterable[str]) -> list[int]:
    """Return the numbers of the faults that are noted."""
    stores = [world.arrays[name] for name in names if name in world.arrays]
    return sorted(
        i[0] for store in stores for i, value in store.cells.items() if world.integer(value)
    )


@dataclass(slots=True)
class SourceRun:
    """A program on its way; `executed` counts instances whose guard held, `skipped` the others."""

    program: Program
    world: World
    executed: Counter[Instance] = field(default_factory=Counter)
    skipped: Counter[Instance] = field(default_factory=Counter)
    rules: dict[int, _Rule] = field(default_factory=dict)

    def run(self) -> int | None:
        """Run everything; return the lowest fault."""
        parts = self.program.parts
        later = {part.array for part in all_parts(parts) if isinstance(part, Allocate)}
        for array in self.program.arrays:
            if array.role in (Role.TEMP, Role.FAULT) and array.name not in later:
                self.world.arrays[array.name] = new_store(self.world, array)
        failed: list[int] = []
        try:
            self.parts(parts)
        except Faulted as stop:
            failed = [stop.number]
        return min((*self.faults(), *failed), default=None)

    def faults(self) -> list[int]:
        names = [a.name for a in self.program.arrays if a.role is Role.FAULT]
        return noted_faults(self.world, names)

    def parts(self, parts: Parts) -> None:
        world, before = self.world, dict(self.world.sizes)
        for part in parts:
            match part:
                case Scop():
                    self.scop(part)
                case Bind():
                    world.sizes[part.param] = world.integer(compile_value(part.value)(world))
                case Require():
                    if not world.integer(compile_value(part.condition)(world)):
                        raise Faulted(part.fault)
                case Allocate():
                    array = self.program.array(part.array)
                    world.arrays[part.array] = new_store(world, array)
                case Repeat():
                    self.repeat(part)
                case Invoke():
                    call = self.program.signature.library[part.site]
                    inputs, outputs = (
                        [world.arrays[name] for name in names]
                        for names in (part.inputs, part.outputs)
                    )
                    call_opaque(world, part.site, call, inputs, outputs)
                case _:
                    assert_never(part)
        world.sizes = before

    def repeat(self, part: Repeat) -> None:
        world = self.world
        first = world.integer(compile_value(part.lower)(world))
        steps: Iterable[int] = count(first, part.step)
        if part.upper is not None:
            last = world.integer(compile_value(part.upper)(world))
            steps = range(first, last, part.step)
        going = None if part.going is None else compile_value(part.going)
        before = dict(world.sizes)
        for step in steps:
            stepped(world)
            if going is not None and not world.integer(going(world)):
                break
            if going is not None and self.faults():
                raise Faulted(min(self.faults()))
            world.sizes[part.param] = step
            self.parts(part.body)
        world.sizes = before

    def scop(self, scop: Scop) -> None:
        """Run a static control part; its own temporaries start undefined."""
        outer = self.world.arrays
        own = [array for array in scop.arrays if array.role is Role.TEMP]
        self.world.arrays = outer | {a.name: new_store(self.world, a) for a in own}
        for statement, point in in_order(scop, self.world.sizes, self.rule):
            stepped(self.world)
            kept = self.rule(statement).execute(self.world, point)
            (self.executed if kept else self.skipped)[statement.name, point] += 1
        self.world.arrays = outer

    def rule(self, statement: Statement) -> _Rule:
        found = self.rules.get(id(statement))
        if found is None:
            found = self.rules[id(statement)] = compile_rule(statement)
        return found


@dataclass(frozen=True, slots=True)
class _Rule:
    """A statement ready to run: its domain's coefficients, and what an instance does."""

    pieces: tuple[Piece, ...]
    execute: Callable[[World, Point], bool]


def in_order(
    scop: Scop, sizes: dict[str, int], rule: Callable[[Statement], _Rule]
) -> list[tuple[Statement, Point]]:
    """Return every instance at `sizes` in the source's order."""
    found = []
    for position, statement in enumerate(scop.statements):
        for point in set_points(rule(statement).pieces, sizes):
            env = {**sizes, **dict(zip(statement.iters, point, strict=True))}
            time = tuple(evaluate(part, env) for part in statement.order)
            found.append((time, position, statement, point))
    length = max((len(time) for time, *_ in found), default=0)
    found.sort(key=lambda t: (t[0] + (0,) * (length - len(t[0])), t[1], t[3]))
    return [(statement, point) for _, _, statement, point in found]


def is_open(statement: Statement) -> bool:
    """Tell whether nobody can see in which order a statement updates its element.

    Of integers and truth values extrema, sums, products and bits are the same in any order.
    """
    value = statement.value
    is_update = isinstance(value, Binary) and statement.target in (value.left, value.right)
    is_exact = isinstance(value, Binary) and value.op in JOINING and value.dtype.is_integer
    return statement.is_reassociable or (is_update and is_exact)


def compile_rule(statement: Statement) -> _Rule:
    """Return `statement` as a function that runs one instance and tells whether it wrote."""
    guard = None if statement.guard is None else compile_value(statement.guard)
    joins = is_open(statement)
    compiled = compile_regrouped if statement.fuses else compile_lanes
    value = compiled(statement.value, joins)
    index, target = compile_index(statement.target.index), statement.target

    def execute(world: World, point: Point) -> bool:
        world.iters = dict(zip(statement.iters, point, strict=True))
        if guard is not None and not world.integer(guard(world)):
            return False
        new = converted(world.terms, value(world)[0], statement.value.dtype, target.dtype)
        world.save(world.arrays[target.array], index(world), new, target)
        return True

    return _Rule(pieces_of(statement.domain), execute)
