"""Random numbers as functions of a key and a position, in C: Philox4x64-10 and normal quantiles.

In: what a helper computes.  Out: its definition; `ir/random_words.py` has the algorithms' numbers.
Nothing rounds twice differently on a machine with fused multiply-add: products are kept apart.
"""

from __future__ import annotations

from collections.abc import Callable

from polyopt.emit.helpers.helper import Helper, HelperKind, function
from polyopt.ir import random_words
from polyopt.ir.types import DType

_KEYS = "uint64_t key0, uint64_t key1"
_LARGEST = 2**64 - 1
_BLOCK = Helper(HelperKind.PHILOX_BLOCK).name
_HIGH = Helper(HelperKind.HIGH_PRODUCT, DType.UINT64).name
_PRODUCT = Helper(HelperKind.PRODUCT, DType.FLOAT64).name


def _high_product(helper: Helper) -> list[str]:
    body = [
        "#ifdef __SIZEOF_INT128__",
        "return (uint64_t)((unsigned __int128)a * b >> 64);",
        "#else",
        "uint64_t low = (uint32_t)a, high = a >> 32, other = (uint32_t)b, upper = b >> 32;",
        "uint64_t middle = high * other + (low * other >> 32);",
        "return high * upper + (middle >> 32) + (((uint32_t)middle + low * upper) >> 32);",
        "#endif",
    ]
    return function("uint64_t", helper, "uint64_t a, uint64_t b", body)


def _block(helper: Helper) -> list[str]:
    one, two = (f"UINT64_C({number})" for number in random_words.MULTIPLIERS)
    step0, step1 = (f"UINT64_C({number})" for number in random_words.STEPS)
    body = [
        f"for (int round = 0; round < {random_words.ROUNDS}; round++) {{",
        f"    uint64_t high0 = {_HIGH}({one}, a), high1 = {_HIGH}({two}, c);",
        f"    uint64_t low0 = {one} * a, low1 = {two} * c;",
        "    a = high1 ^ b ^ key0;",
        "    b = low1;",
        "    c = high0 ^ d ^ key1;",
        "    d = low0;",
        f"    key0 += {step0};",
        f"    key1 += {step1};",
        "}",
        "words[0] = a;",
        "words[1] = b;",
        "words[2] = c;",
        "words[3] = d;",
    ]
    counter = "uint64_t a, uint64_t b, uint64_t c, uint64_t d"
    return function("void", helper, f"{_KEYS}, {counter}, uint64_t *words", body)


def _philox(helper: Helper) -> list[str]:
    is_half = helper.dtype is DType.UINT32
    body = [
        "uint64_t words[4];",
        f"uint64_t place = {'position >> 1' if is_half else 'position'};",
        f"{_BLOCK}(key0, key1, (place >> 2) + 1, 0, stream, 0, words);",
        "uint64_t lower = place & 1 ? words[1] : words[0];",
        "uint64_t upper = place & 1 ? words[3] : words[2];",
        "uint64_t word = place & 2 ? upper : lower;",
        "return (uint32_t)(position & 1 ? word >> 32 : word);" if is_half else "return word;",
    ]
    return function(
        helper.dtype.ctype, helper, f"{_KEYS}, uint64_t position, uint64_t stream", body
    )


def _row(helper: Helper) -> list[str]:
    """Fill a row: all words of each counter, from the one that has `position` in it.

    The result says where in `row` that position is.
    """
    t = helper.dtype.ctype
    is_half = helper.dtype is DType.UINT32
    each = 8 if is_half else 4
    stores = ["row[at + word] = words[word];"]
    if is_half:
        stores = [
            "row[at + 2 * word] = (uint32_t)words[word];",
            "row[at + 2 * word + 1] = (uint32_t)(words[word] >> 32);",
        ]
    body = [
        f"int64_t first = (int64_t)(position % {each});",
        f"uint64_t counter = position / {each} + 1;",
        f"for (int64_t at = 0; at < first + count; at += {each}) {{",
        "    uint64_t words[4];",
        f"    {_BLOCK}(key0, key1, counter, 0, stream, 0, words);",
        "    for (int word = 0; word < 4; word++) {",
        *(f"        {store}" for store in stores),
        "    }",
        f"    counter = (counter & UINT64_C({_LARGEST // each})) + 1;",  # places are modulo 2**64
        "}",
        "return first;",
    ]
    arguments = f"{_KEYS}, uint64_t position, uint64_t stream, {t} *row, int64_t count"
    return function("int64_t", helper, arguments, body)


