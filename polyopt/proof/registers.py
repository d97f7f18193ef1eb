"""Undo what only moves values through registers: locals that stand for elements or expressions.

In: a loop AST.  Out: the same computation without the locals that were found to be copies, each
replaced by what it copies only where nothing in between can write that; others stay.
`For.reductions` then name arrays: the one element of each that the iterations accumulate into.
"""

from __future__ import annotations

from dataclasses import replace

import islpy as isl

from polyopt.ir.expr import (
    Binary,
    BinaryOp,
    Broadcast,
    Cast,
    Compare,
    CompareOp,
    Const,
    Expr,
    Load,
    Symbol,
    VectorLoad,
    children,
    linear,
    rewrite,
    sub,
    walk,
)
from polyopt.ir.loops import Assign, Body, Declare, For, If, Node, SetLocal
from polyopt.proof.affine import NotAffine
from polyopt.proof.nodes import (
    bodies,
    changed,
    own_expressions,
    reads,
    set_locals,
    symbols,
    uses,
    with_bodies,
    written,
)
from polyopt.proof.paths import Path, with_paths


def without_registers(body: Body, path: Path, keep: frozenset[str]) -> Body:
    """Return `body`, reached by `path`, with registers replaced by the elements they stand for.

    The locals in `keep` are no registers: they name sizes found on the way.
    """
    body = tuple(
        with_bodies(
            node,
            tuple(
                without_registers(part, path.into(node, n), keep)
                for n, part in enumerate(bodies(node))
            ),
        )
        for node in body
    )
    done: list[Node] = []
    rest = list(body)
    while rest:
        node = rest.pop(0)
        if isinstance(node, Declare) and node.name not in keep:
            after = _undone(node, tuple(rest), path)
            if after is not None:
                rest = list(after)
                continue
        done.append(node)
    return tuple(done)


def _undone(local: Declare, rest: Body, path: Path) -> Body | None:
    """Return what follows the declaration of a register, without it; None if it must stay."""
    if local.statement:
        return None
    if local.name not in set_locals(rest):
        return _inlined(local, rest, path)
    if isinstance(local.value, Load | VectorLoad):
        return _in_place(local, rest, path)
    if isinstance(local.value, Const) and not local.value.value:
        return _scattered(local, rest)
    return None


# -- a value used several times ----------------------------------------------------------------


def _inlined(local: Declare, rest: Body, path: Path) -> Body | None:
    """Return `rest` with the local's value where it is used."""
    last = max((n for n, node in enumerate(rest) if uses(node, local.name)), default=-1)
    span = rest[: last + 1]
    value = local.value
    if not _is_stable(value, span, path):
        return None

    def rule(part: Expr) -> Expr | None:
        return value if isinstance(part, Symbol) and part.name == local.name else None

    return (*(changed(node, rule) for node in span), *rest[last + 1 :])


def _is_stable(value: Expr, span: Body, path: Path) -> bool:
    """Tell whether nothing in `span` changes what `value` reads."""
    if symbols(value) & set_locals(span):
        return False
    for cell in (p for p in walk(value) if isinstance(p, Load | VectorLoad)):
        if cell.array not in written(span):
            continue
        for node, inner in with_paths(span, path):
            if isinstance(node, Assign) and not are_apart(cell, path, node.target, inner):
                return False
    return True


# -- an accumulator ----------------------------------------------------------------------------


def _in_place(local: Declare, rest: Body, path: Path) -> Body | None:
    """Return `rest` with the local's updates done to the element it was loaded from."""
    cell = local.value
    assert isinstance(cell, Load | VectorLoad)
    end = next((n for n, node in enumerate(rest) if _is_store(node, cell, local.name)), None)
    if end is None or any(uses(node, local.name) for node in rest[end + 1 :]):
        return None
    span = rest[:end]
    if any(reads(index) & written(span) for index in cell.index):
        return None
    if any(symbols(index) & set_locals(span) for index in cell.index):
        return None
    for node, inner in with_paths(span, path):
        if not all(are_apart(cell, path, other, inner) for other in _accesses(node)):
            return None
    if path.is_concurrent and not _is_always_set(local.name, span, path):
        return None
    return (*(_on_element(node, local.name, cell) for node in span), *rest[end + 1 :])


def _is_store(node: Node, cell: Load | VectorLoad, name: str) -> bool:
    match node:
        case Assign(statement="", target=target, value=Symbol() as value):
            return value.name == name and target == cell
        case _:
            return False


def _accesses(node: Node) -> list[Load | VectorLoad]:
    parts = [p for expr in own_expressions(node) for p in walk(expr)]
    if isinstance(node, Assign):
        parts.append(node.target)
    return [p for p in parts if isinstance(p, Load | VectorLoad)]


