"""Print complex arithmetic of kernels: pairs of vector types, and functions on them.

In: expressions, a kernel's text.  Out: text; the definitions of the functions it calls.
Refuses: functions that C lacks, too (PO0402).
"""

from __future__ import annotations

import re

from polyopt.emit.cexpr import ExprPrinter
from polyopt.emit.gpu.complex_functions import FUNCTIONS, ComplexFunction
from polyopt.emit.gpu.dialect import DeviceDialect
from polyopt.emit.helpers import SUFFIX
from polyopt.emit.literals import float_literal
from polyopt.emit.operators import ATOM, UNARY
from polyopt.ir.expr import (
    Binary,
    BinaryOp,
    Call,
    Cast,
    Compare,
    CompareOp,
    Const,
    Expr,
    MathFunc,
    Unary,
    UnaryOp,
)
from polyopt.ir.types import DType

_PART = {DType.COMPLEX64: DType.FLOAT32, DType.COMPLEX128: DType.FLOAT64}
_OTHER = {DType.COMPLEX64: DType.COMPLEX128, DType.COMPLEX128: DType.COMPLEX64}
_NAMED = re.compile(r"\bpo_(?:(\w+)_)?(c64|c128)\b")
_BINARY = {
    BinaryOp.ADD: "add",
    BinaryOp.SUB: "sub",
    BinaryOp.MUL: "mul",
    BinaryOp.DIV: "div",
    BinaryOp.POW: "pow",
}
_UNARY = {UnaryOp.NEG: "neg", UnaryOp.ABS: "abs"}
_COMPARE = {CompareOp.EQ: "eq", CompareOp.NE: "ne"}
_FIELDS = {MathFunc.REAL: "x", MathFunc.IMAG: "y"}


def complex_text(printer: ExprPrinter, expr: Expr) -> tuple[str, int] | None:
    """Return the text of an operation on complex numbers; None of others."""
    match expr:
        case Const() if expr.dtype.is_complex:
            return _constant(expr), ATOM
        case Cast() if expr.dtype.is_complex or expr.operand.dtype.is_complex:
            return _cast(printer, expr)
        case Unary() if expr.operand.dtype.is_complex and expr.op in _UNARY:
            return _call(printer, _UNARY[expr.op], expr.operand.dtype, expr.operand)
        case Binary() if expr.dtype.is_complex and expr.op in _BINARY:
            return _call(printer, _BINARY[expr.op], expr.dtype, expr.left, expr.right)
        case Compare() if expr.op in _COMPARE:
            return _compare(printer, expr)
        case Call(func=MathFunc.COMPLEX):
            parts = (printer.text(_as(part, _PART[expr.dtype])) for part in expr.args)
            return f"po_{SUFFIX[expr.dtype]}({', '.join(parts)})", ATOM
        case Call() if expr.args[0].dtype.is_complex:
            return _function(printer, expr)
        case _:
            return None


def _as(expr: Expr, dtype: DType) -> Expr:
    return expr if expr.dtype is dtype else Cast(expr, dtype)


def _compare(printer: ExprPrinter, expr: Compare) -> tuple[str, int] | None:
    for side in (expr.left.dtype, expr.right.dtype):
        if side.is_complex:
            return _call(printer, _COMPARE[expr.op], side, expr.left, expr.right)
    return None


def _constant(const: Const) -> str:
    value, part = complex(const.value), _PART[const.dtype]
    parts = (float_literal(value.real, part), float_literal(value.imag, part))
    return f"po_{SUFFIX[const.dtype]}({', '.join(parts)})"


def _call(printer: ExprPrinter, name: str, dtype: DType, *args: Expr) -> tuple[str, int]:
    texts = ", ".join(printer.text(_as(arg, dtype)) for arg in args)
    return f"po_{name}_{SUFFIX[dtype]}({texts})", ATOM


def _cast(printer: ExprPrinter, cast: Cast) -> tuple[str, int]:
    source, target = cast.operand.dtype, cast.dtype
    if source is target:
        return printer._print(cast.operand)
    if target is DType.BOOL:
        return _call(printer, "truth", source, cast.operand)
    if not source.is_complex:
        part = _PART[target]
        text = printer.text(_as(cast.operand, part))
        return f"po_{SUFFIX[target]}({text}, {float_literal(0.0, part)})", ATOM
    if target.is_complex:
        return _call(printer, f"{SUFFIX[target]}_of", source, cast.operand)
    field = f"{printer.text(cast.operand, ATOM)}.x"
    if target is _PART[source]:
        return field, ATOM
    return f"({printer.dialect.type_name(target)}){field}", UNARY


def _function(printer: ExprPrinter, call: Call) -> tuple[str, int]:
    operand = call.args[0].dtype
    if call.func in _FIELDS:
        return f"{printer.text(call.args[0], ATOM)}.{_FIELDS[call.func]}", ATOM
    printer.dialect.call(call, operand, ("",) * len(call.args))  # refuses what C lacks
    return _call(printer, call.func.value, operand, *call.args)


def complex_definitions(text: str, dialect: DeviceDialect) -> str:
    """Return the definitions of the functions on complex numbers that `text` calls."""
    found: dict[tuple[str, DType], list[str]] = {}

    def define(text: str) -> None:
        for name, suffix in _NAMED.findall(text):
            dtype = DType.COMPLEX64 if suffix == "c64" else DType.COMPLEX128
            if (name, dtype) not in found:
                found[name, dtype] = []  # it calls itself nowhere
                body = _definition(name, FUNCTIONS[name], dtype, dialect)
                define("\n".join(body[1:]))
                found[name, dtype] = found.pop((name, dtype)) + body

    define(text)
    return "\n\n".join("\n".join(lines) for lines in found.values())


def _definition(
    name: str, function: ComplexFunction, dtype: DType, dialect: DeviceDialect
) -> list[str]:
    part, other = _PART[dtype], _OTHER[dtype]
    suffix = SUFFIX[dtype]
    own = f"po_{name}_{suffix}" if name else f"po_{suffix}"
    is_single = dtype is DType.COMPLEX64
    values = {
        "complex": dialect.type_name(dtype),
        "real": dialect.type_name(part),
        "other": dialect.type_name(other),
        "of_other": dialect.type_name(_PART[other]),
        "make": dialect.make_vector.format(type=dialect.type_name(dtype), parts="re, im"),
        "c": suffix,
        "f": dialect.single if is_single else "",
        "l": "f" if is_single else "",
        **function.numbers[0 if is_single else 1],
    }
    head = f"{dialect.function_head} {function.result} {own}({function.args})"
    lines = [head, "{", *(f"    {line}" for line in function.body), "}"]
    return [_filled(line, values) for line in lines]


def _filled(line: str, values: dict[str, str]) -> str:
    return re.sub(r"\$(\w+?)\b|\$\{(\w+)\}", lambda m: values[m.group(1) or m.group(2)], line)
