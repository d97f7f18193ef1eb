"""Store a choice between two values in place of a store under a condition on data.

In: loops of independent iterations around `if c: a[i] = v`.  Out: `a[i] = v if c else a[i]`, which
lanes without masked stores make, too (if-conversion: J. R. Allen, K. Kennedy, C. Porterfield and
J. Warren, "Conversion of Control Dependence to Data Dependence", POPL 1983); `v` reads elements
into locals before, so that no lane waits for the condition.
Leaves: machines with masked stores, iterations that share elements, conditions on sizes alone,
values that functions or integer divisions make, elements that are not next to each other.
"""

from __future__ import annotations

from collections.abc import Iterator

from polyopt.dataclass import replace
from polyopt.emit.lanes import is_unit_stride, row_arrays
from polyopt.emit.passes.rewriting import Names
from polyopt.ir.expr import (
    Binary,
    BinaryOp,
    Expr,
    Iter,
    Load,
    Param,
    Select,
    Symbol,
    VectorLoad,
    children,
    is_function,
    loads,
    operands,
    rewrite,
    walk,
)
from polyopt.ir.linear import linear
from polyopt.ir.loops import Assign, Body, Declare, For, If, LoopFunction, LoopKind, Node, SetLocal
from polyopt.ir.nodes import map_bodies, own_expressions
from polyopt.ir.scop import Role
from polyopt.machine import Machine

MOST = 24
"""Operations under conditions above which most of them are better left out."""

_DIVISIONS = frozenset({BinaryOp.FLOORDIV, BinaryOp.MOD})


def choose_stores(fn: LoopFunction, machine: Machine) -> LoopFunction:
    """Return `fn` with stores under conditions as stores of choices, where lanes gain from it."""
    if machine.has_masks:
        return fn
    rows = row_arrays(fn)
    fixed = frozenset(a.name for a in fn.arrays if a.role in (Role.FAULT, Role.INPUT))
    names = Names(fn)

    def body(nodes: Body) -> Body:
        return tuple(map(rule, nodes))

    def rule(node: Node) -> Node:
        match node:
            case For(kind=LoopKind.PARALLEL | LoopKind.VECTOR, lanes=1) if _is_convertible(
                node, rows, fixed
            ):
                return replace(node, body=tuple(_converted(node, names)))
            case _:
                return map_bodies(node, body)

    return replace(fn, body=body(fn.body))


def _is_convertible(loop: For, rows: frozenset[str], fixed: frozenset[str]) -> bool:
    """Tell whether a loop does nothing but what lanes can do, some of it under conditions."""
    own = frozenset(node.name for node in loop.body if isinstance(node, Declare))
    changed = [node.then[0] for node in loop.body if isinstance(node, If)]
    for node in loop.body:
        if isinstance(node, If):
            if not _is_choice(node, loop, own, fixed):
                return False
        elif not isinstance(node, Assign | Declare | SetLocal):
            return False
    if not all(_is_for_lanes(node, loop.iter, rows) for node in (*loop.body, *changed)):
        return False
    values = (part for node in changed for expr in own_expressions(node) for part in walk(expr))
    has_store = any(isinstance(n, Assign) and _is_of_lane(n.target, loop) for n in changed)
    return has_store and sum(1 for part in values if children(part)) <= MOST


def _is_choice(node: If, loop: For, own: frozenset[str], fixed: frozenset[str]) -> bool:
    """Tell whether a condition is around one change, which may be computed in any case."""
    match node:
        case If(then=(Assign(target=Load() as target) as changed,), otherwise=()):
            if _is_of_lane(target, loop):
                may_be = _is_of_data(node.condition, own, loop.iter) and target.array not in fixed
            else:
                may_be = _is_sum(changed, loop)
        case If(then=(SetLocal() as changed,), otherwise=()):
            may_be = True
        case _:
            return False
    return may_be and not any(map(is_function, walk(changed.value)))


def _is_of_lane(target: Load | VectorLoad, loop: For) -> bool:
    """Tell whether a loop stores an element of each lane's own."""
    return Iter(loop.iter) in walk(target) and not target.dtype.is_complex


def _is_sum(update: Assign, loop: For) -> bool:
    """Tell whether lanes accumulate an element; compilers do so under conditions, too."""
    is_one = Iter(loop.iter) not in walk(update.target)
    return is_one and isinstance(update.value, Binary) and update.value.left == update.target


def _is_of_data(condition: Expr, own: frozenset[str], name: str) -> bool:
    """Tell whether every part of a condition asks for elements of a lane, or for locals of it.

    Others are asked before the loop.
    """
    return all(
        any(
            (isinstance(p, Load) and Iter(name) in walk(p))
            or (isinstance(p, Symbol) and p.name in own)
            for p in walk(part)
        )
        for part in operands(condition, BinaryOp.AND)
    )


def _is_for_lanes(node: Node, name: str, rows: frozenset[str]) -> bool:
    """Tell whether lanes compute what a node does itself, from elements that lie side by side."""
    exprs = own_expressions(node)
    if isinstance(node, Assign) and isinstance(node.target, Load):
        exprs = (node.value, node.target)
    parts = [part for expr in exprs for part in walk(expr)]
    if any(map(_is_division, parts)):
        return False
    elements = [part for part in parts if isinstance(part, Load)]
    return all(is_unit_stride(e, name, rows) and _is_fixed(e) for e in elements)


def _is_division(expr: Expr) -> bool:
    return isinstance(expr, Binary) and expr.op in _DIVISIONS


def _is_fixed(element: Load) -> bool:
    """Tell whether sizes and iterators alone say where an element lies."""
    return all(
        isinstance(atom, Iter | Param) for index in element.index for atom, _ in linear(index).terms
    )


def _converted(loop: For, names: Names) -> Iterator[Node]:
    there = {load for node in loop.body for expr in own_expressions(node) for load in loads(expr)}
    kept: Load | Symbol
    for node in loop.body:
        match node:
            case If(then=(Assign(target=Load() as kept) as changed,)) if _is_of_lane(kept, loop):
                pass
            case If(then=(SetLocal() as changed,)):
                kept = Symbol(changed.name, changed.dtype)
            case _:
                yield node
                continue
        found: dict[Expr, Expr] = {}
        for load in loads(changed.value):
            if load not in there and load != kept and load not in found:
                name = names.fresh(f"{load.array}_at")
                found[load] = Symbol(name, load.dtype)
                yield Declare(name, load.dtype, 1, load)
        value = rewrite(changed.value, found.get)
        yield replace(changed, value=Select(node.condition, value, kept, kept.dtype))
