"""A phase as a program of its own, which the pipeline compiles like any other.

In: a phase, the windows of arrays that a rank holds.  Out: a `Program` over sizes, blocks and
places in the loops around; elements of cut arrays are counted from the start of the window.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

import islpy as isl

from polyopt.dataclass import dataclass, replace
from polyopt.distribution.exchange import Exchanges
from polyopt.distribution.forms import Form, reach_of
from polyopt.distribution.ownership import Cut, Ownership
from polyopt.distribution.phases import Phase, place_of
from polyopt.ir.affine import coalesced, condition_set, param_space
from polyopt.ir.array import Array, Role
from polyopt.ir.expr import (
    Compare,
    CompareOp,
    Expr,
    Iter,
    Load,
    Param,
    add,
    integer,
    rewrite,
    sub,
    walk,
)
from polyopt.ir.expr import Symbol as SymbolExpr
from polyopt.ir.integers import evaluate
from polyopt.ir.parameters import maps_of, without_params
from polyopt.ir.program import Program
from polyopt.ir.scop import Scop, Statement
from polyopt.ir.source import ArrayArg, IntegerOf, Layout, ScalarArg, Signature
from polyopt.ir.types import DType
from polyopt.schedule.dependences import dependences_of

Domains: TypeAlias = Mapping[str, isl.Set]


@dataclass(frozen=True, slots=True)
class Window:
    """What a rank holds along a cut: its block with `before` and `after` more indices; or all."""

    cut: Cut
    before: int
    after: int
    whole: bool = False

    def start(self) -> Expr:
        """Return the first element of the window."""
        if self.whole:
            return integer(0)
        return sub(Param(self.cut.blocks.low), integer(self.before + self.cut.shift))

    def extent(self, shape: tuple[Expr, ...]) -> Expr:
        """Return how many elements it has."""
        if self.whole:
            return shape[self.cut.axis]
        block = sub(Param(self.cut.blocks.high), Param(self.cut.blocks.low))
        return add(block, integer(self.before + self.after))


@dataclass(frozen=True, eq=False)
class Storage:
    """What each rank holds: windows of cut arrays, and the temporaries that phases share."""

    windows: Mapping[str, tuple[Window, ...]]
    shared: frozenset[str]

    def shape(self, array: Array) -> tuple[Expr, ...]:
        """Return the extents of an array in the memory of a rank."""
        found = list(array.shape)
        for window in self.windows.get(array.name, ()):
            found[window.cut.axis] = window.extent(array.shape)
        return tuple(found)

    def starts(self, array: Array, values: Mapping[str, int]) -> tuple[int, ...]:
        """Return the element that each dimension of a rank's memory begins with."""
        found = [0] * len(array.shape)
        for window in self.windows.get(array.name, ()):
            found[window.cut.axis] = evaluate(window.start(), values)
        return tuple(found)


def storage_of(exchanges: Exchanges) -> Storage:
    """Return what each rank holds for its phases."""
    own = exchanges.own
    windows = {name: _windows(exchanges, name) for name in own.cuts}
    scop = own.scop
    temporaries = {array.name for array in scop.arrays if array.role is Role.TEMP}
    shared = {name for name in temporaries if not _is_private(exchanges, name)}
    return Storage(windows, frozenset(shared))


def _windows(exchanges: Exchanges, name: str) -> tuple[Window, ...]:
    own, placement = exchanges.own, exchanges.phases.placement
    if own.is_cyclic or any(
        c.array == name and c.form is Form.REDUCE_SCATTER
        for e in exchanges.all
        for c in e.combinations
    ):
        return tuple(Window(cut, 0, 0, whole=True) for cut in own.cuts[name])
    touched = own.owned(own.scop.array(name)).intersect_params(own.context)
    for statement in own.scop.statements:
        for access in (statement.write, *statement.reads):
            if access.array == name:
                relation = placement.relation(access)
                relation = relation.intersect_domain(placement.domains[statement.name])
                touched = touched.union(relation.range())
    found = []
    for cut in own.cuts[name]:
        reach = reach_of(touched, cut.axis, cut.shift, cut.blocks.low, cut.blocks.high)
        before, after = reach or (0, 0)
        found.append(Window(cut, before, after, reach is None))
    return tuple(found)


def _is_private(exchanges: Exchanges, name: str) -> bool:
    """Tell whether the values of a temporary stay in one run of one phase."""
    phases, scop = exchanges.phases, exchanges.own.scop
    users = [
        p for p in phases.phases if any(name in scop.statement(s).arrays for s in p.statements)
    ]
    if len(users) != 1:
        return False
    (phase,) = users
    if any(c.array == name for e in exchanges.all if e.phase == phase for c in e.combinations):
        return False
    if phase.depth == 0:
        return True
    reads = [
        (s, access) for s in map(scop.statement, phase.statements)
        for access in s.reads if access.array == name
    ]  # fmt: skip
    for one in maps_of(dependences_of(scop).direct_flow):
        source = scop.statement(str(one.get_tuple_name(isl.dim_type.in_)))
        reader = scop.statement(str(one.get_tuple_name(isl.dim_type.out)))
        if source.target.array != name or not any(s is reader for s, _ in reads):
            continue
        first, second = (phases.around(s, phase.depth) for s in (source, reader))
        one = isl.Map.align_params(one, first.get_space())
        if not one.is_subset(first.apply_range(second.reverse())):
            return False
    return True


