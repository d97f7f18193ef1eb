"""Halo exchanges once in several iterations: neighbours compute what they need in between.

In: a plan with a loop over halo exchanges.  Out: a placement in which the loop runs in groups.
In the last iteration of a group a rank computes its own elements, in each one before some more on
both sides, so that all it reads in the group was there at the start of the group or is computed by
itself (Demmel et al., "Avoiding communication in sparse matrix computations", 2008).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import islpy as isl

from polyopt.dataclass import dataclass, replace
from polyopt.distribution.execution import Plan
from polyopt.distribution.forms import Form
from polyopt.distribution.ownership import Cut, Ownership
from polyopt.distribution.phases import Phase, Together
from polyopt.distribution.placement import Placement, Rule, named, place
from polyopt.ir.affine import coalesced, condition_set, pw_aff
from polyopt.ir.expr import (
    Binary,
    BinaryOp,
    Compare,
    CompareOp,
    Expr,
    Iter,
    Param,
    add,
    conjunction,
    integer,
    mul,
    sub,
)
from polyopt.ir.integers import evaluate
from polyopt.ir.scop import Scop, Statement
from polyopt.ir.types import DType
from polyopt.schedule.dependences import dependences_of

Width: TypeAlias = tuple[int, Mapping[str, int]]
"""How many indices a halo grows by in an iteration, and its width in the last, by statement."""

COUNTS = (4, 8, 16)
"""Iterations between exchanges that are tried."""
TWICE = 0.08
"""The part of a block that may be computed twice."""
FASTEST = 32
"""Indices that a halo may grow by in an iteration."""


@dataclass(frozen=True, slots=True)
class _Edge:
    """A statement reads another's value so many iterations later, at most `reach` indices away."""

    source: str
    reader: str
    distance: int
    reach: int


def in_groups(plan: Plan, every: int) -> Placement | None:
    """Return where statements run if stencils exchange once in `every` iterations; None: none."""
    tops = [step for step in plan.exchanges.phases.steps if isinstance(step, Together)]
    names = [name for step in tops if _is_stencil(plan, step) for name in step.statements]
    if not names:
        return None
    old = plan.exchanges.own
    statements = tuple(_grouped(s, every) if s.name in names else s for s in old.scop.statements)
    scop = Scop(old.scop.params, old.scop.context, old.scop.arrays, statements)
    own = replace(old, scop=scop)
    placement = place(own)
    before, after = (_widths(own, names, sign) for sign in (-1, 1))
    if before is None or after is None:
        return None
    domains = dict(placement.domains)
    for name in names:
        domains[name] = _widened(own, scop.statement(name), every, before, after)
    return Placement(own, {**placement.rules, **dict.fromkeys(names, Rule.WIDENED)}, domains)


def iterations_between(plan: Plan, sizes: Mapping[str, int], ranks: int) -> int:
    """Return how many iterations to run between exchanges, for blocks of these sizes.

    What neighbours compute twice is at most a part `TWICE` of a block.  The gain is that the
    kernel of several iterations keeps tiles in caches; fewer messages are the smaller part of it.
    """
    if plan.exchanges.own.is_cyclic:
        return 1
    tops = [step for step in plan.exchanges.phases.steps if isinstance(step, Together)]
    names = {name for step in tops if _is_stencil(plan, step) for name in step.statements}
    width = sum(
        max(map(sum, transfer.halo))
        for exchange in plan.listed
        if names.intersection(exchange.phase.statements)
        for transfer in exchange.transfers
    )
    if not width:
        return 1
    shortest = min(evaluate(b.extent, sizes) for b in plan.exchanges.own.blocks) // ranks
    return max((n for n in COUNTS if n * width <= TWICE * shortest), default=1)


def _is_stencil(plan: Plan, loop: Together) -> bool:
    """Tell whether a loop has halo exchanges alone, of what owners compute."""
    phases, placement = plan.exchanges.phases, plan.exchanges.phases.placement
    found = [e for e in plan.listed if set(e.phase.statements) <= set(loop.statements)]
    targets = [phases.scop.statement(name).target.array for name in loop.statements]
    return (
        all(isinstance(step, Phase) for step in loop.body)
        and all(placement.rules[name] is Rule.OWNER for name in loop.statements)
        and all(len(plan.exchanges.own.cuts[array]) == 1 for array in targets)
        and all(isinstance(phases.scop.statement(n).order[1], Iter) for n in loop.statements)
        and any(exchange.transfers for exchange in found)
        and all(t.form is Form.HALO and not t.late for e in found for t in e.transfers)
        and not any(exchange.combinations for exchange in found)
    )


