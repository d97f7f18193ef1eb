"""Vectorize a loop body for several consecutive iterations.

In: the body of a VECTOR loop, its iterator, the number of lanes.  Out: the same statements on
vectors: consecutive elements, or one value in every lane; loops and conditions that are the same
for all lanes stay around them.
Refuses (`NotVector`): other subscripts, mixed dtypes, operations without a vector operator.
"""

from __future__ import annotations

from polyopt.dataclass import dataclass, replace
from polyopt.ir.expr import (
    MOST_APART,
    Binary,
    BinaryOp,
    Broadcast,
    Call,
    Cast,
    Compare,
    Expr,
    Iter,
    Load,
    MathFunc,
    Select,
    Symbol,
    Unary,
    UnaryOp,
    VectorLoad,
    loads,
    walk,
)
from polyopt.ir.linear import linear, slope_of
from polyopt.ir.loops import (
    Assign,
    Body,
    Declare,
    DeclareArray,
    DeclareView,
    For,
    If,
    LoopFunction,
    LoopKind,
    Node,
    SetLocal,
    vectors_of_sums,
)
from polyopt.ir.nodes import all_nodes
from polyopt.ir.scop import Array
from polyopt.ir.source import Layout
from polyopt.ir.types import DType

DTYPES = frozenset(
    {DType.FLOAT32, DType.FLOAT64, DType.INT32, DType.INT64, DType.UINT32, DType.UINT64}
)
"""Element types of vectors."""

_BITS = frozenset({BinaryOp.AND, BinaryOp.OR, BinaryOp.XOR})
_OPERATORS = _BITS | {
    *(BinaryOp.ADD, BinaryOp.SUB, BinaryOp.MUL, BinaryOp.DIV, BinaryOp.RATIO),
    *(BinaryOp.MIN, BinaryOp.MAX),
}


class NotVector(Exception):
    """The statements have no vector form."""


def row_arrays(fn: LoopFunction) -> frozenset[str]:
    """Return the arrays whose last dimension is contiguous."""
    nodes = all_nodes(fn.body)
    declared = (node.array for node in nodes if isinstance(node, DeclareArray | DeclareView))
    arrays: list[Array] = [*fn.arrays, *declared]
    return frozenset(a.name for a in arrays if a.layout in (Layout.C, Layout.ROWS))


def vector_dtype(body: Body) -> DType | None:
    """Return the one dtype the statements of `body` compute in, or None."""
    dtypes: set[DType] = set()
    for node in all_nodes(body):
        match node:
            case Assign():
                dtypes.add(node.target.dtype)
            case Declare() | SetLocal():
                dtypes.add(node.dtype)
            case For() | If():
                pass
            case _:
                return None
    dtype = dtypes.pop() if len(dtypes) == 1 else None
    return dtype if dtype in DTYPES else None


def vectorized(
    loop: For,
    lanes: int,
    rows: frozenset[str],
    own: frozenset[str] = frozenset(),
    *,
    choices: bool = False,
) -> Body:
    """Return `loop`'s body for `lanes` iterations from its iterator on.  Raises `NotVector`.

    `own` are locals that have lanes already.  `choices`: lanes choose between two values, which
    compilers' own lanes do as well or better where these reach what is read.
    """
    dtype = vector_dtype(loop.body)
    if dtype is None:
        raise NotVector
    own |= frozenset(node.name for node in all_nodes(loop.body) if isinstance(node, Declare))
    return _Vectorizer(loop.iter, lanes, dtype, rows, own, choices).body(loop.body)


def sums_in_vectors(loop: For, rows: frozenset[str]) -> Body:
    """Return the body of a loop that only adds to sums, for vectors of `lanes` elements.

    Raises `NotVector`: one does more, a sum is of other numbers than floats, or there are so many
    sums that their additions overlap in any case.
    """
    sums = frozenset(symbol.name for _, symbol in loop.reductions)
    for node in loop.body:
        is_update = isinstance(node, SetLocal) and node.name in sums and node.dtype.is_float
        if not (is_update or isinstance(node, Declare)):
            raise NotVector
    if vectors_of_sums(loop) < 2 or any(op is not BinaryOp.ADD for op, _ in loop.reductions):
        raise NotVector
    return vectorized(loop, loop.lanes, rows, sums)


def is_contiguous(loop: For, rows: frozenset[str]) -> bool:
    """Tell whether `loop` is straight-line statements over contiguous or fixed elements."""
    for node in loop.body:
        if not isinstance(node, Assign | Declare | SetLocal):
            return False
        parts = [*walk(node.value), *(walk(node.target) if isinstance(node, Assign) else ())]
        accesses = [p for p in parts if isinstance(p, Load | VectorLoad)]
        if not all(is_unit_stride(access, loop.iter, rows) for access in accesses):
            return False
    return bool(loop.body)


def is_unit_stride(access: Load | VectorLoad, name: str, rows: frozenset[str]) -> bool:
    """Tell whether iterator `name` moves an access by one element a step, or not at all."""
    if not any(part == Iter(name) for index in access.index for part in walk(index)):
        return True
    strides = [slope_of(index, name) for index in access.index]
    return access.array in rows and strides[-1] == 1 and not any(strides[:-1])


