"""Scops from Python text, so that tests show programs as programs.

In: loops over `range`, `if`, assignments; arrays as `C[N, M]; temp t; int64 P[N]`.
Out: a Scop of ir records: `a += b` is a reduction whose order is open, `a = a + b` is not;
an `if` on iterators and sizes restricts the domain, an `if` on array elements is a guard.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace
from textwrap import dedent

import islpy as isl

from polyopt.errors import Loc
from polyopt.ir.affine import condition_set, param_space, pw_aff, set_space
from polyopt.ir.expr import (
    Binary,
    BinaryOp,
    Call,
    Cast,
    Compare,
    CompareOp,
    Const,
    Expr,
    Iter,
    Load,
    MathFunc,
    Param,
    Select,
    Unary,
    UnaryOp,
    loads,
)
from polyopt.ir.linear import normalize
from polyopt.ir.scop import Array, Reduction, Role, Scop, Statement
from polyopt.ir.types import DType

I64, F64, BOOL = DType.INT64, DType.FLOAT64, DType.BOOL
_BINARY = {
    ast.Add: BinaryOp.ADD,
    ast.Sub: BinaryOp.SUB,
    ast.Mult: BinaryOp.MUL,
    ast.Div: BinaryOp.DIV,
    ast.FloorDiv: BinaryOp.FLOORDIV,
    ast.Mod: BinaryOp.MOD,
}
_COMPARE = {
    ast.Lt: CompareOp.LT,
    ast.LtE: CompareOp.LE,
    ast.Gt: CompareOp.GT,
    ast.GtE: CompareOp.GE,
    ast.Eq: CompareOp.EQ,
    ast.NotEq: CompareOp.NE,
}


def read(text: str, arrays: str, params: str = "N", least: int | None = 0) -> Scop:
    """Return the program as a Scop; every parameter is at least `least` (None: any integer)."""
    names = tuple(params.split())
    context = isl.Set.universe(param_space(names))
    for position in range(len(names)):
        if least is not None:
            context = context.lower_bound_val(isl.dim_type.param, position, isl.Val(least))
    reader = _Reader(names, {})
    declared = tuple(reader.array(part) for part in arrays.split(";"))
    reader = _Reader(names, {array.name: array for array in declared})
    found: list[Statement] = []
    start = _Place((), isl.Set.universe(set_space(names, "S", ())), (), None)
    reader.body(ast.parse(dedent(text)).body, start, found)
    return Scop(names, context, declared, tuple(found))


@dataclass(frozen=True)
class _Place:
    iters: tuple[str, ...]
    domain: isl.Set
    order: tuple[Expr, ...]
    guard: Expr | None


@dataclass(frozen=True)
class _Reader:
    params: tuple[str, ...]
    arrays: dict[str, Array]

    def array(self, text: str) -> Array:
        head, bracket, rest = text.strip().partition("[")
        *words, name = head.split()
        node = ast.parse(f"{name}{bracket}{rest}", mode="eval").body
        extents: list[ast.expr] = []
        if isinstance(node, ast.Subscript):
            extents = list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]
            node = node.value
        assert isinstance(node, ast.Name)
        role = Role.TEMP if "temp" in words else Role.INOUT
        dtype = next((DType(word) for word in words if word != "temp"), F64)
        return Array(node.id, dtype, tuple(self.value(e, (), I64) for e in extents), role)

    def body(self, nodes: list[ast.stmt], place: _Place, found: list[Statement]) -> None:
        for position, node in enumerate(nodes):
            inside = replace(place, order=(*place.order, Const(position, I64)))
            match node:
                case ast.For():
                    self.body(node.body, self.enter(node, inside), found)
                case ast.If():
                    self.body(node.body, self.when(node.test, inside), found)
                case ast.Assign() | ast.AugAssign():
                    found.append(self.statement(node, inside, f"S{len(found)}"))
                case _:
                    raise AssertionError(ast.dump(node))

    def enter(self, node: ast.For, place: _Place) -> _Place:
        assert isinstance(node.target, ast.Name)
        assert isinstance(node.iter, ast.Call)
        values = [normalize(self.value(a, place.iters, I64)) for a in node.iter.args]
        low, high = values[:2] if len(values) > 1 else (Const(0, I64), values[0])
        step = ast.literal_eval(node.iter.args[2]) if len(values) > 2 else 1
        iters = (*place.iters, node.target.id)
        domain = place.domain.add_dims(isl.dim_type.set, 1)
        for position, name in enumerate(iters):
            domain = domain.set_dim_name(isl.dim_type.set, position, name)
        domain = domain.set_tuple_name("S")
        space, here = domain.get_space(), Iter(node.target.id)
        ops = (CompareOp.GE, CompareOp.LT) if step > 0 else (CompareOp.LE, CompareOp.GT)
        for op, bound in zip(ops, (low, high), strict=True):
            domain = domain.intersect(condition_set(Compare(op, here, bound), space))
        distance = pw_aff(here, space).sub(pw_aff(low, space)).mod_val(isl.Val(abs(step)))
        domain = domain.intersect(distance.eq_set(distance.sub(distance)))
        time = here if step > 0 else Unary(UnaryOp.NEG, here, I64)
        return replace(place, iters=iters, domain=domain, order=(*place.order, time))

    def when(self, test: ast.expr, place: _Place) -> _Place:
        condition = self.value(test, place.iters, BOOL)
        if loads(condition):
            return replace(place, guard=condition)
        inside = condition_set(condition, place.domain.get_space())
        return replace(place, domain=place.domain.intersect(inside))

    def statement(self, node: ast.Assign | ast.AugAssign, place: _Place, name: str) -> Statement:
        reduction = None
        if isinstance(node, ast.Assign):
            target = self.value(node.targets[0], place.iters, I64)
            assert isinstance(target, Load)
            value = self.value(node.value, place.iters, target.dtype)
        else:
            target = self.value(node.target, place.iters, I64)
            assert isinstance(target, Load)
            op = _BINARY[type(node.op)]
            rest = self.value(node.value, place.iters, target.dtype)
            value, reduction = Binary(op, target, rest, target.dtype), Reduction(op, True)
        loc = Loc(
            "demo.py", node.lineno, node.col_offset + 1, node.lineno, node.end_col_offset or 1
        )
        domain = place.domain.set_tuple_name(name)
        text = ast.unparse(node)
        order, guard = place.order, place.guard
        return Statement(
            name, place.iters, domain, order, target, value, loc, text, reduction, guard
        )

    def value(self, node: ast.expr, iters: tuple[str, ...], dtype: DType) -> Expr:
        match node:
            case ast.Constant(value=bool(value)):
                return Const(value, BOOL)
            case ast.Constant(value=value):
                kind = I64 if dtype is BOOL else dtype
                return Const(float(value) if kind.is_float else int(value), kind)
            case ast.Name(id=name) if name in iters or name in self.params:
                plain = Iter(name) if name in iters else Param(name)
                return plain if dtype in (I64, BOOL) else Cast(plain, dtype)
            case ast.Name(id=name):
                return Load(name, (), self.arrays[name].dtype)
            case ast.Subscript(value=ast.Name(id=name)):
                parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
                index = tuple(normalize(self.value(p, iters, I64)) for p in parts)
                return Load(name, index, self.arrays[name].dtype)
            case ast.Compare() | ast.BoolOp():
                return self.condition(node, iters)
            case _:
                return self.operation(node, iters, dtype)

    def operation(self, node: ast.expr, iters: tuple[str, ...], dtype: DType) -> Expr:
        match node:
            case ast.UnaryOp(op=ast.USub()):
                return Unary(UnaryOp.NEG, self.value(node.operand, iters, dtype), dtype)
            case ast.BinOp():
                sides = (self.value(s, iters, dtype) for s in (node.left, node.right))
                return Binary(_BINARY[type(node.op)], *sides, dtype)
            case ast.IfExp():
                test = self.value(node.test, iters, BOOL)
                sides = (self.value(s, iters, dtype) for s in (node.body, node.orelse))
                return Select(test, *sides, dtype)
            case ast.Call(func=ast.Name(id="min" | "max" as name)):
                sides = (self.value(a, iters, dtype) for a in node.args)
                return Binary(BinaryOp(name), *sides, dtype)
            case ast.Call(func=ast.Name(id=name)):
                arguments = tuple(self.value(a, iters, dtype) for a in node.args)
                return Call(MathFunc(name), arguments, dtype)
            case _:
                raise AssertionError(ast.dump(node))

    def condition(self, node: ast.Compare | ast.BoolOp, iters: tuple[str, ...]) -> Expr:
        match node:
            case ast.Compare():
                left, right = (self.value(s, iters, BOOL) for s in (node.left, node.comparators[0]))
                if left.dtype.is_float and isinstance(right, Const):
                    right = Const(float(right.value.real), left.dtype)
                return Compare(_COMPARE[type(node.ops[0])], left, right)
            case ast.BoolOp(op=op):
                both = BinaryOp.AND if isinstance(op, ast.And) else BinaryOp.OR
                first, *others = (self.value(v, iters, BOOL) for v in node.values)
                for other in others:
                    first = Binary(both, first, other, BOOL)
                return first
