"""Expressions over symbolic values: what `ir/evaluate.py` is for numbers.

In: an `Expr`.  Out: a function from a `World` to its value, one for each lane where it has lanes.
Every element and local read or written is told to the loops whose iterations may run together.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from polyopt.ir.expr import (
    Binary,
    BinaryOp,
    Broadcast,
    Call,
    Cast,
    Compare,
    CompareOp,
    Const,
    Expr,
    Iter,
    Load,
    MathFunc,
    Param,
    Select,
    Symbol,
    Unary,
    UnaryOp,
    VectorLoad,
    children,
)
from polyopt.ir.showing import show
from polyopt.ir.types import DType
from polyopt.never import assert_never
from tests.oracle.terms import JOINING, PURE, RING, WIDE, Term, Terms, Value, code_of, wrapped

Lanes: TypeAlias = tuple[Value, ...]
Point: TypeAlias = tuple[int, ...]


class Store:
    """An array's elements, by subscript; `given` are the contents of those never written.

    `free` is the loop whose iterations each have a copy, or the kernel for what all may write.
    """

    __slots__ = ("cells", "dtype", "free", "given", "name", "shape")

    def __init__(self, name: str, dtype: DType, shape: Point, given: Any = None) -> None:
        self.name, self.dtype, self.shape, self.given = name, dtype, shape, given
        self.cells: dict[Point, Value] = {}
        self.free: object = None


@dataclass(frozen=True, slots=True, eq=False)
class Shown:
    """A view: its element `p` is the one of `store` at `first` and `p[d]` times `steps[d]`."""

    store: Store
    first: Point
    steps: tuple[Point, ...]

    def at(self, point: Point) -> Point:
        """Return the subscripts of an element in the store."""
        moved = [n * s for n, step in zip(point, self.steps, strict=True) for s in step]
        rank = len(self.first)
        return tuple(x + sum(moved[d::rank]) for d, x in enumerate(self.first))


class Local:
    """A local variable of the loops: its lanes' values."""

    __slots__ = ("free", "name", "values")

    def __init__(self, name: str, values: Lanes, free: object = None) -> None:
        self.name, self.values, self.free = name, values, free


Home: TypeAlias = Store | Local
Conflict: TypeAlias = tuple[str, int, int, str, Point]


@dataclass(slots=True, eq=False)
class Together:
    """One execution of a loop whose iterations may run at once, and who touched what in it."""

    name: str
    now: int = 0
    writers: dict[tuple[Home, Point], int] = field(default_factory=dict)
    readers: dict[tuple[Home, Point], tuple[int, int]] = field(default_factory=dict)

    def read(self, home: Home, index: Point) -> Conflict | None:
        """Note a read; return the iterations that conflict."""
        key, now = (home, index), self.now
        first, last = self.readers.get(key, (now, now))
        self.readers[key] = (first, now if now != first else last)
        writer = self.writers.get(key, now)
        return None if writer == now else (self.name, writer, now, home.name, index)

    def write(self, home: Home, index: Point) -> Conflict | None:
        """Note a write; return the iterations that conflict."""
        key, now = (home, index), self.now
        other = self.writers.setdefault(key, now)
        if other == now:
            first, last = self.readers.get(key, (now, now))
            other = first if first != now else last
        return None if other == now else (self.name, other, now, home.name, index)


