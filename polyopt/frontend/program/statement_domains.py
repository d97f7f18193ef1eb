"""Where a statement stands: its loops, conditions and place in the source's order, as isl sets.

In: loops and conditions over iterators and parameters.  Out: domains, and answers about them.
"""

from __future__ import annotations

from collections.abc import Iterable

import islpy as isl

from polyopt.dataclass import dataclass, field, replace
from polyopt.errors import Loc
from polyopt.frontend.integers.affine_integers import TRUE, constant, minus
from polyopt.ir.affine import condition_set, param_space, set_space
from polyopt.ir.expr import (
    Binary,
    BinaryOp,
    Compare,
    CompareOp,
    Const,
    Expr,
    Iter,
    Load,
    Unary,
    UnaryOp,
    integer,
)
from polyopt.ir.names import params_of
from polyopt.ir.types import DType


@dataclass(frozen=True, slots=True)
class Loop:
    """`for iter in range(lower, upper, step)`, as Python means it.

    `going` (BOOL, an element of a 0-d array) is read before every iteration: the loop ends when it
    is false.  A loop with `going` is no part of a domain: it runs around static control parts.
    `loc`: where the source has the loop.
    """

    iter: str
    lower: Expr
    upper: Expr
    step: int = 1
    going: Load | None = None
    loc: Loc | None = field(default=None, compare=False)

    @property
    def time(self) -> Expr:
        """The iterator as time: downward loops run it backwards."""
        value = Iter(self.iter)
        return value if self.step > 0 else Unary(UnaryOp.NEG, value, DType.INT64)

    def distance(self, to: Expr) -> Expr:
        """Return how far a value of the iterator is from its first one, as the loop counts."""
        return minus(to, self.lower) if self.step > 0 else minus(self.lower, to)

    def conditions(self) -> tuple[Expr, ...]:
        """What holds of the iterator."""
        value = Iter(self.iter)
        if self.step > 0:
            bounds = (
                Compare(CompareOp.GE, value, self.lower),
                Compare(CompareOp.LT, value, self.upper),
            )
        else:
            bounds = (
                Compare(CompareOp.LE, value, self.lower),
                Compare(CompareOp.GT, value, self.upper),
            )
        if abs(self.step) == 1:
            return bounds
        rest = Binary(BinaryOp.MOD, self.distance(value), integer(abs(self.step)), DType.INT64)
        return (*bounds, Compare(CompareOp.EQ, rest, integer(0)))


ENDLESS = integer(1 << 62)  # the upper bound of a loop that only `going` ends


@dataclass(frozen=True, slots=True)
class Scope:
    """The loops around a statement, the conditions it stands under and its order up to here.

    `operand`: what is read is an operand that may not be evaluated, such as the second of `and`;
    the kernel evaluates the whole expression, so that the values it reads are set all the same.
    """

    loops: tuple[Loop, ...] = ()
    conditions: tuple[Expr, ...] = ()
    guard: Expr = TRUE
    order: tuple[Expr, ...] = ()
    operand: bool = False

    @property
    def iters(self) -> tuple[str, ...]:
        """Names of the iterators, outermost first."""
        return tuple(loop.iter for loop in self.loops)

    def inside(self, loops: Iterable[Loop]) -> Scope:
        """Return the scope with more loops inside (their order is the caller's business)."""
        return replace(self, loops=(*self.loops, *loops))

    def under(self, *conditions: Expr) -> Scope:
        """Return the scope with more conditions."""
        kept = tuple(c for c in conditions if c != TRUE)
        return replace(self, conditions=(*self.conditions, *kept))


def is_same_place(here: Scope, other: Scope) -> bool:
    """Whether both are in the same loops, under the same conditions."""
    mine, theirs = ((s.loops, s.conditions, s.guard) for s in (here, other))
    return mine == theirs


def scope_exprs(scope: Scope) -> tuple[Expr, ...]:
    """Return the bounds and conditions of a scope."""
    bounds = tuple(e for loop in scope.loops for e in (loop.lower, loop.upper))
    return (*bounds, *scope.conditions)


def domain_of(scope: Scope, params: tuple[str, ...], name: str) -> isl.Set:
    """Return `[params] -> { name[iters] }`: the instances of a statement in `scope`."""
    space = set_space(params, name, scope.iters)
    result = isl.Set.universe(space)
    for loop in scope.loops:
        for condition in loop.conditions():
            result = result.intersect(condition_set(condition, space))
    for condition in scope.conditions:
        result = result.intersect(condition_set(condition, space))
    return result


def size_context(params: tuple[str, ...], sizes: Iterable[Expr]) -> isl.Set:
    """Return the parameter values for which every extent in `sizes` is at least zero.

    Extents over other parameters than `params` are left out.
    """
    space = param_space(params)
    result = isl.Set.universe(space)
    known = frozenset(params)
    for size in sizes:
        if constant(size) is None and params_of((size,)) <= known:
            result = result.intersect(condition_set(Compare(CompareOp.GE, size, integer(0)), space))
    return result


def holds_nowhere(scope: Scope, condition: Expr, sizes: Iterable[Expr]) -> bool:
    """Whether `condition` is false at every instance of `scope`."""
    if isinstance(condition, Const):
        return not condition.value
    params = tuple(sorted(params_of(scope_exprs(scope.under(condition)))))
    domain = domain_of(scope, params, "S").intersect_params(size_context(params, sizes))
    holds = condition_set(condition, domain.get_space(), domain)
    return bool(domain.intersect(holds).is_empty())
