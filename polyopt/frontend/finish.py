"""The drafts of a function become a Program: exact domains, checks, names, roles, signature.

In: the builder after the last reading.  Out: `Program`.
"""

from __future__ import annotations

from collections.abc import Sequence

import islpy as isl

from polyopt.frontend.builder import Builder, Draft
from polyopt.frontend.checks import checks_of, context_of
from polyopt.frontend.domains import params_of, scope_exprs, size_context
from polyopt.frontend.integers import TRUE, ZERO, is_size, less
from polyopt.frontend.renaming import Renaming, renamed_draft
from polyopt.frontend.split import Piece, pieces_of, split_conditions
from polyopt.frontend.values import Buffer, Index
from polyopt.ir.affine import condition_set
from polyopt.ir.expr import Binary, BinaryOp, Const, Expr, Load, loads, normalize, rewrite
from polyopt.ir.scop import Array, Role, Scop, Statement
from polyopt.ir.source import Check


def live_drafts(b: Builder) -> list[Draft]:
    """Return the drafts whose values can reach an argument or a result."""
    needed = {buffer.name for buffer in b.buffers if buffer.argument or buffer.returned}
    while True:
        kept = [draft for draft in b.drafts if draft.target.array in needed]
        reads = {load.array for draft in kept for load in draft_loads(draft)}
        if reads <= needed:
            return kept
        needed |= reads


def draft_loads(draft: Draft) -> tuple[Load, ...]:
    """Return what a draft reads."""
    parts = (draft.value, draft.scope.guard, *draft.target.index)
    return tuple(load for part in parts for load in loads(part))


def isl_params(b: Builder, drafts: Sequence[Draft]) -> frozenset[str]:
    """Return the parameters that domains, subscripts, shapes and demands use."""
    exprs: list[Expr] = []
    for draft in drafts:
        exprs += scope_exprs(draft.scope)
        for load in (draft.target, *draft_loads(draft)):
            exprs += load.index
        exprs += split_conditions(draft)
    for buffer in b.buffers:
        exprs += buffer.shape
    for demand in b.demands:
        exprs += [*scope_exprs(demand.scope), demand.condition]
    used = params_of(exprs)
    in_values = params_of(draft.value for draft in drafts)
    return used | frozenset(p for p in in_values if is_size(p))


def make_scop(
    b: Builder, rename: Renaming, drafts: Sequence[Draft], params: tuple[str, ...]
) -> tuple[Scop, tuple[Check, ...]]:
    """Return the Scop and the checks that make its accesses safe."""
    sizes = tuple(rename.expr(size) for size in b.sizes)
    context = size_context(params, sizes)
    checks = checks_of(b, rename, params, context)
    context = context_of(context, checks, params)
    statements: list[Statement] = []
    for draft in drafts:
        clean = renamed_draft(rename, draft)
        for piece in pieces_of(clean, params, context):
            statements.append(_statement(f"S{len(statements)}", clean, piece))
    written = {statement.target.array for statement in statements}
    arrays = tuple(
        _array(buffer, _shape(buffer, rename, context), written)
        for buffer in b.buffers
        if _is_used(buffer, statements)
    )
    return Scop(params, context, arrays, tuple(statements)), checks


def _shape(buffer: Buffer, rename: Renaming, context: isl.Set) -> Index:
    shape = tuple(rename.expr(extent) for extent in buffer.shape)
    if buffer.argument is not None:
        return shape  # the caller's, as it was declared
    return tuple(tidy(extent, context) for extent in shape)


def tidy(extent: Expr, context: isl.Set) -> Expr:
    """Return an extent without `max(…, 0)` where the checks rule negative values out."""

    def rule(expr: Expr) -> Expr | None:
        match expr:
            case Binary(op=BinaryOp.MAX, right=Const(value=0)):
                inner = tidy(expr.left, context)
                negative = condition_set(less(inner, ZERO), context.get_space())
                return inner if negative.intersect(context).is_empty() else None
            case _:
                return None

    return normalize(rewrite(extent, rule))


def _statement(name: str, draft: Draft, piece: Piece) -> Statement:
    domain = piece.domain.set_tuple_name(name)
    guard = None if piece.guard == TRUE else piece.guard
    return Statement(
        name=name,
        iters=draft.scope.iters,
        domain=domain,
        order=draft.scope.order,
        target=piece.target,
        value=piece.value,
        loc=draft.loc,
        text=draft.text,
        reduction=draft.reduction,
        guard=guard,
    )


def _is_used(buffer: Buffer, statements: Sequence[Statement]) -> bool:
    if buffer.argument is not None or buffer.returned:
        return True
    return any(
        buffer.name in (s.target.array, *(load.array for load in _statement_loads(s)))
        for s in statements
    )


def _statement_loads(statement: Statement) -> tuple[Load, ...]:
    parts = (statement.value, *statement.target.index)
    guard = () if statement.guard is None else (statement.guard,)
    return tuple(load for part in (*parts, *guard) for load in loads(part))


def _array(buffer: Buffer, shape: Index, written: set[str]) -> Array:
    if buffer.argument is not None:
        role = Role.INOUT if buffer.name in written else Role.INPUT
    else:
        role = Role.OUTPUT if buffer.returned else Role.TEMP
    return Array(buffer.name, buffer.dtype, shape, role, buffer.layout)
