"""Print complex arithmetic of kernels: pairs of vector types, and functions on them.

In: expressions, a kernel's text.  Out: text; the definitions of the functions it calls.
Refuses: functions that C lacks, too (PO0402).
NumPy's product, quotient and functions of complex numbers.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from polyopt.dataclass import dataclass
from polyopt.emit.cexpr import ExprPrinter
from polyopt.emit.dialect import ATOM, UNARY, float_literal
from polyopt.emit.gpu.dialect import DeviceDialect
from polyopt.emit.helpers import SUFFIX
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


@dataclass(frozen=True, slots=True)
class ComplexFunction:
    """One function; `numbers` are words that differ between complex64 and complex128."""

    result: str
    args: str
    body: tuple[str, ...]
    numbers: tuple[Mapping[str, str], Mapping[str, str]] = ({}, {})


def _of(result: str, args: str, *body: str) -> ComplexFunction:
    return ComplexFunction(result, args, body)


def _unary(*body: str) -> ComplexFunction:
    return ComplexFunction("$complex", "$complex z", body)


def _binary(*body: str) -> ComplexFunction:
    return ComplexFunction("$complex", "$complex a, $complex b", body)


_DIV = (
    "if (fabs${f}(b.x) >= fabs${f}(b.y)) {",
    "    if (b.x == 0 && b.y == 0)",
    "        return po_${c}(a.x / fabs${f}(b.x), a.y / fabs${f}(b.x));",
    "    const $real ratio = b.y / b.x;",
    "    const $real scale = 1.0${l} / (b.x + b.y * ratio);",
    "    return po_${c}((a.x + a.y * ratio) * scale, (a.y - a.x * ratio) * scale);",
    "}",
    "const $real ratio = b.x / b.y;",
    "const $real scale = 1.0${l} / (b.y + b.x * ratio);",
    "return po_${c}((a.x * ratio + a.y) * scale, (a.y * ratio - a.x) * scale);",
)

_EXP = (
    "if (z.y == 0)",
    "    return po_${c}(exp${f}(z.x), z.y);",
    "if (isinf(z.x) && !isfinite(z.y))",
    "    return z.x < 0 ? po_${c}(0.0${l}, 0.0${l}) : po_${c}(z.x, z.y - z.y);",
    "const $real size = exp${f}(z.x);",
    "if (isinf(size) && isfinite(z.x)) {",
    "    const $real half_way = exp${f}(0.5${l} * z.x);",
    "    return po_${c}(half_way * cos${f}(z.y) * half_way, half_way * sin${f}(z.y) * half_way);",
    "}",
    "return po_${c}(size * cos${f}(z.y), size * sin${f}(z.y));",
)
_LOG = (
    "const $real re = fabs${f}(z.x), im = fabs${f}(z.y);",
    "const $real angle = atan2${f}(z.y, z.x);",
    "const $real large = re < im ? im : re, small = re < im ? re : im;",
    "if (large > 0.5${l} && large < 2)",
    "    return po_${c}(0.5${l} * log1p${f}((large - 1) * (large + 1) + small * small), angle);",
    "if (large > $most && isfinite(large))",
    "    return po_${c}(log${f}(hypot${f}(re / $scale, im / $scale)) + $log_scale, angle);",
    "if (large < $least && large > 0)",
    "    return po_${c}(log${f}(hypot${f}(re * $scale, im * $scale)) - $log_scale, angle);",
    "return po_${c}(log${f}(hypot${f}(re, im)), angle);",
)
_SQRT = (
    "if (isinf(z.y))",
    "    return po_${c}(fabs${f}(z.y), z.y);",
    "if (isinf(z.x) && z.x < 0)",
    "    return po_${c}(fabs${f}(z.y - z.y), copysign${f}(z.x, z.y));",
    "if (isinf(z.x))",
    "    return po_${c}(z.x, isnan(z.y) ? z.y : copysign${f}(0.0${l}, z.y));",
    "if (z.x == 0 && z.y == 0)",
    "    return po_${c}(0.0${l}, z.y);",
    "$real re = fabs${f}(z.x), im = fabs${f}(z.y), back = 1;",
    "if (re > $most || im > $most) {",
    "    re /= $scale, im /= $scale, back = $root;",
    "} else if (re < $least && im < $least) {",
    "    re *= $scale, im *= $scale, back = 1 / $root;",
    "}",
    "const $real root = sqrt${f}(0.5${l} * (re + hypot${f}(re, im)));",
    "const $real side = 0.5${l} * im / root;",
    "if (z.x < 0)",
    "    return po_${c}(side * back, copysign${f}(root * back, z.y));",
    "return po_${c}(root * back, copysign${f}(side * back, z.y));",
)
_POW = (
    "if (b.x == 0 && b.y == 0)",
    "    return po_${c}(1.0${l}, 0.0${l});",
    "if (a.x == 0 && a.y == 0)",
    "    return b.x > 0 ? po_${c}(0.0${l}, 0.0${l}) : po_${c}(a.x / a.x, a.x / a.x);",
    "if (b.y == 0 && b.x > -100 && b.x < 100 && b.x == (int)b.x) {",
    "    int n = b.x < 0 ? -(int)b.x : (int)b.x;",
    "    if (b.x == 1)",
    "        return a;",
    "    if (b.x == 2 || b.x == 3)",
    "        return b.x == 2 ? po_mul_${c}(a, a) : po_mul_${c}(a, po_mul_${c}(a, a));",
    "    $complex result = po_${c}(1.0${l}, 0.0${l});",
    "    for (;; a = po_mul_${c}(a, a)) {",
    "        if (n & 1)",
    "            result = po_mul_${c}(result, a);",
    "        if (!(n >>= 1))",
    "            break;",
    "    }",
    "    return b.x < 0 ? po_div_${c}(po_${c}(1.0${l}, 0.0${l}), result) : result;",
    "}",
    "$complex power = po_log_${c}(a);",
    "if (isinf(power.x) && isnan(power.y))",
    "    power.y = 0;",
    "return po_exp_${c}(po_mul_${c}(b, power));",
)
_SINH = (
    "if (z.y == 0)",
    "    return po_${c}(sinh${f}(z.x), z.y);",
    "if (z.x == 0)",
    "    return po_${c}(z.x, sin${f}(z.y));",
    "if (isinf(z.x) && !isfinite(z.y))",
    "    return po_${c}(fabs${f}(z.x), z.y - z.y);",
    "const $real size = cosh${f}(z.x);",
    "if (isinf(size) && isfinite(z.x)) {",
    "    const $real half_way = exp${f}(0.5${l} * fabs${f}(z.x));",
    "    const $real re = 0.5${l} * half_way * cos${f}(z.y) * half_way;",
    "    return po_${c}(z.x < 0 ? -re : re, 0.5${l} * half_way * sin${f}(z.y) * half_way);",
    "}",
    "return po_${c}(sinh${f}(z.x) * cos${f}(z.y), size * sin${f}(z.y));",
)
_COSH = (
    "if (z.y == 0)",
    "    return po_${c}(cosh${f}(z.x), z.x < 0 ? -z.y : z.y);",
    "if (z.x == 0)",
    "    return po_${c}(cos${f}(z.y), isfinite(z.y) ? z.x * sin${f}(z.y) : 0.0${l});",
    "if (isinf(z.x) && !isfinite(z.y))",
    "    return po_${c}(fabs${f}(z.x), z.y - z.y);",
    "const $real size = cosh${f}(z.x);",
    "if (isinf(size) && isfinite(z.x)) {",
    "    const $real half_way = exp${f}(0.5${l} * fabs${f}(z.x));",
    "    const $real im = 0.5${l} * half_way * sin${f}(z.y) * half_way;",
    "    return po_${c}(0.5${l} * half_way * cos${f}(z.y) * half_way, z.x < 0 ? -im : im);",
    "}",
    "return po_${c}(size * cos${f}(z.y), sinh${f}(z.x) * sin${f}(z.y));",
)
_TANH = (
    "if (z.y == 0)",
    "    return po_${c}(tanh${f}(z.x), z.y);",
    "if (z.x == 0)",
    "    return po_${c}(z.x, tan${f}(z.y));",
    "const $real side = copysign${f}(1.0${l}, z.x);",
    "if (isinf(z.x))",
    "    return po_${c}(side, isfinite(z.y) ? copysign${f}(0.0${l}, sin${f}(2 * z.y)) : 0.0${l});",
    "if (fabs${f}(z.x) > $flat && isfinite(z.y)) {",
    "    const $real rest = 4 * exp${f}(-2 * fabs${f}(z.x));",
    "    return po_${c}(side, sin${f}(z.y) * cos${f}(z.y) * rest);",
    "}",
    "const $real s = sinh${f}(z.x), sine = sin${f}(z.y), cosine = cos${f}(z.y);",
    "const $real below = s * s + cosine * cosine;",
    "return po_${c}(s * cosh${f}(z.x) / below, sine * cosine / below);",
)
_ASIN = (
    "if (fabs${f}(z.x) > $far || fabs${f}(z.y) > $far) {",
    "    const $real size = po_log_${c}(z).x + $log_two;",
    "    return po_${c}(atan2${f}(z.x, fabs${f}(z.y)), copysign${f}(size, z.y));",
    "}",
    "if (z.x == 0)",
    "    return po_${c}(z.x, asinh${f}(z.y));",
    "const $complex s = po_sqrt_${c}(po_${c}(1 - z.x, -z.y));",
    "const $complex t = po_sqrt_${c}(po_${c}(1 + z.x, z.y));",
    "const $real im = asinh${f}(s.x * t.y - s.y * t.x);",
    "return po_${c}(atan2${f}(z.x, s.x * t.x - s.y * t.y), im);",
)
_ACOS = (
    "if (fabs${f}(z.x) > $far || fabs${f}(z.y) > $far) {",
    "    const $real size = po_log_${c}(z).x + $log_two;",
    "    return po_${c}(atan2${f}(fabs${f}(z.y), z.x), copysign${f}(size, -z.y));",
    "}",
    "if (z.x == 0)",
    "    return po_${c}($quarter, -asinh${f}(z.y));",
    "const $complex s = po_sqrt_${c}(po_${c}(1 - z.x, -z.y));",
    "const $complex t = po_sqrt_${c}(po_${c}(1 + z.x, z.y));",
    "const $real im = asinh${f}(t.x * s.y - t.y * s.x);",
    "return po_${c}(2 * atan2${f}(s.x, t.x), im);",
)
_ACOSH = (
    "const $complex w = po_acos_${c}(z);",
    "return po_${c}(fabs${f}(w.y), isnan(z.y) ? w.x : copysign${f}(w.x, z.y));",
)
_ATANH = (
    "if (z.x == 0)",
    "    return po_${c}(z.x, atan${f}(z.y));",
    "const $real re = fabs${f}(z.x), im = fabs${f}(z.y);",
    "if (isinf(re) || isinf(im)) {",
    "    const $real turn = isnan(z.y) ? z.y : copysign${f}($quarter, z.y);",
    "    return po_${c}(copysign${f}(0.0${l}, z.x), turn);",
    "}",
    "if ((re > $far && !isnan(im)) || (im > $far && !isnan(re))) {",
    "    const $real large = re < im ? im : re, x = z.x / large, y = z.y / large;",
    "    return po_${c}(x / (x * x + y * y) / large, copysign${f}($quarter, z.y));",
    "}",
    "const $real turn = 0.5${l} * atan2${f}(2 * z.y, (1 - re) * (1 + re) - im * im);",
    "if (re == 1) {",
    "    const $real size = 0.5${l} * (log${f}(hypot${f}(2.0${l}, im)) - log${f}(im));",
    "    return po_${c}(copysign${f}(size, z.x), turn);",
    "}",
    "const $real ratio = 4 * re / ((1 - re) * (1 - re) + im * im);",
    "return po_${c}(copysign${f}(0.25${l} * log1p${f}(ratio), z.x), turn);",
)
_TURNED = "const $complex w = po_{}_${{c}}(po_${{c}}(z.y, z.x));"
"""Functions of circles are those of hyperbolas with parts exchanged."""
_NUMBERS = (
    {
        "most": "1e37f",
        "least": "1e-30f",
        "scale": "1099511627776.0f",
        "root": "1048576.0f",
        "log_scale": "27.725887f",
        "flat": "10.0f",
        "far": "1e9f",
        "log_two": "0.6931472f",
        "quarter": "1.5707964f",
    },
    {
        "most": "1e307",
        "least": "1e-290",
        "scale": "1267650600228229401496703205376.0",
        "root": "1125899906842624.0",
        "log_scale": "69.31471805599453",
        "flat": "22.0",
        "far": "1e18",
        "log_two": "0.6931471805599453",
        "quarter": "1.5707963267948966",
    },
)


def _numbered(*body: str) -> ComplexFunction:
    return ComplexFunction("$complex", "$complex z", body, _NUMBERS)


def _turned(name: str) -> ComplexFunction:
    return _unary(_TURNED.format(name), "return po_${c}(w.y, w.x);")


FUNCTIONS: Mapping[str, ComplexFunction] = {
    "": _of("$complex", "$real re, $real im", "return $make;"),
    "c64_of": _of("$other", "$complex z", "return po_c64((float)z.x, (float)z.y);"),
    "c128_of": _of("$other", "$complex z", "return po_c128((double)z.x, (double)z.y);"),
    "truth": _of("bool", "$complex z", "return z.x != 0 || z.y != 0;"),
    "eq": _of("bool", "$complex a, $complex b", "return a.x == b.x && a.y == b.y;"),
    "ne": _of("bool", "$complex a, $complex b", "return a.x != b.x || a.y != b.y;"),
    "isnan": _of("bool", "$complex z", "return isnan(z.x) || isnan(z.y);"),
    "isinf": _of("bool", "$complex z", "return isinf(z.x) || isinf(z.y);"),
    "isfinite": _of("bool", "$complex z", "return isfinite(z.x) && isfinite(z.y);"),
    "neg": _unary("return po_${c}(-z.x, -z.y);"),
    "conj": _unary("return po_${c}(z.x, -z.y);"),
    "abs": _of("$real", "$complex z", "return hypot${f}(z.x, z.y);"),
    "add": _binary("return po_${c}(a.x + b.x, a.y + b.y);"),
    "sub": _binary("return po_${c}(a.x - b.x, a.y - b.y);"),
    "mul": _binary("return po_${c}(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);"),
    "div": _binary(*_DIV),
    "pow": _binary(*_POW),
    "exp": _unary(*_EXP),
    "log": _numbered(*_LOG),
    "sqrt": _numbered(*_SQRT),
    "sinh": _unary(*_SINH),
    "cosh": _unary(*_COSH),
    "tanh": _numbered(*_TANH),
    "sin": _turned("sinh"),
    "cos": _unary("return po_cosh_${c}(po_${c}(-z.y, z.x));"),
    "tan": _turned("tanh"),
    "asin": _numbered(*_ASIN),
    "acos": _numbered(*_ACOS),
    "atan": _turned("atanh"),
    "asinh": _turned("asin"),
    "acosh": _unary(*_ACOSH),
    "atanh": _numbered(*_ATANH),
}
"""By name; without one, a complex number of its parts."""