@dataclass(slots=True)
class World:
    """What a side of the comparison runs in, and what was noticed."""

    terms: Terms
    sizes: dict[str, int]
    arrays: dict[str, Store]
    locals: dict[str, Local]
    iters: dict[str, int] = field(default_factory=dict)
    together: list[Together] = field(default_factory=list)
    conflicts: dict[tuple[str, str], Conflict] = field(default_factory=dict)
    outside: dict[str, str] = field(default_factory=dict)
    unsettled: dict[str, str] = field(default_factory=dict)
    steps: int = 0
    contracted: bool = False  # a product and a sum may round once, here

    def read(self, home: Home, index: Point) -> None:
        """Tell the loops around of a read."""
        for loop in self.together:
            if home.free is not loop and home.free is not self:
                found = loop.read(home, index)
                if found is not None:
                    self.conflicts.setdefault((found[0], found[3]), found)

    def write(self, home: Home, index: Point) -> None:
        """Tell the loops around of a write."""
        for loop in self.together:
            if home.free is not loop and home.free is not self:
                found = loop.write(home, index)
                if found is not None:
                    self.conflicts.setdefault((found[0], found[3]), found)

    def load(self, store: Store, index: Point, text: Expr) -> Value:
        """Return an element; outside the array it is undefined."""
        if isinstance(store, Shown):
            store, index = store.store, store.at(index)
        if self.together:
            self.read(store, index)
        found = store.cells.get(index)
        if found is not None:
            return found
        if not self.is_inside(store, index, text) or store.given is None:
            return self.terms.undefined(store.dtype)
        number = store.given[index]
        found = self.terms.leaf(f"{store.name}{list(index)}", store.dtype, number)
        store.cells[index] = found
        return found

    def is_inside(self, store: Store, index: Point, text: Expr) -> bool:
        """Tell whether an element exists; note the access if not."""
        inside = len(index) == len(store.shape) and all(
            0 <= i < n for i, n in zip(index, store.shape, strict=True)
        )
        if not inside:
            where = f"touches {store.name}{list(index)} of shape {list(store.shape)}"
            self.outside.setdefault(store.name, f"{show(text)} {where} at {self.iters}")
        return inside

    def save(self, store: Store, index: Point, value: Value, text: Expr) -> None:
        """Set an element, if there is one."""
        if self.together:
            self.write(store, index)
        if index in store.cells or self.is_inside(store, index, text):
            store.cells[index] = value

    def integer(self, value: Value) -> int:
        """Return what control or a subscript depends on."""
        if isinstance(value, Term):
            if value.name == "undefined":
                self.unsettled.setdefault("control", f"undefined {value.dtype} at {self.iters}")
            return self.terms.integer(value)
        return int(value)


Thunk: TypeAlias = Callable[[World], Value]
LaneThunk: TypeAlias = Callable[[World], Lanes]


def lanes_of(expr: Expr) -> int:
    """Return the number of lanes of `expr`'s value."""
    match expr:
        case VectorLoad() | Broadcast() | Symbol():
            return expr.lanes
        case Load():
            return 1
        case _:
            return max((lanes_of(part) for part in children(expr)), default=1)


def compile_lanes(expr: Expr, joins: bool = False) -> LaneThunk:
    """Return a function from a world to the value of `expr` in every lane.

    `joins`: the order of the outermost operator's operands is open.
    """
    match expr:
        case _ if lanes_of(expr) == 1:
            scalar = compile_value(expr, joins)
            return lambda world: (scalar(world),)
        case VectorLoad():
            index, width, step = compile_index(expr.index), expr.lanes, expr.step

            def load(world: World) -> Lanes:
                first, store = index(world), world.arrays[expr.array]
                return tuple(world.load(store, p, expr) for p in consecutive(first, width, step))

            return load
        case Broadcast():
            one, width = compile_value(expr.operand), expr.lanes
            return lambda world: (one(world),) * width
        case Symbol():
            return lambda world: _read_local(world, expr)
        case _ if joins and (added := _added_products(expr)) is not None:
            wide_parts = [compile_lanes(part) for part in (added[0], *(p for _, p in added[1]))]
            count = lanes_of(expr)

            def add_up(world: World) -> Lanes:
                values = [part(world) for part in wide_parts]
                wide = [v if len(v) == count else v * count for v in values]
                lanes = zip(*wide, strict=True)
                return tuple(_one_by_one(world, expr.dtype, added[1], lane) for lane in lanes)

            return add_up
        case _:
            parts = tuple(compile_lanes(part) for part in children(expr))
            width, rule = lanes_of(expr), operation(expr, joins)

            def apply(world: World) -> Lanes:
                values = [part(world) for part in parts]
                wide = [v if len(v) == width else v * width for v in values]
                return tuple(rule(world, lane) for lane in zip(*wide, strict=True))

            return apply


def consecutive(first: Point, width: int, step: int = 1) -> list[Point]:
    """Return `width` subscripts from `first` on, `step` apart."""
    return [(*first[:-1], first[-1] + lane * step) for lane in range(width)]


def _read_local(world: World, expr: Symbol) -> Lanes:
    local = world.locals[expr.name]
    if world.together:
        world.read(local, ())
    if len(local.values) != expr.lanes:
        raise AssertionError(f"{expr.name} has {len(local.values)} lanes, not {expr.lanes}")
    return local.values


def compile_value(expr: Expr, joins: bool = False) -> Thunk:
    """Return a function from a world to the value of `expr`, which has one lane."""
    match expr:
        case Const():
            return _constant(expr)
        case Iter(name=name):
            return lambda world: world.iters[name]
        case Param(name=name):
            return lambda world: world.sizes[name]
        case Symbol():
            return lambda world: _read_local(world, expr)[0]
        case Load():
            index = compile_index(expr.index)
            return lambda world: world.load(world.arrays[expr.array], index(world), expr)
        case Select():
            condition = compile_value(expr.condition)
            then, otherwise = compile_value(expr.then), compile_value(expr.otherwise)
            return lambda world: (then if world.integer(condition(world)) else otherwise)(world)
        case Unary() | Binary() | Compare() | Call() | Cast():
            return _applied(expr, joins)
        case VectorLoad() | Broadcast():
            raise AssertionError(f"{show(expr)} has lanes")
        case _:
            assert_never(expr)