def _grouped(statement: Statement, every: int) -> Statement:
    first, loop, *rest = statement.order
    group = Binary(BinaryOp.FLOORDIV, loop, integer(every), DType.INT64)
    return statement.at((first, group, integer(0), loop, *rest))


def _place(own: Ownership, statement: Statement) -> tuple[Cut, Expr]:
    (cut,) = own.cuts[statement.target.array]
    return cut, add(statement.target.index[cut.axis], integer(cut.shift))


def _edges(own: Ownership, names: Sequence[str], sign: int) -> list[_Edge] | None:
    """Return what statements read of each other on one side; None where it may be any number."""
    found = []
    for source, reader, pairs in named(dependences_of(own.scop).direct_flow):
        if source not in names or reader not in names:
            continue
        writer, other = own.scop.statement(source), own.scop.statement(reader)
        pairs = isl.Map.align_params(pairs, own.context.get_space())
        reach = _greatest(own, pairs, writer, other, sign)
        later = _least_distance(pairs, writer, other)
        if reach is None or later is None:
            return None
        found.append(_Edge(source, reader, later, max(0, reach)))
    return found


def _greatest(
    own: Ownership, pairs: isl.Map, writer: Statement, reader: Statement, sign: int
) -> int | None:
    ends = [_function(one, _place(own, one)[1], pairs) for one in (writer, reader)]
    return _most(pairs, ends, sign)


def _least_distance(pairs: isl.Map, writer: Statement, reader: Statement) -> int | None:
    ends = [_function(one, one.order[3], pairs) for one in (writer, reader)]
    most = _most(pairs, ends, 1)
    return None if most is None else -most


def _function(statement: Statement, value: Expr, pairs: isl.Map) -> isl.Map:
    domain = isl.Set.align_params(statement.domain, pairs.get_space())
    for position, name in enumerate(statement.iters):
        domain = domain.set_dim_name(isl.dim_type.set, position, name)
    whole = isl.Map.from_pw_aff(pw_aff(value, domain.get_space()))
    return isl.Map.align_params(whole, pairs.get_space())


def _most(pairs: isl.Map, ends: Sequence[isl.Map], sign: int) -> int | None:
    """Return the most that the second end is more than the first (sign 1: the first more)."""
    both = pairs.apply_domain(ends[0]).apply_range(ends[1])
    deltas = both.deltas() if sign < 0 else both.reverse().deltas()
    local = isl.LocalSpace.from_space(deltas.get_space())
    most = deltas.max_val(isl.Aff.var_on_domain(local, isl.dim_type.set, 0))
    return int(most.to_python()) if most.is_int() else None


def _widths(own: Ownership, names: Sequence[str], sign: int) -> Width | None:
    """Return how many indices a halo grows by for each iteration before the last, and its start.

    The least growth is taken for which the widths of statements that read each other are finite
    (Bellman and Ford's algorithm finds them).
    """
    edges = _edges(own, names, sign)
    for growth in range(FASTEST if edges is not None else 0):
        start = dict.fromkeys(names, 0)
        for _ in range(len(names) + 1):
            stable = True
            for edge in edges or ():
                wanted = start[edge.reader] - growth * edge.distance + edge.reach
                if start[edge.source] < wanted:
                    start[edge.source], stable = wanted, False
            if stable:
                return growth, start
    return None


def _widened(
    own: Ownership,
    statement: Statement,
    every: int,
    before: Width,
    after: Width,
) -> isl.Set:
    """Return the instances on this rank."""
    cut, at = _place(own, statement)
    loop, group = statement.order[3], statement.order[1]
    last = add(mul(group, integer(every)), integer(every - 1))
    left = sub(last, loop)  # iterations of the group that are still to come
    more = [add(integer(s[statement.name]), mul(left, integer(g))) for g, s in (before, after)]
    low = sub(Param(cut.blocks.low), more[0])
    high = add(Param(cut.blocks.high), more[1])
    inside = conjunction(
        (
            Compare(CompareOp.LT, Param(cut.blocks.low), Param(cut.blocks.high)),
            Compare(CompareOp.LE, low, at),
            Compare(CompareOp.LT, at, high),
        )
    )
    domain = isl.Set.align_params(statement.domain, own.context.get_space())
    domain = domain.intersect_params(own.context)
    for position, name in enumerate(statement.iters):
        domain = domain.set_dim_name(isl.dim_type.set, position, name)
    return coalesced(domain.intersect(condition_set(inside, domain.get_space())))
