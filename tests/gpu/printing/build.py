"""Loop functions with kernels, written in Python's notation.

with kernel(256):
    for i0 in block(0, N, 32):
        s: shared[f32, 32, 33]
        for i in thread(i0, min(i0 + 32, N)):
            s[i - i0, 0] = A[i] * 2.0
        barrier("s")

Threads that combine are a loop over `combine`.
"""

from __future__ import annotations

import ast
import textwrap
from dataclasses import dataclass, field

from polyopt.emit.gpu.lane_reductions import reduction_of
from polyopt.ir.array import Array, Role
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
    Symbol,
    Unary,
    UnaryOp,
)
from polyopt.ir.integers import evaluate
from polyopt.ir.loops import (
    AllocateArray,
    Assign,
    Barrier,
    Body,
    Break,
    Declare,
    DeclareArray,
    For,
    If,
    Kernel,
    LoopFunction,
    LoopKind,
    Node,
    Scope,
    SetLocal,
    Space,
    While,
)
from polyopt.ir.source import Argument, Fault, Layout, ScalarArg, Signature, SizeOf
from polyopt.ir.types import DType

DTYPES = {
    "f32": DType.FLOAT32, "f64": DType.FLOAT64, "i8": DType.INT8, "i16": DType.INT16,
    "i32": DType.INT32, "i64": DType.INT64, "u8": DType.UINT8, "u16": DType.UINT16,
    "u32": DType.UINT32, "u64": DType.UINT64, "b": DType.BOOL, "c64": DType.COMPLEX64,
    "c128": DType.COMPLEX128,
}  # fmt: skip
_KINDS = {
    "range": LoopKind.SEQUENTIAL, "block": LoopKind.BLOCK, "thread": LoopKind.THREAD,
    "unroll": LoopKind.UNROLL, "combine": LoopKind.THREAD,
}  # fmt: skip
_BINARY = {
    ast.Add: BinaryOp.ADD, ast.Sub: BinaryOp.SUB, ast.Mult: BinaryOp.MUL, ast.Div: BinaryOp.DIV,
    ast.FloorDiv: BinaryOp.FLOORDIV, ast.Mod: BinaryOp.MOD, ast.Pow: BinaryOp.POW,
    ast.BitAnd: BinaryOp.AND, ast.BitOr: BinaryOp.OR, ast.BitXor: BinaryOp.XOR,
    ast.LShift: BinaryOp.SHL, ast.RShift: BinaryOp.SHR,
}  # fmt: skip
_COMPARE = {
    ast.Lt: CompareOp.LT, ast.LtE: CompareOp.LE, ast.Gt: CompareOp.GT, ast.GtE: CompareOp.GE,
    ast.Eq: CompareOp.EQ, ast.NotEq: CompareOp.NE,
}  # fmt: skip


def function(text: str, *, contract: bool = False, faults: str = "", **names: str) -> LoopFunction:
    """Return the loops of `text`.

    `names` gives arrays as `"f32[N, M]"` (`"f32[N, M] rows"`), scalars as `"f32"`, sizes as
    `"size"`; `faults` names the array of faults.
    """
    scope: dict[str, Expr] = {}
    arrays: dict[str, Array] = {}
    scalars: list[Argument] = []
    for name, kind in names.items():
        if kind == "size":
            scope[name] = Param(name)
        elif "[" not in kind:
            scope[name] = Symbol(name, DTYPES[kind])
            scalars.append(ScalarArg(name, name, DTYPES[kind], is_param=False))
    reader = _Reader(arrays, scope)
    for name, kind in names.items():
        if "[" in kind:
            dtype, _, rest = kind.partition("[")
            extents, _, layout = rest.partition("]")
            shape = tuple(reader.expr(_parsed(e)) for e in extents.split(",") if e.strip())
            role = Role.FAULT if name == faults else Role.INOUT
            form = Layout(layout.strip()) if layout.strip() else Layout.C
            arrays[name] = Array(name, DTYPES[dtype], shape, role, form)
    own = dict(arrays)
    body = reader.body(ast.parse(textwrap.dedent(text)).body)
    sizes = tuple(n for n, kind in names.items() if kind == "size")
    signature = Signature(
        "kernel", tuple(scalars), tuple(SizeOf(n, 0, 0) for n in sizes), (), (),
        nesting="N", checks=(), faults=(Fault("PO0233", "zero"),) * 2,
    )  # fmt: skip
    return LoopFunction("demo", tuple(own.values()), sizes, signature, body, contract=contract)


def _reductions(body: Body) -> tuple[tuple[BinaryOp, Symbol], ...]:
    """Return what threads combine that each run `body`."""
    found = reduction_of(body)
    assert found is not None
    target, op = found
    return ((op, Symbol(target.array, target.dtype)),)


def _parsed(text: str) -> ast.expr:
    return ast.parse(text.strip(), mode="eval").body