@dataclass(frozen=True, slots=True)
class _Vectorizer:
    iter: str
    lanes: int
    dtype: DType
    rows: frozenset[str]
    own: frozenset[str]
    choices: bool

    def body(self, body: Body) -> Body:
        return tuple(self.node(node) for node in body)

    def node(self, node: Node) -> Node:
        match node:
            case For(kind=LoopKind.SEQUENTIAL | LoopKind.UNROLL) if self.is_uniform(
                node.lower, node.upper
            ):
                return replace(node, body=self.body(node.body))
            case If() if self.is_uniform(node.condition):
                return replace(node, then=self.body(node.then), otherwise=self.body(node.otherwise))
            case Assign(target=Load() as target):
                vector = self.load(target)
                if not isinstance(vector, VectorLoad) or vector.step != 1:
                    raise NotVector
                value = self.value(node.value)
                return replace(node, target=vector, value=value, steps=self.steps(node))
            case Declare():
                value = self.value(node.value)
                return replace(node, lanes=self.lanes, value=value, steps=self.steps(node))
            case SetLocal() if node.name in self.own:
                value = self.value(node.value)
                return replace(node, lanes=self.lanes, value=value, steps=self.steps(node))
            case _:
                raise NotVector

    def steps(self, node: Assign | Declare | SetLocal) -> tuple[int, ...]:
        """Return how far the statement's instance moves from lane to lane."""
        return tuple(self.coefficient(part) for part in node.instance)

    def value(self, expr: Expr) -> Expr:
        """Return `expr` for all lanes."""
        if expr.dtype is not self.dtype:
            raise NotVector
        if not self.varies(expr):
            return Broadcast(expr, self.dtype, self.lanes)
        match expr:
            case Cast(operand=Load() as narrow) if self.widens(narrow):
                return replace(expr, operand=self.load(narrow))
            case Load():
                return self.load(expr)
            case Symbol():
                return replace(expr, lanes=self.lanes)
            case Binary() if expr.op in _OPERATORS and self.has_operator(expr):
                return self.operation(expr)
            case Unary(op=UnaryOp.NEG):
                return replace(expr, operand=self.value(expr.operand))
            case Select(condition=Compare() as condition) if self.choices:
                return self.choice(expr, condition)
            case Call(func=MathFunc.FMA):
                return replace(expr, args=tuple(self.value(a) for a in expr.args))
            case _:
                raise NotVector

    def operation(self, expr: Binary) -> Binary:
        """Return an operation that lanes do each for itself."""
        is_own = expr.op is BinaryOp.RATIO and self.varies(expr.right)
        op = BinaryOp.DIV if is_own else expr.op
        return replace(expr, op=op, left=self.value(expr.left), right=self.value(expr.right))

    def choice(self, expr: Select, condition: Compare) -> Expr:
        """Return a choice by a comparison that lanes make each for itself."""
        if condition.left.dtype is not self.dtype or condition.right.dtype is not self.dtype:
            raise NotVector
        sides = self.value(condition.left), self.value(condition.right)
        condition = replace(condition, left=sides[0], right=sides[1])
        then, otherwise = self.value(expr.then), self.value(expr.otherwise)
        return replace(expr, condition=condition, then=then, otherwise=otherwise)

    def widens(self, source: Load) -> bool:
        """Tell whether elements are converted as they are loaded."""
        return source.dtype.is_half and self.dtype is DType.FLOAT32

    def has_operator(self, expr: Binary) -> bool:
        return expr.op is not BinaryOp.DIV or expr.dtype.is_float

    def load(self, expr: Load) -> VectorLoad | Broadcast:
        """Return the element for all lanes: those of a row, `strides[-1]` apart, or one for all."""
        strides = [self.coefficient(i) for i in expr.index]
        if not any(strides):
            return Broadcast(expr, expr.dtype, self.lanes)
        step = strides[-1]
        if expr.array not in self.rows or any(strides[:-1]) or not 1 <= step <= MOST_APART:
            raise NotVector
        if step > 1 and expr.dtype.is_half:
            raise NotVector
        return VectorLoad(expr.array, expr.index, expr.dtype, self.lanes, step)

    def coefficient(self, index: Expr) -> int:
        """Return the factor of the iterator in a subscript."""
        found = 0
        for atom, factor in linear(index).terms:
            if atom == Iter(self.iter):
                found = factor
            elif self.varies(atom):
                raise NotVector
        return found

    def is_uniform(self, *exprs: Expr) -> bool:
        """Tell whether control is the same for all lanes, and stays so whatever they store."""
        return not any(self.varies(e) or loads(e) for e in exprs)

    def varies(self, expr: Expr) -> bool:
        """Tell whether `expr` differs between lanes."""
        for part in walk(expr):
            match part:
                case Iter():
                    if part.name == self.iter:
                        return True
                case Symbol():
                    if part.name in self.own:
                        return True
                case _:
                    pass
        return False
