"""Arithmetic on numbers with the meaning that NumPy gives it."""

from __future__ import annotations

from collections.abc import Callable

from polyopt.emit import half_precision
from polyopt.emit.functions import table
from polyopt.emit.helpers.helper import (
    Helper,
    HelperKind,
    Registers,
    binary,
    either,
    float_suffix,
    function,
    unsigned,
    vector_type,
)
from polyopt.ir.types import DType, Kind


def _min(helper: Helper) -> list[str]:
    sign = "<" if helper.kind is HelperKind.MIN else ">"
    if helper.dtype is DType.FLOAT16:
        sign += "="  # of two zeros NumPy takes the first one here
    if helper.lanes > 1:
        return _min_of_lanes(helper, sign)
    if helper.dtype.is_float:
        turned = {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}[sign]
        # `a` where either is NaN; gcc makes vectors of one condition at a time only
        kept = f"const {helper.dtype.value_ctype} kept = b {turned} a ? b : a;"
        return binary(helper, [kept, "return b != b ? b : kept;"])
    return binary(helper, [f"return a {sign} b ? a : b;"])


def _min_of_lanes(helper: Helper, sign: str) -> list[str]:
    """Return the text on vectors: a mask of lanes takes the first operand, the rest the second."""
    t = vector_type(helper.dtype, helper.lanes)
    if helper.dtype.is_integer:  # compilers know the instruction by this loop
        each = f"a[lane] {sign} b[lane] ? a[lane] : b[lane]"
        loop = f"for (int lane = 0; lane < {helper.lanes}; lane++)"
        body = [f"{t} result;", loop, f"    result[lane] = {each};", "return result;"]
        return function(t, helper, f"{t} a, {t} b", body)
    plain = [
        f"__typeof__(a {sign} b) first = (a {sign} b) | (a != a);",
        "__typeof__(first) one = (__typeof__(first))a & first;",
        f"return ({t})(one | ((__typeof__(first))b & ~first));",
    ]
    names = Registers.of(helper)
    if names is None or names.bits != 512 or helper.dtype.is_half:
        return function(t, helper, f"{t} a, {t} b", plain)
    which, element, bits = helper.kind.value, names.element, 8 * helper.dtype.size
    fast = [  # the instruction takes `b` where either is NaN; the other one puts NaN of `a` back
        f"{names.type} first = ({names.type})a;",
        f"{names.type} chosen = _mm512_{which}_{element}(first, ({names.type})b);",
        f"return ({t})_mm512_fixupimm_{element}(chosen, first, _mm512_set1_epi{bits}(0x11), 0);",
    ]
    return function(t, helper, f"{t} a, {t} b", either("__AVX512F__", fast, plain))


def _widen(helper: Helper) -> list[str]:
    return function("float", helper, "uint16_t x", half_precision.widen_body(helper.dtype))


def _narrow(helper: Helper) -> list[str]:
    return function("uint16_t", helper, "float x", half_precision.narrow_body(helper.dtype))


def _round(helper: Helper) -> list[str]:
    return function("float", helper, "float x", half_precision.round_body(helper.dtype))


def _next(helper: Helper) -> list[str]:
    return function("float", helper, "float a, float b", half_precision.next_body(helper.dtype))


def _odd(helper: Helper) -> list[str]:
    return function("float", helper, "double x", half_precision.odd_body())


def _elementary(helper: Helper) -> list[str]:
    function = "pow" if helper.kind is HelperKind.POWER else helper.kind.value
    return table.definition(function, helper.dtype, helper.name)


def _reduction(helper: Helper) -> list[str]:
    # OpenMP's own minimum and maximum lose NaN
    is_min = helper.kind is HelperKind.REDUCE_MIN
    join = Helper(HelperKind.MIN if is_min else HelperKind.MAX, helper.dtype).name
    return [
        f"#pragma omp declare reduction({helper.name} : {helper.dtype.value_ctype} : \\",
        f"        omp_out = {join}(omp_out, omp_in)) \\",
        f"    initializer(omp_priv = {'' if is_min else '-'}INFINITY)",
    ]