@dataclass
class _Reader:
    arrays: dict[str, Array]
    scope: dict[str, Expr] = field(default_factory=dict)
    kernels: int = 0

    def body(self, nodes: list[ast.stmt]) -> Body:
        return tuple(self.node(node) for node in nodes)

    def node(self, node: ast.stmt) -> Node:  # noqa: C901
        match node:
            case ast.With(items=[ast.withitem(ast.Call(args=[ast.Constant(int(threads))]))]):
                number, self.kernels = self.kernels, self.kernels + 1
                return Kernel(f"demo_{number}", threads, self.body(node.body))
            case ast.For(target=ast.Name(name), iter=ast.Call(ast.Name(kind), bounds)):
                lower, upper, *step = [self.expr(bound) for bound in bounds]
                self.scope[name] = Iter(name)
                by = evaluate(step[0], {}) if step else 1
                body = self.body(node.body)
                loop = For(name, lower, upper, by, _KINDS[kind], body)
                return loop.annotated(reductions=_reductions(body) if kind == "combine" else ())
            case ast.If():
                test = self.expr(node.test, DType.BOOL)
                return If(test, self.body(node.body), self.body(node.orelse))
            case ast.While():
                return While(self.expr(node.test, DType.BOOL), self.body(node.body))
            case ast.Break():
                return Break()
            case ast.AnnAssign(target=ast.Name(name), annotation=ast.Subscript() as what):
                return self.declare(name, what)
            case ast.AnnAssign(target=ast.Name(name), annotation=ast.Name(kind), value=ast.expr()):
                assert node.value is not None
                dtype = DTYPES[kind]
                value = self.expr(node.value, dtype)
                self.scope[name] = Symbol(name, dtype)
                return Declare(name, dtype, 1, value)
            case ast.Assign(targets=[ast.Name(name)], value=value):
                known = self.scope[name]
                return SetLocal(name, known.dtype, 1, self.expr(value, known.dtype))
            case ast.Assign(targets=[ast.Subscript() as target], value=value):
                place = self.expr(target)
                assert isinstance(place, Load)
                return Assign(place, self.expr(value, place.dtype), "S")
            case ast.AugAssign(target=ast.Subscript() as target, value=value):
                place = self.expr(target)
                assert isinstance(place, Load)
                total = Binary(
                    _BINARY[type(node.op)], place, self.expr(value, place.dtype), place.dtype
                )
                return Assign(place, total, "S")
            case ast.Expr(ast.Call(ast.Name("barrier" | "warp" as scope), notes)):
                note = ast.literal_eval(notes[0]) if notes else ""
                return Barrier(Scope.BLOCK if scope == "barrier" else Scope.WARP, note)
            case _:
                raise AssertionError(ast.unparse(node))

    def declare(self, name: str, what: ast.Subscript) -> Node:
        assert isinstance(what.value, ast.Name)
        parts = what.slice.elts if isinstance(what.slice, ast.Tuple) else [what.slice]
        assert isinstance(parts[0], ast.Name)
        shape = tuple(self.expr(part) for part in parts[1:])
        array = Array(name, DTYPES[parts[0].id], shape, Role.TEMP)
        self.arrays[name] = array
        if what.value.id == "allocate":
            return AllocateArray(array)
        return DeclareArray(array, Space(what.value.id))

    def expr(self, node: ast.expr, dtype: DType = DType.INT64) -> Expr:  # noqa: C901
        match node:
            case ast.Constant(value=value):
                assert isinstance(value, bool | int | float)
                return Const(float(value) if dtype.is_float else value, dtype)
            case ast.Name(name):
                return self.scope[name]
            case ast.Subscript(value=ast.Name(name), slice=index):
                subscripts = index.elts if isinstance(index, ast.Tuple) else [index]
                found = tuple(self.expr(i) for i in subscripts)
                return Load(name, found, self.arrays[name].dtype)
            case ast.UnaryOp(op=ast.USub()):
                return Unary(UnaryOp.NEG, self.expr(node.operand, dtype), dtype)
            case ast.UnaryOp():
                return Unary(UnaryOp.INVERT, self.expr(node.operand, dtype), dtype)
            case ast.BinOp():
                kind = dtype if dtype is not DType.BOOL else self.kind(node.left)
                left, right = self.expr(node.left, kind), self.expr(node.right, kind)
                return Binary(_BINARY[type(node.op)], left, right, kind)
            case ast.BoolOp():
                op = BinaryOp.AND if isinstance(node.op, ast.And) else BinaryOp.OR
                result, *rest = [self.expr(value, DType.BOOL) for value in node.values]
                for part in rest:
                    result = Binary(op, result, part, DType.BOOL)
                return result
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                kind = self.kind(left)
                return Compare(_COMPARE[type(op)], self.expr(left, kind), self.expr(right, kind))
            case ast.IfExp():
                test = self.expr(node.test, DType.BOOL)
                return Select(
                    test, self.expr(node.body, dtype), self.expr(node.orelse, dtype), dtype
                )
            case ast.Call(ast.Name("min" | "max" as op), [left, right]):
                return Binary(BinaryOp(op), self.expr(left, dtype), self.expr(right, dtype), dtype)
            case ast.Call(ast.Name("abs"), [operand]):
                return Unary(UnaryOp.ABS, self.expr(operand, dtype), dtype)
            case ast.Call(ast.Name(name), [operand]) if name in DTYPES:
                return Cast(self.expr(operand, self.kind(operand)), DTYPES[name])
            case ast.Call(ast.Name(name), args):
                kind = self.kind(args[0])
                return Call(MathFunc[name.upper()], tuple(self.expr(a, kind) for a in args), dtype)
            case _:
                raise AssertionError(ast.unparse(node))

    def kind(self, node: ast.expr) -> DType:
        """Return the dtype of the first array, scalar or iterator in an expression."""
        for part in ast.walk(node):
            match part:
                case ast.Call(ast.Name(name)) if name in DTYPES:
                    return DTYPES[name]
                case ast.Subscript(value=ast.Name(name)):
                    return self.arrays[name].dtype
                case ast.Name(name) if name in self.scope:
                    return self.scope[name].dtype
                case _:
                    pass
        return DType.INT64
