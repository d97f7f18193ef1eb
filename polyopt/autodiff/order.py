"""The order of a way back, and the statements in it.

In: the statements of the way forward, the steps of each on the way back.  Out: `Adjoint`s.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from polyopt.autodiff.instances import Instances
from polyopt.dataclass import dataclass, replace
from polyopt.ir.expr import (
    Binary,
    BinaryOp,
    Expr,
    Iter,
    Load,
    Param,
    Unary,
    UnaryOp,
    integer,
    loads,
    rewrite,
    sub,
    substitute,
)
from polyopt.ir.linear import linear, normalize
from polyopt.ir.names import iterators, reads
from polyopt.ir.scop import Statement

_READ, _ADD, _WRITE = "read", "add", "write"


@dataclass(frozen=True, slots=True)
class Step:
    """`target = value`; `is_sum`: it adds to its target, in any order.

    `without`: the statement's iterators that it does not have: once for all of their values.
    `shifts`: iterators that run over other values than those of the statement, this much larger.
    `when`: what holds of the statement's iterators wherever it adds anything; there may be no such
    element elsewhere.
    """

    target: Load
    value: Expr
    is_sum: bool = False
    without: frozenset[str] = frozenset()
    shifts: tuple[tuple[str, Expr], ...] = ()
    when: tuple[Expr, ...] = ()

    @property
    def arrays(self) -> frozenset[str]:
        """The arrays that it touches."""
        return reads(self.value) | {self.target.array}


@dataclass(frozen=True, slots=True)
class Adjoint:
    """A step for the instances of statement `source`, in the place `order`.

    `loops`: the loops around it, by their depth in the source; `turned`: those that run the other
    way.
    """

    source: int
    order: tuple[Expr, ...]
    loops: tuple[int, ...]
    turned: frozenset[int]
    step: Step


Bounds: TypeAlias = Callable[[int, int], frozenset[str]]
"""Returns the iterators that the bounds of a statement's loop at some depth depend on."""


Steps: TypeAlias = tuple[int, list[Step]]
"""A statement, and what happens on its way back, in order."""


