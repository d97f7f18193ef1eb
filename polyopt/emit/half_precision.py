"""Emulate float16 and bfloat16: bits in memory, `float` in expressions, rounded per operation.

In: an operation on FLOAT16 or BFLOAT16.  Out: the one on FLOAT32 that it rounds; bodies of the C
functions that convert.  There is no half type in the text, so that every compiler takes it.
"""

from __future__ import annotations

from polyopt.ir.expr import Binary, Call, Cast, Const, Expr, Load, MathFunc, Unary
from polyopt.ir.types import DType

_PART = {DType.COMPLEX64: DType.FLOAT32, DType.COMPLEX128: DType.FLOAT64}
_EXACT = (
    *(MathFunc.FLOOR, MathFunc.CEIL, MathFunc.TRUNC, MathFunc.RINT),
    *(MathFunc.COPYSIGN, MathFunc.NEXTAFTER),
)
_CHOOSES = ("min", "max")


def is_half_operation(expr: Expr) -> bool:
    """Tell whether the text of `expr` differs from that of other dtypes."""
    match expr:
        case Const() | Load() | Unary() | Binary():
            return expr.dtype.is_half
        case Call():
            return any(part.dtype.is_half for part in (expr, *expr.args))
        case Cast():
            return expr.dtype.is_half or expr.operand.dtype.is_half
        case _:
            return False


def is_rounded(expr: Expr) -> bool:
    """Tell whether the result of `widened(expr)` may need more than 16 bits."""
    if not expr.dtype.is_half:
        return False
    match expr:
        case Binary():
            return expr.op.value not in _CHOOSES
        case Call():
            return expr.func not in _EXACT
        case Cast():
            return expr.operand.dtype is not expr.dtype
        case _:
            return False


def widened(expr: Const | Unary | Binary | Call | Cast) -> Expr:
    """Return the operation on FLOAT32 whose result, rounded, is `expr`."""
    single = DType.FLOAT32
    match expr:
        case Const():
            return Const(expr.value, single)
        case Unary():
            return Unary(expr.op, _wide(expr.operand), single)
        case Binary():
            return Binary(expr.op, _wide(expr.left), _wide(expr.right), single)
        case Call():
            dtype = single if expr.dtype.is_half else expr.dtype
            return Call(expr.func, tuple(_wide(arg) for arg in expr.args), dtype)
        case Cast(operand=operand) if operand.dtype in _PART and expr.dtype.is_half:
            return widened(Cast(Cast(operand, _PART[operand.dtype]), expr.dtype))
        case Cast():
            return Cast(_wide(expr.operand), single if expr.dtype.is_half else expr.dtype)


def _wide(expr: Expr) -> Expr:
    return Cast(expr, DType.FLOAT32) if expr.dtype.is_half else expr


_BITS = "union { float value; uint32_t bits; }"


def widen_body(dtype: DType) -> list[str]:
    """Return the number that the bits `x` are."""
    if dtype is DType.BFLOAT16:
        return [f"{_BITS} all;", "all.bits = (uint32_t)x << 16;", "return all.value;"]
    return [
        f"{_BITS} all;",
        "all.bits = (uint32_t)(x & 0x7fff) << 13;",
        "all.value *= 0x1p112f;",
        "all.bits |= all.value >= 65536.0f ? 0x7f800000u : 0u;",
        "all.bits |= (uint32_t)(x & 0x8000) << 16;",
        "return all.value;",
    ]


def narrow_body(dtype: DType) -> list[str]:
    """Return the bits of the number nearest to `x`, of two the even one."""
    if dtype is DType.BFLOAT16:
        return [
            f"{_BITS} all;",
            "all.value = x;",
            "uint32_t near = all.bits + 0x7fff + (all.bits >> 16 & 1);",
            "uint32_t quiet = all.bits | 0x400000u;",
            "return (uint16_t)((x == x ? near : quiet) >> 16);",
        ]
    return [
        f"{_BITS} all, small;",
        "all.value = x;",
        "uint32_t sign = all.bits >> 16 & 0x8000;",
        "all.bits &= 0x7fffffffu;",
        "small.value = all.value + 0.5f;",  # what is lost there is below the last digit
        "uint32_t large = all.bits > 0x7f800000u ? 0x7e00u : 0x7c00u;",
        "uint32_t whole = (all.bits - 0x38000000u + 0xfff + (all.bits >> 13 & 1)) >> 13;",
        "uint32_t near = all.bits < 0x38800000u ? small.bits - 0x3f000000u : whole;",
        "return (uint16_t)(sign | (all.bits >= 0x47800000u ? large : near));",
    ]


