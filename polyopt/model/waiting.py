"""How long the iterations of a loop wait for each other.

In: a loop.  Out: cycles from an iteration's results to the next one's.
A few iterations are run with the cycle in which each number is known, as if there were units
enough: what is left of that time for each further iteration is the longest chain.
"""

from __future__ import annotations

from collections.abc import Iterator

from polyopt.dataclass import dataclass, field
from polyopt.ir.expr import (
    Binary,
    BinaryOp,
    Call,
    Expr,
    Iter,
    Load,
    MathFunc,
    Symbol,
    VectorLoad,
    children,
    walk,
)
from polyopt.ir.linear import linear
from polyopt.ir.loops import Assign, Body, Declare, For, If, LoopKind, SetLocal
from polyopt.model.contraction import LATENCY
from polyopt.model.operations import counts

FIRST, LAST = 4, 8  # iterations: whatever is read from so many before is part of a chain
EARLY = float("-inf")
WHOLE, LOADING = 1.0, 5.0  # cycles of an operation on whole numbers, of a load
SLOW = {BinaryOp.DIV: 13.0, BinaryOp.POW: 80.0, BinaryOp.FLOORDIV: 20.0, BinaryOp.MOD: 20.0}
ROOT, FUNCTION = 20.0, 60.0  # cycles of a square root, of exp and the like
_INSIDE = (LoopKind.VECTOR, LoopKind.UNROLL)  # loops whose iterations run together

_Statement = Assign | Declare | SetLocal
_Key = tuple[object, ...]


def waits(loop: For) -> float:
    """Return the cycles by which an iteration's results come after those of the one before."""
    statements = tuple(_statements(loop.body))
    written = frozenset(_name(node) for node in statements)
    if not any(_reads(node.value, written) for node in statements):
        return 0.0
    clock = _Clock(loop.iter, written)
    times = [clock.turn(statements) for _ in range(LAST)]
    return (times[LAST - 1] - times[FIRST - 1]) / (LAST - FIRST)


def _statements(body: Body) -> Iterator[_Statement]:
    """Yield what an iteration runs itself; inner loops in order have chains of their own."""
    for node in body:
        match node:
            case Assign() | Declare() | SetLocal():
                yield node
            case If():
                yield from _statements(node.then)
                yield from _statements(node.otherwise)
            case For() if node.kind in _INSIDE:
                yield from _statements(node.body)
            case _:
                pass


def _name(node: _Statement) -> str:
    return node.target.array if isinstance(node, Assign) else node.name


def _reads(value: Expr, names: frozenset[str]) -> bool:
    return any(
        part.array in names if isinstance(part, Load | VectorLoad) else part.name in names
        for part in walk(value)
        if isinstance(part, Load | VectorLoad | Symbol)
    )


@dataclass
class _Clock:
    """When numbers are known: locals by name, elements by array and place, in cycles."""

    iter: str
    written: frozenset[str]
    iteration: int = 0
    known: dict[_Key, float] = field(default_factory=dict)

    def turn(self, statements: tuple[_Statement, ...]) -> float:
        """Run an iteration; return when the last of its numbers is known that another waits for."""
        for node in statements:
            key = self._place(node.target) if isinstance(node, Assign) else (node.name,)
            self.known[key] = self._at(node.value)
        self.iteration += 1
        return max(0.0, *self.known.values())

    def _place(self, access: Load | VectorLoad) -> _Key:
        """Return an element as a key; the loop's iterator has its number."""
        places = []
        for index in access.index:
            found = linear(index)
            own = sum(c for atom, c in found.terms if atom == Iter(self.iter))
            others = frozenset((a, c) for a, c in found.terms if a != Iter(self.iter))
            places.append((found.constant + own * self.iteration, others))
        return (access.array, *places)

    def _at(self, expr: Expr) -> float:
        """Return when a number is known: `EARLY` unless it is made of what iterations write."""
        match expr:
            case Symbol():
                return self.known.get((expr.name,), self._begun(expr.name))
            case Load() | VectorLoad():
                of_data = max(map(self._at, expr.index), default=EARLY) + LOADING
                there = self.known.get(self._place(expr), self._begun(expr.array))
                return max(there, of_data)
            case _:
                return max(map(self._at, children(expr)), default=EARLY) + _cycles(expr)

    def _begun(self, name: str) -> float:
        return 0.0 if name in self.written else EARLY


def _cycles(expr: Expr) -> float:
    """Return how long an operation takes once its operands are known."""
    match expr:
        case Binary() if not counts(expr.dtype):
            return SLOW.get(expr.op, WHOLE)
        case Binary():
            return SLOW.get(expr.op, LATENCY)
        case Call(func=MathFunc.SQRT):
            return ROOT
        case Call(func=MathFunc.FMA):
            return LATENCY
        case Call():
            return FUNCTION
        case _:
            return WHOLE