class Order:
    """The places of the way back of `statements` inside of `depth` common loops.

    `ordered`: the arrays that it changes.  `restored`: the statements whose targets it restores.
    `extrema`: the statements that take an extremum of many.  `bounds`: of the statements' loops.
    `turned`: for each statement the depths of loops that run the other way.
    """

    def __init__(
        self,
        instances: Instances,
        depth: int,
        ordered: frozenset[str],
        restored: frozenset[int],
        extrema: frozenset[int],
        bounds: Bounds,
    ) -> None:
        self._extrema = extrema
        self._bounds = bounds
        self._instances = instances
        self._statements: Sequence[Statement] = instances.statements
        self._depth = depth
        self._ordered = ordered
        self._restored = restored
        self.turned = self._turned_loops()

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
        adds = n in self._extrema or (n not in self._restored and adds_only(statement))
        found = [(load, _READ) for load in loads(statement.value) if load != target or not adds]
        return [(target, _ADD if adds else _WRITE), *found]

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
            shared = max((self._depth, *(depth + 1 for depth in self.turned[n])))
            around: list[Expr] = [*order[: 2 * self._depth]]
            for depth in range(self._depth, shared):
                behind = count - 1 - last[self._together(n, depth)]
                time = order[2 * depth + 1]
                around.append(integer(behind * width))
                around.append(_opposite(time) if depth in self.turned[n] else time)
            for position, step in enumerate(found):
                place = integer((count - 1 - n) * width + position)
                moved, loops = self._moved(n, shared, step)
                own = [part for depth in loops for part in (order[2 * depth + 1], integer(0))]
                found_order = (*around, place, *own)
                loops = (*range(shared), *loops)
                adjoints.append(Adjoint(n, found_order, loops, self.turned[n], moved))
        return tuple(adjoints), count * width

    def _together(self, n: int, depth: int) -> tuple[Expr, ...]:
        """Return what the orders of the statements begin with that share the loop at `depth`."""
        order, turned = self._statements[n].order, self.turned[n]
        if depth in turned:
            return order[: 2 * depth + 2]
        while 2 * depth + 3 < len(order) and depth + 1 not in turned:
            depth += 1
        return order[: 2 * depth + 3]

    def _moved(self, n: int, shared: int, step: Step) -> tuple[Step, tuple[int, ...]]:
        """Return a step and the order of its own loops, those of the statement from `shared` on.

        The element that a sum adds to is what its iterators run over, as far as can be.
        """
        iters = self._statements[n].iters
        kept = [depth for depth in range(shared, len(iters)) if iters[depth] not in step.without]
        inner = tuple(iters[depth] for depth in kept)
        shifts: dict[str, Expr] = {}
        loops = tuple(kept)
        for part in step.target.index if step.is_sum else ():
            for name in inner:
                found = None if name in shifts else _shift(name, part, step.target.index)
                if found is None or iterators(found) & shifts.keys():
                    continue
                if iterators(found) and self._instances.is_apart(n, step.target.index):
                    continue  # no two terms meet in one element
                wanted = self._nested(n, kept, {**shifts, name: found})
                if wanted is not None:
                    shifts[name], loops = found, wanted
                    break
        if not shifts:
            return step, loops
        before = {name: sub(Iter(name), shift) for name, shift in shifts.items()}
        target = _tidied(substitute(step.target, before))
        assert isinstance(target, Load)
        value = _tidied(substitute(step.value, before))
        moved = replace(step, target=target, value=value, shifts=tuple(shifts.items()))
        return moved, loops

    def _nested(
        self, n: int, kept: Sequence[int], shifts: Mapping[str, Expr]
    ) -> tuple[int, ...] | None:
        """Return loops in an order in which all that their bounds mention is around them."""
        iters = self._statements[n].iters
        names = {iters[depth] for depth in kept}
        waiting, found, known = list(kept), list[int](), set[str]()
        while waiting:
            for depth in waiting:
                shift = shifts.get(iters[depth])
                used = self._bounds(n, depth) | (frozenset() if shift is None else iterators(shift))
                used = used.union(*(iterators(shifts[name]) for name in used & shifts.keys()))
                if used & names <= known:
                    break
            else:
                return None
            waiting.remove(depth)
            found.append(depth)
            known.add(iters[depth])
        return tuple(found)


def adds_only(statement: Statement) -> bool:
    """Tell whether a statement only adds to its target."""
    match statement.value:
        case Binary(op=BinaryOp.ADD, left=left, right=right):
            own, rest = (left, right) if left == statement.target else (right, left)
        case Binary(op=BinaryOp.SUB, left=own, right=rest):
            pass
        case _:
            return False
    return own == statement.target and statement.target not in loads(rest)


def _shift(name: str, part: Expr, index: Sequence[Expr]) -> Expr | None:
    """Return `s` where the subscript `part`, the only one with `name`, is `name + s`; not for 0."""
    if [other for other in index if name in iterators(other)] != [part]:
        return None
    rest = normalize(sub(part, Iter(name)))
    is_plain = all(isinstance(atom, Iter | Param) for atom, _ in linear(rest).terms)
    return None if name in iterators(rest) or rest == integer(0) or not is_plain else rest


def _tidied(expr: Expr) -> Expr:
    """Return an expression with the sums in its subscripts collected."""

    def rule(part: Expr) -> Expr | None:
        if not isinstance(part, Load):
            return None
        return Load(part.array, tuple(normalize(_tidied(e)) for e in part.index), part.dtype)

    return rewrite(expr, rule)


def _opposite(time: Expr) -> Expr:
    match time:
        case Iter():
            return Unary(UnaryOp.NEG, time, time.dtype)
        case Unary(op=UnaryOp.NEG):
            return time.operand
        case _:
            raise AssertionError("a loop's time is its iterator")