def round_body(dtype: DType) -> list[str]:
    """Return `x` rounded to 16 bits, as a float."""
    if dtype is DType.BFLOAT16:
        return [
            f"{_BITS} all;",
            "all.value = x;",
            "uint32_t near = all.bits + 0x7fff + (all.bits >> 16 & 1);",
            "all.bits = (x == x ? near : all.bits | 0x400000u) & 0xffff0000u;",
            "return all.value;",
        ]
    return [
        f"{_BITS} all, small;",
        "all.value = x;",
        "uint32_t sign = all.bits & 0x80000000u;",
        "uint32_t size = all.bits ^ sign;",
        "small.bits = size;",
        "small.value = small.value + 0.5f;",
        "small.value = small.value - 0.5f;",
        "uint32_t whole = (size + 0xfff + (size >> 13 & 1)) & 0xffffe000u;",
        "uint32_t near = whole > 0x477fe000u ? 0x7f800000u : whole;",
        "near = size < 0x38800000u ? small.bits : near;",
        "all.bits = sign | (size > 0x7f800000u ? size : near);",
        "return all.value;",
    ]


def odd_body() -> list[str]:
    """Return the double `x` as a float that rounds to 16 bits as `x` does: inexact ones are odd."""
    return [
        f"{_BITS} all;",
        "all.value = (float)x;",
        "double back = all.value;",
        "if (x != x || back == x)",
        "    return all.value;",
        "all.bits -= (x < 0.0 ? back < x : back > x) ? 1u : 0u;",
        "all.bits |= 1u;",
        "return all.value;",
    ]


def next_body(dtype: DType) -> list[str]:
    """Return the number after `a` in the direction of `b`."""
    if dtype is DType.BFLOAT16:
        return [
            f"{_BITS} all;",
            "all.value = a;",
            "if (a != a || b != b)",
            "    return a + b;",
            "if (a == b)",
            "    return b;",
            "if (a == 0.0f)",
            "    all.bits = b < 0.0f ? 0x80010000u : 0x10000u;",
            "else",
            "    all.bits += (a < b) == (a > 0.0f) ? 0x10000u : 0xffff0000u;",
            "return all.value;",
        ]
    return [
        f"{_BITS} all;",
        "all.value = a;",
        "if (a != a || b != b)",
        "    return a + b;",
        "if (a == b)",
        "    return a;",
        "float size = a < 0.0f ? -a : a;",
        "bool away = a == 0.0f || (a < b) == (a > 0.0f);",
        "if (!away && size == 0x1p-24f)",
        "    return a * 0.0f;",
        "if (away ? size < 0x1p-14f : size <= 0x1p-14f)",  # their distance is the least one
        "    return a < b ? a + 0x1p-24f : a - 0x1p-24f;",
        "if (size > 65504.0f)",
        "    return a < b ? -65504.0f : 65504.0f;",
        "all.bits += away ? 0x2000u : 0xffffe000u;",
        "if (all.value > 65504.0f || all.value < -65504.0f)",
        "    all.bits = (all.bits & 0x80000000u) | 0x7f800000u;",
        "return all.value;",
    ]


_SHORT = {DType.FLOAT16: "f16", DType.BFLOAT16: "bf16"}


def load_body(dtype: DType, lanes: int, vector: str) -> list[str]:
    """Return the numbers that `lanes` elements from `p` on are, as a vector of `float`."""
    plain = [
        f"{vector} result = {{0}};",
        f"for (int lane = 0; lane < {lanes}; lane++)",
        f"    result[lane] = po_widen_{_SHORT[dtype]}(p[lane]);",
        "return result;",
    ]
    if lanes not in (8, 16):
        return plain
    bits, half = 32 * lanes, 16 * lanes
    load = f"_mm{half if half > 128 else ''}_loadu_si{half}((const __m{half}i *)p)"
    if dtype is DType.FLOAT16:
        feature = "defined(__F16C__)"
        fast = f"_mm{bits}_cvtph_ps({load})"
    else:
        feature = "defined(__AVX2__)"
        wide = f"_mm{bits}_slli_epi32(_mm{bits}_cvtepu16_epi32({load}), 16)"
        fast = f"_mm{bits}_castsi{bits}_ps({wide})"
    feature = "defined(__AVX512F__)" if lanes == 16 else f"{feature} && defined(__FMA__)"
    return [f"#if {feature}", f"return ({vector}){fast};", "#else", *plain, "#endif"]


def splat_body(dtype: DType, lanes: int, vector: str) -> list[str]:
    """Return the number that `bits` are in every lane."""
    plain = [
        f"float x = po_widen_{_SHORT[dtype]}(bits);",
        f"return ({vector}){{{', '.join(['x'] * lanes)}}};",
    ]
    if dtype is not DType.FLOAT16 or lanes not in (8, 16):
        return plain
    feature = "defined(__AVX512F__)" if lanes == 16 else "defined(__F16C__) && defined(__FMA__)"
    half = f"_mm{256 if lanes == 16 else ''}_set1_epi16((short)bits)"
    fast = f"return ({vector})_mm{32 * lanes}_cvtph_ps({half});"
    return [f"#if {feature}", fast, "#else", *plain, "#endif"]


def load_part_body(dtype: DType, vector: str) -> list[str]:
    """Return the lanes between `from` and `to`; others are zero."""
    return [
        f"{vector} result = {{0}};",
        "for (int64_t lane = from; lane < to; lane++)",
        f"    result[lane] = po_widen_{_SHORT[dtype]}(p[lane]);",
        "return result;",
    ]
