"""Represent the position of a node: the loops and conditions around it, its iterations.

In: nodes from the outermost inwards.  Out: isl sets over their iterators.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cached_property

import islpy as isl

from polyopt.dataclass import dataclass
from polyopt.ir.expr import (
    Binary,
    BinaryOp,
    Compare,
    Const,
    Expr,
    Select,
    Unary,
    UnaryOp,
)
from polyopt.ir.integers import is_total, opposite
from polyopt.ir.loops import CONCURRENT, Body, For, If, Node
from polyopt.ir.nodes import bodies, with_bodies
from polyopt.ir.types import DType
from polyopt.proof.affine import Frame, NotAffine


@dataclass(frozen=True, slots=True)
class Holds:
    """A condition that is true at the node."""

    condition: Expr


@dataclass(frozen=True, slots=True)
class Excludes:
    """A condition that is false at the node, unless a fault was noted, which voids all results."""

    condition: Expr


@dataclass(frozen=True, slots=True)
class Iterates:
    """A loop around the node; `lower`, `upper`, `step` are its own."""

    loop: For


@dataclass(frozen=True, eq=False)
class Path:
    """The steps from the function's body to a node.  `params` are fixed everywhere."""

    params: tuple[str, ...]
    context: isl.Set
    steps: tuple[Iterates | Holds | Excludes, ...] = ()
    outer: Path | None = None

    def into(self, node: Node, position: int) -> Path:
        """Return the path to body number `position` of `node`."""
        match node:
            case For():
                return self._with(Iterates(node))
            case If() if position == 0:
                return self._with(Holds(node.condition))
            case If():
                return self._with(Holds(Unary(UnaryOp.INVERT, node.condition, DType.BOOL)))
            case _:
                return self

    def without(self, conditions: Iterable[Expr]) -> Path:
        """Return the path to a node where none of the conditions of noted faults holds."""
        path = self
        for condition in conditions:
            path = path._with(Excludes(condition))
        return path

    def _with(self, step: Iterates | Holds | Excludes) -> Path:
        return Path(self.params, self.context, (*self.steps, step), self)

    @property
    def excluded(self) -> tuple[Expr, ...]:
        """The conditions that are false at the node, unless a fault was noted."""
        return tuple(step.condition for step in self.steps if isinstance(step, Excludes))

    @property
    def loops(self) -> tuple[For, ...]:
        """The loops, outermost first."""
        return tuple(step.loop for step in self.steps if isinstance(step, Iterates))

    @property
    def is_concurrent(self) -> bool:
        """Whether other iterations may run at the same time."""
        return any(loop.kind in CONCURRENT for loop in self.loops)

    @cached_property
    def frame(self) -> Frame:
        """The names in scope."""
        if self.outer is not None and not isinstance(self.steps[-1], Iterates):
            return self.outer.frame
        return Frame(self.params, tuple(loop.iter for loop in self.loops))

    @cached_property
    def _reached(self) -> tuple[isl.Set, tuple[Expr, ...]]:
        if self.outer is None:
            return self.frame.universe.intersect_params(self.context), ()
        result, known = self.outer._reached
        data = list(known)
        match self.steps[-1]:
            case Iterates(loop=loop):
                result = result.add_dims(isl.dim_type.set, 1)
                result = isl.Set.align_params(result, self.frame.space)
                result = result.intersect(_bounds(self.frame, loop, data))
            case Holds(condition=condition):
                for part in conjuncts(condition):
                    try:
                        result = result.intersect(self.frame.condition(part))
                    except NotAffine:
                        data.append(part)
        return result, tuple(data)

    @property
    def domain(self) -> isl.Set:
        """A superset of the iterations that reach the node: conditions on data are left out."""
        return self._reached[0]

    @property
    def data(self) -> tuple[Expr, ...]:
        """The conditions that are not affine."""
        return self._reached[1]

    def implies(self, condition: Expr) -> bool:
        """Tell whether an affine condition, or one of those on data, holds at the node."""
        if condition in self.data:
            return True
        try:
            return bool(self.domain.is_subset(self.frame.condition(condition)))
        except NotAffine:
            return False


def _bounds(frame: Frame, loop: For, data: list[Expr]) -> isl.Set:
    result = frame.universe
    for bound, make in ((loop.lower, frame.at_least), (loop.upper, frame.below)):
        try:
            result = result.intersect(make(loop.iter, bound))
        except NotAffine:
            data.append(bound)
    if loop.step != 1:
        try:
            result = result.intersect(frame.stepped(loop.iter, loop.lower, loop.step))
        except NotAffine:
            data.append(loop.lower)
    return result


def conjuncts(condition: Expr) -> Iterator[Expr]:
    """Yield the operands of `and` in `condition`, including those of negated alternatives."""
    match condition:
        case Binary(op=BinaryOp.AND, dtype=DType.BOOL):
            yield from conjuncts(condition.left)
            yield from conjuncts(condition.right)
        case Select(otherwise=Const(value=False), dtype=DType.BOOL):
            yield from conjuncts(condition.condition)
            yield from conjuncts(condition.then)
        case Unary(op=UnaryOp.INVERT, operand=Binary(op=BinaryOp.OR) as either):
            for side in (either.left, either.right):
                yield from conjuncts(Unary(UnaryOp.INVERT, side, DType.BOOL))
        case Unary(op=UnaryOp.INVERT, operand=Unary(op=UnaryOp.INVERT) as inner):
            yield from conjuncts(inner.operand)
        case Unary(op=UnaryOp.INVERT, operand=Compare() as compared) if is_total(compared):
            yield opposite(compared)
        case _:
            yield condition


def map_paths(node: Node, path: Path, change: Callable[[Body, Path], Body]) -> Node:
    """Return `node`, reached by `path`, with each body replaced by `change(body, its path)`."""
    parts = (change(part, path.into(node, n)) for n, part in enumerate(bodies(node)))
    return with_bodies(node, tuple(parts))


def with_paths(body: Body, path: Path) -> Iterator[tuple[Node, Path]]:
    """Yield every node with the path to it, parents first."""
    for node in body:
        yield node, path
        for position, part in enumerate(bodies(node)):
            yield from with_paths(part, path.into(node, position))
