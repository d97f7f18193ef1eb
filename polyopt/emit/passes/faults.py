"""Collect the faults that a loop notes in a local, and note them once after it.

In: innermost loops with `if condition: faults[k] = 1`.  Out: the same with `flag |= condition`,
a reduction where iterations share it, and the assignment under the flag behind the loop.
Leaves: loops around loops, conditions with other statements under them.
"""

from __future__ import annotations

from polyopt.dataclass import replace
from polyopt.emit.passes.rewriting import Names, bottom_up
from polyopt.ir.expr import (
    Binary,
    BinaryOp,
    Cast,
    Compare,
    CompareOp,
    Const,
    Expr,
    Load,
    Symbol,
    conjunction,
    walk,
)
from polyopt.ir.loops import (
    Assign,
    Body,
    Declare,
    DeclareArray,
    For,
    If,
    LoopFunction,
    LoopKind,
    Node,
    SetLocal,
)
from polyopt.ir.nodes import all_nodes
from polyopt.ir.scop import Role
from polyopt.ir.types import DType


def collect_faults(fn: LoopFunction) -> LoopFunction:
    """Return `fn` with the faults of its innermost loops noted after them."""
    names = Names(fn)
    arrays = frozenset(a.name for a in fn.arrays if a.role is Role.FAULT)
    if not arrays:
        return fn

    def rule(node: Node) -> Body:
        if isinstance(node, For) and node.kind is not LoopKind.UNROLL:
            return _collected(node, arrays, names)
        return (node,)

    return replace(fn, body=bottom_up(fn.body, rule))


def _collected(loop: For, arrays: frozenset[str], names: Names) -> Body:
    plain = (Assign, SetLocal, Declare, DeclareArray, If)
    if not all(isinstance(node, plain) for node in all_nodes(loop.body)):
        return (loop,)
    flags: dict[Assign, Symbol] = {}
    body: list[Node] = []
    for node in loop.body:
        fault = noted_fault(node, arrays)
        if fault is None:
            body.append(node)
            continue
        condition, assign = fault
        noted = replace(assign, statement="", instance=())
        if noted not in flags:
            dtype = DType.INT64 if _is_wide(condition) else DType.INT32
            flags[noted] = Symbol(names.fresh("bad"), dtype)
        flag = flags[noted]
        value = Binary(BinaryOp.OR, flag, Cast(condition, flag.dtype), flag.dtype)
        body.append(SetLocal(flag.name, flag.dtype, 1, value, assign.statement, assign.instance))
    if not flags:
        return (loop,)
    before = tuple(Declare(f.name, f.dtype, 1, Const(0, f.dtype)) for f in flags.values())
    reductions = tuple((BinaryOp.OR, flag) for flag in flags.values())
    if loop.kind is not LoopKind.SEQUENTIAL:
        loop = loop.annotated(reductions=(*loop.reductions, *reductions))
    after = tuple(
        If(Compare(CompareOp.NE, flag, Const(0, flag.dtype)), (assign,))
        for assign, flag in flags.items()
    )
    return (*before, replace(loop, body=tuple(body)), *after)


def noted_fault(node: Node, arrays: frozenset[str]) -> tuple[Expr, Assign] | None:
    """Return the condition and the assignment when `node` only notes a fault in one of `arrays`.

    The condition is that of all choices around the assignment.
    """
    match node:
        case If(condition=outer, then=(If() as inner,), otherwise=()):
            found = noted_fault(inner, arrays)
            return None if found is None else (conjunction((outer, found[0])), found[1])
        case If(condition=condition, then=(Assign(target=Load() as target) as assign,)):
            fixed = all(isinstance(index, Const) for index in target.index)
            if target.array in arrays and fixed and not node.otherwise:
                return condition, assign
            return None
        case _:
            return None


def _is_wide(condition: Expr) -> bool:
    return any(part.dtype.size == 8 for part in walk(condition))