def local_program(
    exchanges: Exchanges,
    phase: Phase,
    storage: Storage,
    name: str,
    domains: Domains,
    context: isl.Set,
) -> Program:
    """Return the program of this rank's part of a phase: the instances `domains` of statements.

    `context`: what is known of sizes and blocks.
    """
    own, phases = exchanges.own, exchanges.phases
    scop = own.scop
    blocks = tuple(n for b in own.blocks for n in (b.low, b.high))
    params = (*scop.params, *blocks, *phases.params[: phase.depth])
    statements = tuple(
        _local(exchanges, phase, scop.statement(one), storage, params, domains[one])
        for one in phase.statements
    )
    used = {array for s in statements for array in s.arrays}
    arrays = []
    for array in scop.arrays:
        if array.name not in used:
            continue
        private = array.role is Role.TEMP and array.name not in storage.shared
        role = Role.TEMP if private else _role(array.name, statements)
        arrays.append(replace(array, shape=storage.shape(array), role=role, layout=Layout.C))
    context = _without_others(context, own)
    context = isl.Set.align_params(context, param_space(params))
    local = Scop(params, context, tuple(arrays), statements)
    signature = replace(_signature(name, local), checks=own.checks)
    return Program(name, (local,), local.arrays, signature, "", 0)


def _role(name: str, statements: tuple[Statement, ...]) -> Role:
    return Role.INOUT if any(s.target.array == name for s in statements) else Role.INPUT


def _without_others(value: isl.Set, own: Ownership) -> isl.Set:
    """Return what is left of a set if nothing is said of the other rank."""
    others = (name for b in own.blocks for name in (b.other_low, b.other_high))
    return without_params(value, others)


def _local(
    exchanges: Exchanges, phase: Phase, statement: Statement, storage: Storage,
    params: tuple[str, ...], domain: isl.Set,
) -> Statement:  # fmt: skip
    places = place_of(statement, phase.depth, exchanges.phases.params)
    domain = _without_others(domain, exchanges.own)
    domain = isl.Set.align_params(domain, param_space(params))
    kind = isl.dim_type.set
    for position, name in enumerate(statement.iters):
        domain = domain.set_dim_name(kind, position, name)
    for depth in range(phase.depth):
        step = Param(exchanges.phases.params[depth])
        here = Compare(CompareOp.EQ, statement.order[2 * depth + 1], step)
        domain = domain.intersect(condition_set(here, domain.get_space()))
    for position in reversed(range(len(statement.iters))):
        if statement.iters[position] in places:
            domain = domain.project_out(kind, position, 1)
    iters = tuple(name for name in statement.iters if name not in places)
    for position, name in enumerate(iters):
        domain = domain.set_dim_name(kind, position, name)
    domain = coalesced(domain.set_tuple_name(statement.name))

    def rule(expr: Expr) -> Expr | None:
        match expr:
            case Iter(name=name) if name in places:
                return places[name]
            case Load(array=array) if array in storage.windows:
                index = [rewrite(part, rule) for part in expr.index]
                for window in storage.windows[array]:
                    index[window.cut.axis] = sub(index[window.cut.axis], window.start())
                return Load(array, tuple(index), expr.dtype)
            case _:
                return None

    kept = [
        at for at, name in enumerate(statement.iters) if name not in places
    ] if statement.loops else []  # fmt: skip
    moved = replace(
        statement,
        iters=iters,
        domain=domain,
        order=statement.order[2 * phase.depth :],
        loops=tuple(statement.loops[at] for at in kept),
    )
    return moved.rewritten(rule)


def _signature(name: str, scop: Scop) -> Signature:
    """Return a signature that takes arrays, all sizes as integers, and other numbers."""
    arguments: list[ArrayArg | ScalarArg] = []
    for array in scop.arrays:
        if array.role is not Role.TEMP:
            written = array.role is Role.INOUT
            arguments.append(
                ArrayArg(array.name, array.name, array.dtype, array.shape, Layout.C, written)
            )
    first = len(arguments)
    arguments += [ScalarArg(param, param, DType.INT64, True) for param in scop.params]
    symbols: dict[str, DType] = {}
    for statement in scop.statements:
        for expr in (statement.value, statement.target, statement.guard):
            if expr is not None:
                found = (part for part in walk(expr) if isinstance(part, SymbolExpr))
                symbols.update({part.name: part.dtype for part in found})
    arguments += [ScalarArg(one, one, dtype, False) for one, dtype in symbols.items()]
    sizes = tuple(IntegerOf(param, first + n) for n, param in enumerate(scop.params))
    return Signature(name, tuple(arguments), sizes, (), (), "N", ())