def _scale(helper: Helper) -> list[str]:
    """The power of two that brings a divisor to where its reciprocal is a normal number.

    It is made without choices: compilers move no branches out of loops.
    """
    t = helper.dtype.ctype
    is_single = helper.dtype is DType.FLOAT32
    u, place, most, power = ("uint32_t", 23, 0xFF, 30) if is_single else ("uint64_t", 52, 0x7FF, 60)
    body = [
        f"union {{ {t} value; {u} bits; }} of;",
        "of.value = x;",
        f"{u} exponent = of.bits >> {place} & {most:#x};",
        f"{u} power = {most >> 1} + {power} * ({u})(exponent < 3)",
        f"    - {power} * ({u})(exponent > {most - 4});",
        f"of.bits = power << {place};",
        "return of.value;",
    ]
    return function(t, helper, f"{t} x", body)


def _reciprocal(helper: Helper) -> list[str]:
    t, scale = helper.dtype.ctype, Helper(HelperKind.SCALE, helper.dtype).name
    one = f"1.0{float_suffix(helper.dtype)}"
    return function(t, helper, f"{t} x", [f"return {one} / (x * {scale}(x));"])


def _floordiv(helper: Helper) -> list[str]:
    t = helper.dtype.ctype
    match helper.dtype.kind:
        case Kind.FLOAT:
            f = float_suffix(helper.dtype)
            return binary(
                helper,
                [
                    f"if (b == 0.0{f})",
                    "    return a / b;",
                    f"{t} rest = fmod{f}(a, b);",
                    f"{t} quotient = (a - rest) / b;",
                    f"if (rest != 0.0{f} && (b < 0.0{f}) != (rest < 0.0{f}))",
                    f"    quotient -= 1.0{f};",
                    f"if (quotient == 0.0{f})",
                    f"    return copysign{f}(0.0{f}, a / b);",
                    f"{t} whole = floor{f}(quotient);",
                    f"return quotient - whole > 0.5{f} ? whole + 1.0{f} : whole;",
                ],
            )
        case Kind.SIGNED:
            return binary(
                helper,
                [
                    "if (b == 0)",
                    "    return 0;",
                    "if (b == -1)",
                    f"    return ({t})(0 - ({unsigned(helper.dtype)})a);",
                    f"return ({t})(a / b - (a % b != 0 && (a < 0) != (b < 0)));",
                ],
            )
        case _:
            return binary(helper, [f"return b == 0 ? 0 : ({t})(a / b);"])


def _floor(helper: Helper) -> list[str]:
    """Divide by a positive number."""
    return binary(helper, ["return a / b - (a % b < 0);"])


def _mod(helper: Helper) -> list[str]:
    t = helper.dtype.ctype
    match helper.dtype.kind:
        case Kind.FLOAT:
            f = float_suffix(helper.dtype)
            return binary(
                helper,
                [
                    f"{t} rest = fmod{f}(a, b);",
                    f"if (b == 0.0{f})",
                    "    return rest;",
                    f"if (rest == 0.0{f})",
                    f"    return copysign{f}(0.0{f}, b);",
                    f"return (b < 0.0{f}) != (rest < 0.0{f}) ? rest + b : rest;",
                ],
            )
        case Kind.SIGNED:
            return binary(
                helper,
                [
                    "if (b == 0 || b == -1)",
                    "    return 0;",
                    f"{t} rest = a % b;",
                    f"return ({t})(rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest);",
                ],
            )
        case _:
            return binary(helper, [f"return b == 0 ? 0 : ({t})(a % b);"])


def _pow(helper: Helper) -> list[str]:
    t = helper.dtype.ctype
    return binary(
        helper,
        [
            f"{t} result = 1;",
            "for (; b > 0; b >>= 1) {",
            "    if (b & 1)",
            f"        result = ({t})((uint64_t)result * (uint64_t)a);",
            f"    a = ({t})((uint64_t)a * (uint64_t)a);",
            "}",
            "return result;",
        ],
    )


