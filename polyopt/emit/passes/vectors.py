"""Explicit vectors: short VECTOR loops become operations on whole registers.

In: a `LoopFunction`, the machine.  Out: the same operations, lane by lane, in source order.
Leaves to the compiler's vectorizer: loops whose trip count is not a small multiple of the lanes,
accesses that are neither contiguous nor invariant, operations without a vector operator.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from polyopt.emit.passes.rewriting import bottom_up, substituted, trip_count
from polyopt.emit.regions import nodes
from polyopt.ir.expr import (
    Binary,
    BinaryOp,
    Broadcast,
    Call,
    Expr,
    Iter,
    Load,
    MathFunc,
    Unary,
    UnaryOp,
    VectorLoad,
    add,
    integer,
    linear,
    normalize,
    walk,
)
from polyopt.ir.loops import (
    Assign,
    Body,
    DeclareArray,
    For,
    LoopFunction,
    LoopKind,
    Node,
)
from polyopt.ir.source import Layout
from polyopt.ir.types import DType
from polyopt.machine import Machine

MAX_VECTORS = 8
"""Registers one row of a VECTOR loop may become."""

_OPERATORS = frozenset({BinaryOp.ADD, BinaryOp.SUB, BinaryOp.MUL, BinaryOp.DIV})
_DTYPES = frozenset({DType.FLOAT32, DType.FLOAT64, DType.INT32, DType.INT64})


class NotVector(Exception):
    """The loop cannot become explicit vectors."""


def vectorize(fn: LoopFunction, machine: Machine) -> LoopFunction:
    """Return `fn` with short VECTOR loops as explicit vectors."""
    layouts = {a.name: a.layout for a in fn.arrays}
    declared = (n.array for n in nodes(fn.body) if isinstance(n, DeclareArray))
    layouts |= {array.name: Layout.C for array in declared}

    def rule(node: Node) -> Body:
        if isinstance(node, For) and node.kind is LoopKind.VECTOR:
            return _vectorized(node, layouts, machine)
        return (node,)

    return replace(fn, body=bottom_up(fn.body, rule))


def _vectorized(loop: For, layouts: Mapping[str, Layout], machine: Machine) -> Body:
    count = trip_count(loop)
    assigns = [node for node in loop.body if isinstance(node, Assign)]
    if count is None or loop.step != 1 or loop.reductions or len(assigns) != len(loop.body):
        return (loop,)
    lanes = _common_lanes(assigns, machine)
    if lanes is None or count % lanes or not 0 < count // lanes <= MAX_VECTORS:
        return (loop,)
    vectorizer = _Vectorizer(loop.iter, lanes, layouts)
    try:
        body = tuple(vectorizer.assign(node) for node in assigns)
    except NotVector:
        return (loop,)
    found: list[Node] = []
    for number in range(count // lanes):
        value = normalize(add(loop.lower, integer(number * lanes)))
        found += substituted(body, {loop.iter: value})
    return tuple(found)


def _common_lanes(assigns: list[Assign], machine: Machine) -> int | None:
    dtypes = {node.target.dtype for node in assigns}
    if len(dtypes) != 1:
        return None
    dtype = dtypes.pop()
    lanes = machine.vector_bytes // dtype.size
    return lanes if dtype in _DTYPES and lanes > 1 else None


@dataclass(frozen=True, slots=True)
class _Vectorizer:
    iter: str
    lanes: int
    layouts: Mapping[str, Layout]

    def assign(self, node: Assign) -> Assign:
        target = node.target
        if not isinstance(target, Load):
            raise NotVector
        vector = self.load(target)
        if not isinstance(vector, VectorLoad):
            raise NotVector
        value = self.value(node.value, target.dtype)
        return Assign(vector, value, node.statement, node.instance)

    def value(self, expr: Expr, dtype: DType) -> Expr:
        """Return `expr` for all lanes."""
        if expr.dtype is not dtype:
            raise NotVector
        if not self.varies(expr):
            return Broadcast(expr, dtype, self.lanes)
        match expr:
            case Load():
                return self.load(expr)
            case Binary() if expr.op in _OPERATORS and self.has_operator(expr):
                left, right = self.value(expr.left, dtype), self.value(expr.right, dtype)
                return replace(expr, left=left, right=right)
            case Unary(op=UnaryOp.NEG):
                return replace(expr, operand=self.value(expr.operand, dtype))
            case Call(func=MathFunc.FMA):
                return replace(expr, args=tuple(self.value(a, dtype) for a in expr.args))
            case _:
                raise NotVector

    def has_operator(self, expr: Binary) -> bool:
        return expr.op is not BinaryOp.DIV or expr.dtype.is_float

    def load(self, expr: Load) -> VectorLoad | Broadcast:
        """Return the element for all lanes: consecutive ones, or one for all."""
        strides = [self.coefficient(i) for i in expr.index]
        if not any(strides):
            return Broadcast(expr, expr.dtype, self.lanes)
        rows = self.layouts[expr.array] in (Layout.C, Layout.ROWS)
        if not rows or strides[-1] != 1 or any(strides[:-1]):
            raise NotVector
        return VectorLoad(expr.array, expr.index, expr.dtype, self.lanes)

    def coefficient(self, index: Expr) -> int:
        """Return the factor of the iterator in a subscript."""
        found = 0
        for atom, factor in linear(index).terms:
            if atom == Iter(self.iter):
                found = factor
            elif self.varies(atom):
                raise NotVector
        return found

    def varies(self, expr: Expr) -> bool:
        return any(isinstance(part, Iter) and part.name == self.iter for part in walk(expr))
