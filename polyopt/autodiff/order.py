"""The order of a way back, and the statements in it.

In: the statements of the way forward, the steps of each on the way back.  Out: `Adjoint`s.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from polyopt.autodiff.instances import Instances
from polyopt.dataclass import dataclass
from polyopt.ir.expr import (
    Binary,
    BinaryOp,
    Expr,
    Iter,
    Load,
    Unary,
    UnaryOp,
    integer,
    loads,
    rewrite,
    sub,
    substitute,
    walk,
)
from polyopt.ir.linear import normalize
from polyopt.ir.scop import Statement

_READ, _ADD, _WRITE = "read", "add", "write"


@dataclass(frozen=True, slots=True)
class Step:
    """`target = value`; `is_sum`: it adds to its target, in any order.

    `shifts`: iterators that run over other values than those of the statement, this much larger.
    """

    target: Load
    value: Expr
    is_sum: bool = False
    shifts: tuple[tuple[str, Expr], ...] = ()

    @property
    def arrays(self) -> frozenset[str]:
        """The arrays that it touches."""
        return frozenset((self.target.array, *(load.array for load in loads(self.value))))


@dataclass(frozen=True, slots=True)
class Adjoint:
    """A step for the instances of statement `source`, in the place `order`.

    `turned`: the loops, by their depth, that run the other way.
    """

    source: int
    order: tuple[Expr, ...]
    turned: frozenset[int]
    step: Step


Steps: TypeAlias = tuple[int, list[Step]]
"""A statement, and what happens on its way back, in order."""


class Order:
    """The places of the way back of `statements` inside of `depth` common loops.

    `ordered`: the arrays that it changes.  `restored`: the statements whose targets it restores.
    """

    def __init__(
        self,
        instances: Instances,
        depth: int,
        ordered: frozenset[str],
        restored: frozenset[int],
    ) -> None:
        self._instances = instances
        self._statements: Sequence[Statement] = instances.statements
        self._depth = depth
        self._ordered = ordered
        self._restored = restored
        self._turned = self._turned_loops()

    def _turned_loops(self) -> dict[int, frozenset[int]]:
        """Return for each statement the depths of the loops that carry a dependence."""
        groups: dict[tuple[Expr, ...], list[int]] = {}
        for n, statement in enumerate(self._statements):
            for depth in range(self._depth, len(statement.iters)):
                groups.setdefault(statement.order[: 2 * depth + 2], []).append(n)
        found: dict[int, set[int]] = {n: set() for n in range(len(self._statements))}
        for prefix, members in groups.items():
            if self._carries(members, len(prefix) - 1):
                for n in members:
                    found[n].add(len(prefix) // 2 - 1)
        return {n: frozenset(depths) for n, depths in found.items()}

    def _carries(self, members: Sequence[int], place: int) -> bool:
        uses = [
            (n, load, kind)
            for n in members
            for load, kind in self._uses(n)
            if load.array in self._ordered
        ]
        for position, (one, first, kind) in enumerate(uses):
            for two, second, other in uses[position:]:
                if first.array != second.array or (kind == other and kind != _WRITE):
                    continue
                if self._instances.is_carried((one, two), (first, second), place):
                    return True
        return False

    def _uses(self, n: int) -> list[tuple[Load, str]]:
        """Return the elements that a statement reads, adds to and writes."""
        statement = self._statements[n]
        target = statement.target
        adds = n not in self._restored and self._adds_only(n)
        found = [(load, _READ) for load in loads(statement.value) if load != target or not adds]
        return [(target, _ADD if adds else _WRITE), *found]

    def _adds_only(self, n: int) -> bool:
        """Tell whether a statement only adds to its target."""
        statement = self._statements[n]
        match statement.value:
            case Binary(op=BinaryOp.ADD, left=left, right=right):
                own, rest = (left, right) if left == statement.target else (right, left)
            case Binary(op=BinaryOp.SUB, left=own, right=rest):
                pass
            case _:
                return False
        return own == statement.target and statement.target not in loads(rest)

    def placed(self, steps: Sequence[Steps]) -> tuple[tuple[Adjoint, ...], int]:
        """Return the steps with their places in the order, and how many places there are.

        Loops that are not turned carry no dependence: each part of their bodies gets loops of its
        own, and inside of the last loop that is turned each step does.
        """
        count = len(self._statements)
        last: dict[tuple[Expr, ...], int] = {}
        for n, statement in enumerate(self._statements):
            for depth in range(self._depth, len(statement.iters)):
                last[self._together(n, depth)] = n
        width = max((len(found) for _, found in steps), default=1)
        adjoints: list[Adjoint] = []
        for n, found in steps:
            order = self._statements[n].order
            shared = max((self._depth, *(depth + 1 for depth in self._turned[n])))
            around: list[Expr] = [*order[: 2 * self._depth]]
            for depth in range(self._depth, shared):
                behind = count - 1 - last[self._together(n, depth)]
                time = order[2 * depth + 1]
                around.append(integer(behind * width))
                around.append(_opposite(time) if depth in self._turned[n] else time)
            own: list[Expr] = []
            for time in order[2 * shared + 1 :: 2]:
                own += [time, integer(0)]
            for position, step in enumerate(found):
                place = integer((count - 1 - n) * width + position)
                moved = self._moved(n, shared, step)
                adjoints.append(Adjoint(n, (*around, place, *own), self._turned[n], moved))
        return tuple(adjoints), count * width

    def _together(self, n: int, depth: int) -> tuple[Expr, ...]:
        """Return what the orders of the statements begin with that share the loop at `depth`."""
        order, turned = self._statements[n].order, self._turned[n]
        if depth in turned:
            return order[: 2 * depth + 2]
        while 2 * depth + 3 < len(order) and depth + 1 not in turned:
            depth += 1
        return order[: 2 * depth + 3]

    def _moved(self, n: int, shared: int, step: Step) -> Step:
        """Return a sum with the element that it adds to as its iterators, shifted to there."""
        iters = self._statements[n].iters
        if not step.is_sum:
            return step
        shifts = {
            name: shift
            for name in iters[shared:]
            if (shift := _shift(name, step.target.index, iters[shared:])) is not None
        }
        if not shifts:
            return step
        before = {name: sub(Iter(name), shift) for name, shift in shifts.items()}
        target = substitute(step.target, before)
        assert isinstance(target, Load)
        index = tuple(normalize(part) for part in target.index)
        value = rewrite(
            substitute(step.value, before),
            lambda e: (
                Load(e.array, tuple(map(normalize, e.index)), e.dtype)
                if isinstance(e, Load)
                else None
            ),
        )
        return Step(Load(target.array, index, target.dtype), value, True, tuple(shifts.items()))


def _shift(name: str, index: Sequence[Expr], inner: Sequence[str]) -> Expr | None:
    """Return `s` where the only subscript with iterator `name` is `name + s`, None where `s` is 0.

    `s` is the same in all iterations of the loops `inner`.
    """
    places = [part for part in index if Iter(name) in walk(part)]
    if len(places) != 1:
        return None
    rest = normalize(sub(places[0], Iter(name)))
    names = {part.name for part in walk(rest) if isinstance(part, Iter)}
    if names & {*inner} or rest == integer(0):
        return None
    return rest


def _opposite(time: Expr) -> Expr:
    match time:
        case Iter():
            return Unary(UnaryOp.NEG, time, time.dtype)
        case Unary(op=UnaryOp.NEG):
            return time.operand
        case _:
            raise AssertionError("a loop's time is its iterator")