def _applied(expr: Expr, joins: bool) -> Thunk:
    """Return the function for an operation on one lane."""
    if joins and (added := _added_products(expr)) is not None:
        ones = [compile_value(part) for part in (added[0], *(p for _, p in added[1]))]

        def add_up(world: World) -> Value:
            values = tuple(one(world) for one in ones)
            return _one_by_one(world, expr.dtype, added[1], values)

        return add_up
    parts = tuple(compile_value(part) for part in children(expr))
    rule = operation(expr, joins)
    if len(parts) == 2:
        left, right = parts
        return lambda world: rule(world, (left(world), right(world)))
    return lambda world: rule(world, tuple(part(world) for part in parts))


Product: TypeAlias = tuple[bool, Expr]  # whether it is taken away


def _added_products(expr: Expr) -> tuple[Expr, list[Product]] | None:
    """Return what products are added to that round once or are several; None for anything else."""
    if not expr.dtype.is_float:
        return None
    found: list[Product] = []
    rest = expr
    while isinstance(rest, Call) and rest.func is MathFunc.FMA:
        a, b, rest = rest.args
        found.append((False, Binary(BinaryOp.MUL, a, b, rest.dtype)))
    least = 1 if found else 2
    if not found and isinstance(rest, Binary) and rest.op in (BinaryOp.ADD, BinaryOp.SUB):
        minus = rest.op is BinaryOp.SUB
        one, other = rest.left, rest.right
        if not (found := _products(other, minus)) and not minus:
            one, other = other, one
            found = _products(other, False)
        rest = one
    return (rest, found) if len(found) >= least else None


def _products(expr: Expr, minus: bool) -> list[Product]:
    """Return the products that `expr` is the sum of, none where it is not."""
    match expr:
        case Binary(op=BinaryOp.MUL):
            return [(minus, expr)]
        case Unary(op=UnaryOp.NEG):
            return _products(expr.operand, not minus)
        case Binary(op=BinaryOp.ADD | BinaryOp.SUB as op):
            left = _products(expr.left, minus)
            right = _products(expr.right, minus is (op is BinaryOp.ADD))
            return [*left, *right] if left and right else []
        case _:
            return []


def _one_by_one(
    world: World, dtype: DType, products: list[Product], values: tuple[Value, ...]
) -> Value:
    """Return the first value with the others, which are products, joined to it."""
    total, *others = values
    for (minus, _), value in zip(products, others, strict=True):
        one = negated(world.terms, value) if minus else value
        total = world.terms.joined(BinaryOp.ADD, dtype, total, one)
    return total


def _constant(expr: Const) -> Thunk:
    if not (expr.dtype.is_float or expr.dtype.is_complex):
        value = wrapped(int(expr.value.real), expr.dtype)
        return lambda world: value
    known: dict[Terms, Value] = {}

    def literal(world: World) -> Value:
        found = known.get(world.terms)
        if found is None:
            found = known[world.terms] = world.terms.literal(expr.value, expr.dtype)
        return found

    return literal


def compile_index(index: tuple[Expr, ...]) -> Callable[[World], Point]:
    """Return a function from a world to a subscript."""
    parts = tuple(compile_value(part) for part in index)
    if len(parts) == 1:
        (only,) = parts
        return lambda world: (_int(world, only(world)),)
    return lambda world: tuple(_int(world, part(world)) for part in parts)


def _int(world: World, value: Value) -> int:
    return value if type(value) is int else world.integer(value)


Operation: TypeAlias = Callable[[World, Lanes], Value]


def operation(expr: Expr, joins: bool = False) -> Operation:
    """Return the function of a world and operands that is `expr`'s outermost operation."""
    match expr:
        case Unary():
            return _unary(expr)
        case Binary():
            return _binary(expr, joins)
        case Compare():
            return _compare(expr)
        case Cast():
            return _cast(expr)
        case Call():
            return lambda world, args: world.terms.made(expr, args)
        case Select():

            def select(world: World, args: Lanes) -> Value:
                return args[1] if world.integer(args[0]) else args[2]

            return select
        case _:
            raise AssertionError(f"{show(expr)} is no operation")


