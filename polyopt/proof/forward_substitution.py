"""Substitute computed arrays forward: read operands at the use, in place of a stored result.

In: loops that declare an array, fill it with `f(a, b, …)` of elements, and read it.
Out: an array for each operand, filled with copies, and `f` of them where the result was read: the
same operations on the same operands, later.  Other checks show that the copies hold the right
values.  Applies if all stored values are the same arithmetic on floats, apart from elements,
constants and scalars that nothing in the scope of the array sets.  Other arrays stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterator

from polyopt.dataclass import dataclass, replace
from polyopt.ir.expr import (
    Binary,
    BinaryOp,
    Cast,
    Const,
    Expr,
    Iter,
    Load,
    Param,
    Symbol,
    Unary,
    UnaryOp,
    VectorLoad,
    rewrite,
    substitute,
    walk,
)
from polyopt.ir.loops import (
    AllocateArray,
    Assign,
    Body,
    CallLibrary,
    Declare,
    DeclareArray,
    For,
    Node,
    SetLocal,
)
from polyopt.ir.names import reads, symbols
from polyopt.ir.nodes import (
    all_nodes,
    map_bodies,
    own_changed,
    own_expressions,
)
from polyopt.ir.types import DType

_ARITHMETIC = (BinaryOp.ADD, BinaryOp.SUB, BinaryOp.MUL, BinaryOp.DIV, BinaryOp.RATIO)


def substitute_operands(body: Body, names: Iterator[str]) -> Body:
    """Return `body` with copies of operands in place of stored results."""
    found: list[Node] = []
    for position, node in enumerate(body):
        if isinstance(node, DeclareArray):
            scope = body[position + 1 :]
            function = _function(node.array.name, scope)
            if function is not None:
                own = tuple(next(names) for _ in function.dtypes)
                arrays = (
                    replace(node.array, name=name, dtype=dtype)
                    for name, dtype in zip(own, function.dtypes, strict=True)
                )
                found += (replace(node, array=array) for array in arrays)
                rest = _substituted(scope, node.array.name, function, own)
                return (*found, *substitute_operands(rest, names))
        found.append(map_bodies(node, substitute_operands, names))
    return tuple(found)


@dataclass(frozen=True)
class _Function:
    """Arithmetic with an iterator `$0`, `$1`, … in place of each element."""

    form: Expr
    dtypes: tuple[DType, ...]


def _split_operands(value: Expr) -> tuple[_Function, tuple[Load, ...]] | None:
    """Return the arithmetic of a value and the elements in it; None for other values."""
    operands: list[Load] = []

    def form(part: Expr) -> Expr | None:
        if not part.dtype.is_float:
            return None
        match part:
            case Const() | Symbol(lanes=1) | Cast(operand=Const() | Param() | Symbol(lanes=1)):
                return part
            case Load():
                operands.append(part)
                return Iter(f"${len(operands) - 1}")
            case Binary(op=op) if op in _ARITHMETIC:
                left, right = form(part.left), form(part.right)
                if left is None or right is None:
                    return None
                return replace(part, left=left, right=right)
            case Unary(op=UnaryOp.NEG) | Cast():
                inner = form(part.operand)
                return None if inner is None else replace(part, operand=inner)
            case _:
                return None

    made = form(value)
    if made is None or not operands or isinstance(value, Load):
        return None
    return _Function(made, tuple(load.dtype for load in operands)), tuple(operands)


def _function(array: str, scope: Body) -> _Function | None:
    """Return the only function of operands stored in the array declared before `scope`, or None."""
    found: _Function | None = None
    for node in all_nodes(scope):
        if _uses_whole(node, array):
            return None
        if not isinstance(node, Assign) or node.target.array != array:
            continue
        parted = _split_operands(node.value)
        is_plain = isinstance(node.target, Load) and not (node.is_async or node.is_atomic)
        if parted is None or not is_plain or node.statement or array in reads(node.value):
            return None
        if found is not None and repr(parted[0]) != repr(found):  # 0.0 is not -0.0
            return None
        found = parted[0]
    if found is None:
        return None
    scalars = symbols(found.form)
    set_here = {n.name for n in all_nodes(scope) if isinstance(n, SetLocal | Declare)}
    return None if scalars & set_here else found


def _uses_whole(node: Node, array: str) -> bool:
    """Tell whether a node uses an array other than by accessing its elements."""
    match node:
        case DeclareArray() | AllocateArray():
            return node.array.name == array
        case CallLibrary():
            return array in {a.name for a in (*node.inputs, *node.outputs)}
        case For() if any(symbol.name == array for _, symbol in node.reductions):
            return True
        case _:
            parts = (part for expr in own_expressions(node) for part in walk(expr))
            return any(isinstance(part, VectorLoad) and part.array == array for part in parts)


def _substituted(scope: Body, array: str, function: _Function, own: tuple[str, ...]) -> Body:
    """Return the nodes after the declaration with `own` arrays in place of `array`."""

    def read(part: Expr) -> Expr | None:
        if not isinstance(part, Load) or part.array != array:
            return None
        index = tuple(rewrite(i, read) for i in part.index)
        cells: dict[str, Expr] = {
            f"${n}": Load(name, index, dtype)
            for n, (name, dtype) in enumerate(zip(own, function.dtypes, strict=True))
        }
        return substitute(function.form, cells)

    found: list[Node] = []
    for node in scope:
        if isinstance(node, Assign) and node.target.array == array:
            parted = _split_operands(node.value)
            assert parted is not None
            for name, operand in zip(own, parted[1], strict=True):
                cell = Load(name, node.target.index, operand.dtype)
                found.append(replace(node, target=cell, value=operand))
            continue
        found.append(own_changed(map_bodies(node, _substituted, array, function, own), read))
    return tuple(found)
