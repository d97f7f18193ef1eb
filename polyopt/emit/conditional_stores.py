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

MASKED = 64
"""Bytes of the vectors from which on processors store some lanes of any element type."""

MOST = 24
"""Operations under conditions above which most of them are better left out."""

_DIVISIONS = frozenset({BinaryOp.FLOORDIV, BinaryOp.MOD})


def choose_stores(fn: LoopFunction, machine: Machine) -> LoopFunction:
    """Return `fn` with stores under conditions as stores of choices, where lanes gain from it."""
    if machine.vector_bytes >= MASKED:
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
    chosen = stores = 0
    for node in loop.body:
        match node:
            case If(then=(Assign(target=Load() as target) as changed,), otherwise=()):
                parts: tuple[Node, ...] = (node, changed)
                if _is_of_lane(target, loop):
                    if target.array in fixed or not _is_of_data(node.condition, own):
                        return False
                    stores += 1
                elif not _is_sum(changed, loop):
                    return False
            case If(then=(SetLocal() as changed,), otherwise=()):
                parts = (node, changed)
            case Assign() | Declare() | SetLocal():
                parts, changed = (node,), None
            case _:
                return False
        if changed is not None:
            chosen += sum(1 for part in walk(changed.value) if children(part))
        if not all(_is_for_lanes(part, loop.iter, rows) for part in parts):
            return False
    return stores > 0 and chosen <= MOST


def _is_of_lane(target: Load, loop: For) -> bool:
    """Tell whether a loop stores an element of each lane's own."""
    return Iter(loop.iter) in walk(target) and not target.dtype.is_complex


def _is_sum(update: Assign, loop: For) -> bool:
    """Tell whether lanes accumulate an element; compilers do so under conditions, too."""
    is_one = Iter(loop.iter) not in walk(update.target)
    return is_one and isinstance(update.value, Binary) and update.value.left == update.target


def _is_of_data(condition: Expr, own: frozenset[str]) -> bool:
    """Tell whether every part of a condition asks for elements, or for locals made of them."""
    return all(
        any(isinstance(p, Load) or (isinstance(p, Symbol) and p.name in own) for p in walk(part))
        for part in operands(condition, BinaryOp.AND)
    )


def _is_for_lanes(node: Node, name: str, rows: frozenset[str]) -> bool:
    """Tell whether lanes compute what a node does itself, from elements that lie side by side."""
    exprs = own_expressions(node)
    if isinstance(node, Assign) and isinstance(node.target, Load):
        exprs = (node.value, node.target)
    parts = [part for expr in exprs for part in walk(expr)]
    if any(is_function(part) or _is_division(part) for part in parts):
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
