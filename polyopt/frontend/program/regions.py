"""Statements and marks in their order become the parts of a program.

In: drafts and marks under their final names.  Out: `Parts`: maximal static control parts, with the
loops around marks, and loops that only run time ends, as regions.
A loop of a region is a parameter of what it holds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import groupby

import islpy as isl

from polyopt.dataclass import dataclass, field, replace
from polyopt.frontend.integers.affine_integers import at_least, floordiv, less, minus, plus, times
from polyopt.frontend.program.drafts import Binding, Draft, Invocation, Mark, Storage
from polyopt.frontend.program.statement_domains import ENDLESS, Loop, Scope
from polyopt.ir.affine import condition_set, param_space
from polyopt.ir.expr import Const, Expr, Iter, Load, Param, integer, rewrite
from polyopt.ir.names import params_of
from polyopt.ir.program import Allocate, Bind, Invoke, Part, Parts, Repeat, Require
from polyopt.ir.scop import Scop

Item = Draft | Mark


@dataclass(frozen=True, eq=False)
class Known:
    """What holds at a place: `params` in scope, the set `context` of their values."""

    params: tuple[str, ...]
    context: isl.Set
    iterators: Mapping[str, Expr] = field(default_factory=dict)

    def naming(self, param: str) -> Known:
        """Return what is known once `param` is bound."""
        return replace(self, params=(*self.params, param))

    def where(self, *conditions: Expr) -> Known:
        """Return what is known where the affine `conditions` hold."""
        space = param_space(self.params)
        context = self.context
        for condition in conditions:
            context = context.intersect(condition_set(condition, space))
        return replace(self, context=context)

    def narrowed(self, allowed: isl.Set) -> Known:
        """Return what is known in `allowed`, as far as one conjunction can say it."""
        hull = self.context.intersect(allowed).coalesce().simple_hull().to_set()
        return replace(self, context=self.context.intersect(hull).coalesce())

    def outside(self, expr: Expr) -> Expr:
        """Return `expr` with the iterators of the regions around as parameters."""
        if not self.iterators:
            return expr
        return rewrite(expr, lambda e: self.iterators.get(e.name) if isinstance(e, Iter) else None)


@dataclass(frozen=True, eq=False)
class Former:
    """`scop` makes a static control part of drafts without region loops; `after` tells what must
    hold, and the fault if it does not, once a parameter is bound or an iteration has begun."""

    scop: Callable[[Sequence[Draft], Known], Scop | None]
    after: Callable[[str, Sequence[Loop], Known], Sequence[tuple[isl.Set, Require]]]

    def parts(self, items: Sequence[Item], known: Known) -> Parts:
        """Return the parts of a whole function."""
        return self._body(items, 0, known)

    def _body(self, items: Sequence[Item], depth: int, known: Known) -> Parts:
        result: list[Part] = []
        waiting: list[Draft] = []

        def position(item: Item) -> int:
            return _constant(item.scope.order[2 * depth])

        def flush() -> None:
            scop = self.scop([_inside(draft, depth, known) for draft in waiting], known)
            waiting.clear()
            if scop is not None:
                result.append(scop)

        for _, group in groupby(sorted(items, key=position), key=position):
            here = list(group)
            marks = [m for m in here if isinstance(m, Mark) and len(m.scope.loops) == depth]
            rest = [item for item in here if item not in marks]
            drafts = [item for item in rest if isinstance(item, Draft)]
            if marks:
                flush()
            for mark in marks:
                known = self._mark(mark, known, result)
            if len(drafts) == len(rest) and not any(_ends_early(d, depth) for d in drafts):
                waiting += drafts
                continue
            flush()
            result.append(self._region(rest, depth, known))
        flush()
        return tuple(result)

    def _mark(self, mark: Mark, known: Known, result: list[Part]) -> Known:
        """Append the parts of a mark; return what is known after it."""
        match mark.what:
            case Binding(param=param, value=value):
                result.append(Bind(param, known.outside(value)))
                known = known.naming(param)
                known = self._required(param, mark.scope.loops, known, result)
            case Storage(buffer=buffer):
                result.append(Allocate(buffer.name))
            case Invocation(site=site, inputs=inputs, outputs=outputs):
                result.append(Invoke(site, inputs, outputs))
        return known

    def _required(
        self, place: str, loops: Sequence[Loop], known: Known, result: list[Part]
    ) -> Known:
        """Append what must hold from `place` on; return what is known where it does."""
        for allowed, require in self.after(place, loops, known):
            result.append(require)
            known = known.narrowed(allowed)
        return known

    def _region(self, items: Sequence[Item], depth: int, known: Known) -> Repeat:
        """Return the loop at `depth` around `items`."""
        loop = items[0].scope.loops[depth]
        lower, upper = known.outside(loop.lower), known.outside(loop.upper)
        param = Param(loop.iter)
        inner = known.naming(loop.iter)
        value: Expr = param
        if loop.step < 0:  # count upwards: the iterator is lower - step * count
            value = minus(lower, times(param, -loop.step))
            distance = plus(minus(lower, upper), -loop.step - 1)
            lower, upper = integer(0), floordiv(distance, integer(-loop.step))
        endless = loop.upper == ENDLESS
        bounds = [at_least(param, lower)] + ([] if endless else [less(param, upper)])
        inner = replace(inner, iterators={**known.iterators, loop.iter: value}).where(*bounds)
        checks: list[Part] = []
        if loop.going is not None:
            loops = items[0].scope.loops[: depth + 1]
            inner = self._required(loop.going.array, loops, inner, checks)
        body = (*checks, *self._body(items, depth + 1, inner))
        return Repeat(
            loop.iter,
            lower,
            None if endless else upper,
            max(loop.step, 1),
            loop.going,
            body,
            label=f"R{depth}",
            loc=loop.loc,
        )


def _constant(expr: Expr) -> int:
    assert isinstance(expr, Const)
    return int(expr.value.real)


def _ends_early(draft: Draft, depth: int) -> bool:
    return any(loop.going is not None for loop in draft.scope.loops[depth:])


def _inside(draft: Draft, depth: int, known: Known) -> Draft:
    """Return the draft without the loops of the regions around it."""
    if depth == 0:
        return draft
    scope = inner_scope(draft.scope, depth, known)
    target = known.outside(draft.target)
    assert isinstance(target, Load)
    return replace(draft, scope=scope, target=target, value=known.outside(draft.value))


def inner_scope(scope: Scope, depth: int, known: Known) -> Scope:
    """Return `scope` without its `depth` outermost loops, whose iterators are parameters."""
    loops = tuple(
        replace(loop, lower=known.outside(loop.lower), upper=known.outside(loop.upper))
        for loop in scope.loops[depth:]
    )
    return Scope(
        loops,
        tuple(known.outside(condition) for condition in scope.conditions),
        known.outside(scope.guard),
        scope.order[2 * depth :],
    )


def used_params(drafts: Sequence[Draft]) -> frozenset[str]:
    """Return the parameters that drafts mention."""
    exprs: list[Expr] = []
    for draft in drafts:
        scope = draft.scope
        exprs += [e for loop in scope.loops for e in (loop.lower, loop.upper)]
        exprs += [*scope.conditions, scope.guard, draft.target, draft.value]
    return params_of(exprs)