def _is_always_set(name: str, span: Body, path: Path) -> bool:
    """Tell whether every execution of `span` sets the local: then its element is written anyway."""
    outer = len(path.frame.dims)
    covered: isl.Set | None = None
    for node, inner in with_paths(span, path):
        if not isinstance(node, SetLocal) or node.name != name or inner.data != path.data:
            continue
        count = len(inner.frame.dims) - outer
        here = inner.domain.project_out(isl.dim_type.set, outer, count)
        covered = here if covered is None else covered.union(here)
    return covered is not None and bool(path.domain.is_subset(covered))


def _on_element(node: Node, name: str, cell: Load | VectorLoad) -> Node:
    """Return `node` working on `cell` instead of the local `name`."""

    def rule(part: Expr) -> Expr | None:
        return cell if isinstance(part, Symbol) and part.name == name else None

    match node:
        case SetLocal() if node.name == name:
            renewed = changed(node, rule)
            assert isinstance(renewed, SetLocal)
            return Assign(
                cell, renewed.value, renewed.statement, renewed.instance, renewed.steps
            )
        case For():
            array = Symbol(cell.array, cell.dtype)
            reductions = tuple((op, array if s.name == name else s) for op, s in node.reductions)
            node = replace(node, reductions=reductions)
        case _:
            node = _only_own(node, rule)
    inner = tuple(tuple(_on_element(n, name, cell) for n in part) for part in bodies(node))
    return with_bodies(node, inner)


def _only_own(node: Node, rule: object) -> Node:
    empty: tuple[Body, ...] = tuple(() for _ in bodies(node))
    full = bodies(node)
    renewed = changed(with_bodies(node, empty), rule)  # type: ignore[arg-type]
    return with_bodies(renewed, full)


# -- collected conditions ----------------------------------------------------------------------


def _scattered(local: Declare, rest: Body) -> Body | None:
    """Return `rest` with each `flag |= condition` as the assignment the flag decides on later."""
    end = next((n for n, node in enumerate(rest) if _tests(node, local.name)), None)
    if end is None or any(uses(node, local.name) for node in rest[end + 1 :]):
        return None
    noted = rest[end]
    assert isinstance(noted, If)
    (assign,) = noted.then
    if not isinstance(assign, Assign) or not isinstance(assign.value, Const):
        return None
    found = tuple(_noting(node, local.name, assign) for node in rest[:end])
    if any(uses(node, local.name) for node in found):
        return None
    return (*found, *rest[end + 1 :])


def _tests(node: Node, name: str) -> bool:
    match node:
        case If(condition=Compare(op=CompareOp.NE, left=Symbol() as flag, right=Const() as zero)):
            one = len(node.then) == 1 and not node.otherwise
            return flag.name == name and not zero.value and one
        case _:
            return False


def _noting(node: Node, name: str, assign: Assign) -> Node:
    match node:
        case SetLocal(
            value=Binary(op=BinaryOp.OR, left=Symbol() as flag, right=Cast() as cast)
        ) if node.name == name == flag.name:
            noted = replace(assign, statement=node.statement, instance=node.instance)
            return If(cast.operand, (noted,))
        case For():
            own = tuple((op, s) for op, s in node.reductions if s.name != name)
            node = replace(node, reductions=own)
        case _:
            pass
    inner = tuple(tuple(_noting(n, name, assign) for n in part) for part in bodies(node))
    return with_bodies(node, inner)


# -- elements apart ----------------------------------------------------------------------------


def are_apart(
    cell: Load | VectorLoad, here: Path, other: Load | VectorLoad, there: Path
) -> bool:
    """Tell whether `cell` at `here` is no element of `other` at any iteration `there`.

    `there` continues `here`; both see the same iterations of the loops they share.
    """
    if cell.array != other.array:
        return True
    last = len(cell.index) - 1
    unknown = False
    for position, (one, two) in enumerate(zip(cell.index, other.index, strict=True)):
        distance = linear(sub(two, one))
        width_a = cell.lanes if isinstance(cell, VectorLoad) and position == last else 1
        width_b = other.lanes if isinstance(other, VectorLoad) and position == last else 1
        if distance.terms:
            unknown = True
        elif distance.constant >= width_a or -distance.constant >= width_b:
            return True
    return unknown and _are_apart(cell, other, there)


def _are_apart(cell: Load | VectorLoad, other: Load | VectorLoad, there: Path) -> bool:
    frame = there.frame
    meeting = there.domain
    last = len(cell.index) - 1
    for position, (one, two) in enumerate(zip(cell.index, other.index, strict=True)):
        try:
            distance = frame.pw(two).sub(frame.pw(one))
        except NotAffine:
            continue
        width_a = cell.lanes if isinstance(cell, VectorLoad) and position == last else 1
        width_b = other.lanes if isinstance(other, VectorLoad) and position == last else 1
        below = isl.PwAff.from_aff(frame.constant(width_a))
        above = isl.PwAff.from_aff(frame.constant(-width_b))
        meeting = meeting.intersect(distance.lt_set(below)).intersect(distance.gt_set(above))
    return bool(meeting.is_empty())