def _unary(expr: Unary) -> Operation:
    dtype, op = expr.dtype, expr.op

    def run(world: World, args: Lanes) -> Value:
        (value,) = args
        if not isinstance(value, Term):
            match op:
                case UnaryOp.NEG:
                    return wrapped(-value, dtype)
                case UnaryOp.ABS:
                    return wrapped(abs(value), dtype)
                case UnaryOp.INVERT:
                    return not value if dtype is DType.BOOL else wrapped(~value, dtype)
        if op is UnaryOp.NEG and dtype in WIDE:
            return world.terms.ring(expr, -code_of(value) & (2**64 - 1), args)
        if op is UnaryOp.NEG and not dtype.is_integer:
            assert isinstance(value, Term)
            return world.terms.negated(value)
        return world.terms.made(expr, args)

    return run


def _binary(expr: Binary, joins: bool) -> Operation:
    dtype, op = expr.dtype, expr.op
    pure, is_ring = PURE.get(op), dtype in WIDE and op in RING
    joining = BinaryOp.ADD if op is BinaryOp.SUB else op
    is_float = dtype.is_float or dtype.is_complex
    can_join = joins and joining in JOINING and (op is joining or is_float)

    def run(world: World, args: Lanes) -> Value:
        left, right = args
        if pure is not None and not isinstance(left, Term) and not isinstance(right, Term):
            if right == 0 and op in (BinaryOp.FLOORDIV, BinaryOp.MOD):
                return world.terms.made(expr, args)
            return wrapped(pure(left, right), dtype)
        terms = world.terms
        if op is BinaryOp.SUB and is_float:
            right = negated(terms, right)
        if joining in JOINING and terms.neutral_in(joining, args):
            return terms.joined(joining, dtype, left, right)
        if can_join:
            return terms.joined(joining, dtype, left, right)
        if is_ring:
            code = RING[op](code_of(left), code_of(right)) & (2**64 - 1)
            return terms.ring(expr, code, args)
        if is_float and op in (BinaryOp.ADD, BinaryOp.SUB):
            return summed(terms, dtype, left, right)
        if is_float and op is BinaryOp.MUL:
            return multiplied(terms, dtype, left, right)
        return terms.made(expr, args)

    return run


def negated(terms: Terms, value: Value) -> Term:
    """Return `-value` of a float."""
    assert isinstance(value, Term)
    return terms.negated(value)


def summed(terms: Terms, dtype: DType, left: Value, right: Value) -> Value:
    """Return `left + right` of floats, operands in a fixed order."""
    if code_of(right) < code_of(left):
        left, right = right, left
    hole = Symbol("", dtype)
    return terms.made(Binary(BinaryOp.ADD, hole, hole, dtype), (left, right))


def multiplied(terms: Terms, dtype: DType, left: Value, right: Value) -> Value:
    """Return `left * right` of floats, operands in a fixed order, signs outside."""
    assert isinstance(left, Term)
    assert isinstance(right, Term)
    minus = False
    if left.name == "neg":
        left, minus = terms.negated(left), not minus
    if right.name == "neg":
        right, minus = terms.negated(right), not minus
    if right.code < left.code:
        left, right = right, left
    hole = Symbol("", dtype)
    found = terms.made(Binary(BinaryOp.MUL, hole, hole, dtype), (left, right))
    return terms.negated(found) if minus else found


_COMPARISONS: dict[CompareOp, Callable[[int, int], bool]] = {
    CompareOp.LT: lambda a, b: a < b,
    CompareOp.LE: lambda a, b: a <= b,
    CompareOp.GT: lambda a, b: a > b,
    CompareOp.GE: lambda a, b: a >= b,
    CompareOp.EQ: lambda a, b: a == b,
    CompareOp.NE: lambda a, b: a != b,
}


def _compare(expr: Compare) -> Operation:
    holds = _COMPARISONS[expr.op]

    def run(world: World, args: Lanes) -> Value:
        left, right = args
        if isinstance(left, Term) or isinstance(right, Term):
            return world.terms.made(expr, args)
        return holds(left, right)

    return run


def _cast(expr: Cast) -> Operation:
    source, target = expr.operand.dtype, expr.dtype

    def run(world: World, args: Lanes) -> Value:
        return converted(world.terms, args[0], source, target)

    return run


def converted(terms: Terms, value: Value, source: DType, target: DType) -> Value:
    """Return a value as `target`."""
    if source is target:
        return value
    if isinstance(value, Term):
        return terms.made(Cast(Symbol("", source), target), (value,))
    if target.is_integer or target is DType.BOOL:
        return wrapped(value, target) if target is not DType.BOOL else value != 0
    with np.errstate(all="ignore"):
        return terms.literal(target.numpy.type(value), target)