def _abs(helper: Helper) -> list[str]:
    t = helper.dtype.ctype
    return function(
        t, helper, f"{t} a", [f"return a < 0 ? ({t})(0 - ({unsigned(helper.dtype)})a) : a;"]
    )


def _gcd(helper: Helper) -> list[str]:
    t = helper.dtype.ctype
    signed = helper.dtype.kind is Kind.SIGNED
    left, right = (f"{x} < 0 ? -(uint64_t){x} : (uint64_t){x}" if signed else f"{x}" for x in "ab")
    return binary(
        helper,
        [
            f"uint64_t x = {left};",
            f"uint64_t y = {right};",
            "while (y != 0) {",
            "    uint64_t rest = x % y;",
            "    x = y;",
            "    y = rest;",
            "}",
            f"return ({t})x;",
        ],
    )


def _shift(helper: Helper) -> list[str]:
    t = helper.dtype.ctype
    bits = helper.dtype.size * 8
    over = "0"
    value = f"({t})(({unsigned(helper.dtype)})a << b)"
    if helper.kind is HelperKind.SHR:
        value = f"({t})(a >> b)"
        over = "a < 0 ? -1 : 0" if helper.dtype.kind is Kind.SIGNED else "0"
    return binary(helper, [f"return (uint64_t)b < {bits} ? {value} : ({t})({over});"])


def _wrap(helper: Helper) -> list[str]:
    t, u = helper.dtype.ctype, unsigned(helper.dtype)
    if helper.kind is HelperKind.WRAP_NEG:
        return function(t, helper, f"{t} a", [f"return ({t})(0 - ({u})a);"])
    signs = {HelperKind.WRAP_ADD: "+", HelperKind.WRAP_SUB: "-", HelperKind.WRAP_MUL: "*"}
    return binary(helper, [f"return ({t})(({u})a {signs[helper.kind]} ({u})b);"])


def _complex_parts(helper: Helper) -> tuple[str, str, list[str]]:
    f = "f" if helper.dtype is DType.COMPLEX64 else ""
    real = "float" if f else "double"
    parts = [
        f"{real} ar = creal{f}(a), ai = cimag{f}(a);",
        f"{real} br = creal{f}(b), bi = cimag{f}(b);",
    ]
    return f, real, parts


def _opaque(helper: Helper) -> list[str]:
    """A value about which a compiler's syntax trees know nothing."""
    t = helper.dtype.value_ctype
    return function(t, helper, f"{t} x", ["return x;"])


def _complex_mul(helper: Helper) -> list[str]:
    f, real, parts = _complex_parts(helper)
    make = f"CMPLX{f.upper()}"
    return binary(
        helper,
        [
            *parts,
            f"{real} re = po_exact(ar * br) - po_exact(ai * bi);",
            f"{real} im = po_exact(ar * bi) + po_exact(ai * br);",
            f"return {make}(re, im);",
        ],
    )


def _complex_power(helper: Helper) -> list[str]:
    """Powers as NumPy has them: products for whole exponents of less than a hundred."""
    mul, div = (Helper(kind, helper.dtype).name for kind in (HelperKind.MUL, HelperKind.DIV))
    t, f = helper.dtype.ctype, "f" if helper.dtype is DType.COMPLEX64 else ""
    make = f"CMPLX{f.upper()}"
    body = [
        f"double re = creal{f}(b);",
        f"bool is_real = cimag{f}(b) == 0;",
        "if (is_real && re == 0)",
        f"    return {make}(1, 0);",
        f"if (creal{f}(a) == 0 && cimag{f}(a) == 0)",
        f"    return re > 0 ? {make}(0, 0) : {make}(NAN, NAN);",
        "if (!is_real || !(re > -100 && re < 100) || re != (int)re)",
        f"    return cpow{f}(a, b);",
        "int n = re < 0 ? -(int)re : (int)re;",
        "if (re == 1)",
        "    return a;",
        "if (re == 2 || re == 3)",
        f"    return re == 2 ? {mul}(a, a) : {mul}(a, {mul}(a, a));",
        f"{t} result = {make}(1, 0);",
        "for (;; a = " + f"{mul}(a, a)) {{",
        "    if (n & 1)",
        f"        result = {mul}(result, a);",
        "    if (!(n >>= 1))",
        "        break;",
        "}",
        f"return re < 0 ? {div}({make}(1, 0), result) : result;",
    ]
    return binary(helper, body)