def _product(helper: Helper) -> list[str]:
    t = helper.dtype.ctype
    return function(t, helper, f"{t} a, {t} b", ["return po_exact(a * b);"])


def _normal(helper: Helper) -> list[str]:
    center, tail, far = random_words.CENTER, random_words.TAIL, random_words.FAR
    edge, near, beyond = map(_number, random_words.EDGES)
    body = [
        "uint64_t step = (word >> 11 ^ (0 - (word >> 63))) & UINT64_C(4503599627370495);",
        "union { double value; uint64_t bits; } all, part;",
        "double numerator = (double)(int64_t)(2 * step + 1);",
        "double distance = 0.5 - numerator * 0x1p-54;",
        "all.value = numerator;",
        "double exponent = (double)(int64_t)(all.bits >> 52) - 1077.0;",
        f"part.bits = (all.bits & UINT64_C({2**52 - 1})) | UINT64_C({1023 << 52});",
        f"bool is_large = part.value > {_number(random_words.ROOT_2)};",
        "double mantissa = is_large ? part.value * 0.5 : part.value;",
        "exponent = is_large ? exponent + 1.0 : exponent;",
        "double ratio = (mantissa - 1.0) / (mantissa + 1.0);",
        "double square = ratio * ratio;",
        *_polynomial("series", random_words.LOGARITHM, "square"),
        f"double root = sqrt(-({_times('exponent', _number(random_words.LOG_2))}"
        f" + {_times('ratio', 'series')}));",
        f"double x = {edge} - {_times('distance', 'distance')};",
        *_polynomial("above", center[0], "x"),
        *_polynomial("below", center[1], "x"),
        "double result = distance * (above / below);",
        f"bool is_far = root > {beyond};",
        f"x = root - (is_far ? {beyond} : {near});",
        *_polynomial("above", tail[0], "x", far[0], declares=False),
        *_polynomial("below", tail[1], "x", far[1], declares=False),
        f"result = distance <= {_number(random_words.MIDDLE)} ? result : above / below;",
        "return word >> 63 ? result : -result;",
    ]
    return function("double", helper, "uint64_t word", body)


def _polynomial(
    name: str,
    coefficients: tuple[float, ...],
    variable: str,
    others: tuple[float, ...] | None = None,
    *,
    declares: bool = True,
) -> list[str]:
    """Return the statements of Horner's scheme; `others` are the coefficients where `is_far`."""
    texts = [_number(number) for number in coefficients]
    if others is not None:
        pairs = zip(texts, map(_number, others), strict=True)
        texts = [a if a == b else f"(is_far ? {b} : {a})" for a, b in pairs]
    first = f"{'double ' if declares else ''}{name} = {texts[-1]};"
    rest = (f"{name} = {_times(name, variable)} + {text};" for text in texts[-2::-1])
    return [first, *rest]


def _times(left: str, right: str) -> str:
    return f"{_PRODUCT}({left}, {right})"


def _number(value: float) -> str:
    return repr(value)


DEFINITIONS: dict[str, Callable[[Helper], list[str]]] = {
    HelperKind.HIGH_PRODUCT.value: _high_product,
    HelperKind.PHILOX_BLOCK.value: _block,
    HelperKind.PHILOX.value: _philox,
    HelperKind.PHILOX_ROW.value: _row,
    HelperKind.PRODUCT.value: _product,
    HelperKind.NORMAL.value: _normal,
}
"""What defines each helper on random numbers."""