def _complex_div(helper: Helper) -> list[str]:
    """Scale by the larger part of the divisor (Smith, "Algorithm 116", 1962), as NumPy does.

    Both cases are one, without a branch, so that loops vectorize.
    """
    f, real, parts = _complex_parts(helper)
    return binary(
        helper,
        [
            *parts,
            f"bool turned = !(fabs{f}(br) >= fabs{f}(bi));",
            "bool is_zero = br == 0 && bi == 0;",
            f"{real} large = turned ? bi : br, small = turned ? br : bi;",
            f"{real} ratio = small / large;",
            f"{real} scale = 1.0{f} / (is_zero ? fabs{f}(br) : large + small * ratio);",
            f"{real} first = turned ? ai : ar, second = turned ? ar : ai;",
            f"{real} re = is_zero ? ar : first + po_exact(second * ratio);",
            f"{real} crossed = po_exact(first * ratio);",
            f"{real} im = is_zero ? ai : turned ? crossed - second : second - crossed;",
            f"return CMPLX{f.upper()}(re * scale, im * scale);",
        ],
    )


def _modulus(helper: Helper) -> list[str]:
    f, real = ("f", "float") if helper.dtype is DType.COMPLEX64 else ("", "double")
    part = DType.FLOAT32 if f else DType.FLOAT64
    length = Helper(HelperKind.HYPOT, part).name
    value = f"{helper.dtype.value_ctype} a"
    return function(real, helper, value, [f"return {length}(creal{f}(a), cimag{f}(a));"])


def _exact(helper: Helper) -> list[str]:
    # gcc 12 and later fuse a*b-c beside d*e+f into one rounding even under -ffp-contract=off
    return [
        "#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 12",
        f"#define {helper.name}(product) __builtin_assoc_barrier(product)",
        "#else",
        f"#define {helper.name}(product) (product)",
        "#endif",
    ]


DEFINITIONS: dict[HelperKind, Callable[[Helper], list[str]]] = {
    **{kind: _elementary for kind in HelperKind if kind.value in table.NAMES},
    HelperKind.WIDEN: _widen,
    HelperKind.NARROW: _narrow,
    HelperKind.ROUND: _round,
    HelperKind.ODD: _odd,
    HelperKind.NEXT: _next,
    HelperKind.MIN: _min,
    HelperKind.MAX: _min,
    HelperKind.FLOORDIV: _floordiv,
    HelperKind.FLOOR: _floor,
    HelperKind.MOD: _mod,
    HelperKind.POW: _pow,
    HelperKind.ABS: _abs,
    HelperKind.GCD: _gcd,
    HelperKind.MODULUS: _modulus,
    HelperKind.POWER: _elementary,
    HelperKind.SHL: _shift,
    HelperKind.SHR: _shift,
    HelperKind.MUL: _complex_mul,
    HelperKind.DIV: _complex_div,
    HelperKind.COMPLEX_POWER: _complex_power,
    HelperKind.SCALE: _scale,
    HelperKind.RECIPROCAL: _reciprocal,
    HelperKind.EXACT: _exact,
    HelperKind.OPAQUE: _opaque,
    HelperKind.REDUCE_MIN: _reduction,
    HelperKind.REDUCE_MAX: _reduction,
    HelperKind.WRAP_ADD: _wrap,
    HelperKind.WRAP_SUB: _wrap,
    HelperKind.WRAP_MUL: _wrap,
    HelperKind.WRAP_NEG: _wrap,
}
"""What defines each helper on numbers."""
