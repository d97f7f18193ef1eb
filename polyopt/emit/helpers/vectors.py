"""Vectors of gcc and clang: read and written whole or in part, joined, multiplied and added."""

from __future__ import annotations

from collections.abc import Callable

from polyopt.dataclass import replace
from polyopt.emit import half_precision
from polyopt.emit.helpers.helper import (
    Helper,
    HelperKind,
    Registers,
    either,
    float_suffix,
    function,
    vector_type,
)
from polyopt.ir.types import DType


def _vector(helper: Helper) -> list[str]:
    element = helper.dtype
    if element.is_half:  # computed as `float`
        return [f"typedef float {helper.name} __attribute__((vector_size({4 * helper.lanes})));"]
    size = element.size * helper.lanes
    return [
        f"typedef {element.ctype} {helper.name} __attribute__((vector_size({size})));",
        f"typedef {element.ctype} {helper.name}_mem "
        f"__attribute__((vector_size({size}), aligned({element.size}), may_alias));",
    ]


def _splat(helper: Helper) -> list[str]:
    vector = vector_type(helper.dtype, helper.lanes)
    lanes = ", ".join(["x"] * helper.lanes)
    if helper.dtype.is_half:
        body = half_precision.splat_body(helper.dtype, helper.lanes, vector)
        return function(vector, helper, f"{helper.dtype.ctype} bits", body)
    args = f"{helper.dtype.ctype} x"
    return function(vector, helper, args, [f"return ({vector}){{{lanes}}};"])


def _load(helper: Helper) -> list[str]:
    vector = vector_type(helper.dtype, helper.lanes)
    args = f"const {helper.dtype.ctype} *p"
    if helper.dtype.is_half:
        return function(
            vector, helper, args, half_precision.load_body(helper.dtype, helper.lanes, vector)
        )
    return function(vector, helper, args, [f"return *(const {vector}_mem *)p;"])


def _store(helper: Helper) -> list[str]:
    vector = vector_type(helper.dtype, helper.lanes)
    args = f"{helper.dtype.ctype} *p, {vector} value"
    return function("void", helper, args, [f"*({vector}_mem *)p = value;"])


def _stream(helper: Helper) -> list[str]:
    """A store to an aligned address, nontemporal on request."""
    vector = vector_type(helper.dtype, helper.lanes)
    args = f"{helper.dtype.ctype} *p, {vector} value, bool past"
    plain = [f"*({vector}_mem *)p = value;"]
    bits = helper.dtype.size * helper.lanes * 8
    if bits not in (128, 256, 512):
        return function("void", helper, args, ["(void)past;", *plain])
    prefix = "_mm" if bits == 128 else f"_mm{bits}"
    register = f"__m{bits}i"
    fast = [
        "if (past)",
        f"    {prefix}_stream_si{bits}(({register} *)p, ({register})value);",
        "else",
        f"    {plain[0]}",
    ]
    feature = "__AVX512F__" if bits == 512 else "__FMA__"
    return function("void", helper, args, either(feature, fast, ["(void)past;", *plain]))


def _fma(helper: Helper) -> list[str]:
    vector = vector_type(helper.dtype, helper.lanes)
    suffix = float_suffix(helper.dtype)
    args = f"{vector} a, {vector} b, {vector} c"
    plain = [
        f"{vector} result;",
        f"for (int lane = 0; lane < {helper.lanes}; lane++)",
        f"    result[lane] = fma{suffix}(a[lane], b[lane], c[lane]);",
        "return result;",
    ]
    machine = Registers.of(helper)
    if machine is None:
        return function(vector, helper, args, plain)
    operands = ", ".join(f"({machine.type}){name}" for name in "abc")
    fast = [f"return ({vector}){machine.prefix}_fmadd_{machine.element}({operands});"]
    feature = "__AVX512F__" if machine.bits == 512 else "__FMA__"
    return function(vector, helper, args, either(feature, fast, plain))


def _phase(helper: Helper) -> list[str]:
    size = helper.dtype.size
    return function(
        "int64_t",
        helper,
        f"const {helper.dtype.ctype} *p",
        [f"return (int64_t)((uintptr_t)p / {size} % {helper.lanes});"],
    )


def _between(helper: Helper) -> list[str]:
    """The elements from number `first` on of two vectors that lie next to each other."""
    vector = vector_type(helper.dtype, helper.lanes)
    args = f"{vector} low, {vector} high, int first"
    plain = [
        f"{vector} result;",
        f"for (int lane = 0; lane < {helper.lanes}; lane++)",
        f"    result[lane] = lane + first < {helper.lanes} ? low[lane + first]"
        f" : high[lane + first - {helper.lanes}];",
        "return result;",
    ]
    names = Registers.of(helper)
    if names is None or names.bits != 512:
        return function(vector, helper, args, plain)
    counts = ", ".join(map(str, reversed(range(helper.lanes))))
    bits = helper.dtype.size * 8
    wide = f"_mm512_set1_epi{bits}(first)"
    places = f"_mm512_add_epi{bits}({wide}, _mm512_set_epi{bits}({counts}))"
    operands = f"({names.type})low, {places}, ({names.type})high"
    fast = [f"return ({vector})_mm512_permutex2var_{names.element}({operands});"]
    return function(vector, helper, args, either(_masks(names), fast, plain))


def _transpose(helper: Helper) -> list[str]:
    """Transpose a square of vectors by exchanging ever larger parts of pairs of them.

    J. O. Eklundh, "A fast computer method for matrix transposing", 1972.
    """
    vector, lanes = vector_type(helper.dtype, helper.lanes), helper.lanes
    fast: list[str] = []
    away = 1
    while away < lanes:
        upper = [lanes + p - away if p & away else p for p in range(lanes)]
        lower = [lanes + p if p & away else p + away for p in range(lanes)]
        fast += [
            f"for (int first = 0; first < {lanes}; first += {2 * away})",
            f"    for (int row = first; row < first + {away}; row++) {{",
            f"        {vector} a = rows[row], b = rows[row + {away}];",
            f"        rows[row] = __builtin_shufflevector(a, b, {_listed(upper)});",
            f"        rows[row + {away}] = __builtin_shufflevector(a, b, {_listed(lower)});",
            "    }",
        ]
        away *= 2
    plain = [
        f"for (int row = 1; row < {lanes}; row++)",
        "    for (int lane = 0; lane < row; lane++) {",
        f"        {helper.dtype.ctype} kept = rows[row][lane];",
        "        rows[row][lane] = rows[lane][row];",
        "        rows[lane][row] = kept;",
        "    }",
    ]
    can_shuffle = ["#if defined(__clang__) || __GNUC__ >= 12", *fast, "#else", *plain, "#endif"]
    return function("void", helper, f"{vector} *rows", can_shuffle)


def _choose(helper: Helper) -> list[str]:
    """Lanes of one vector where a comparison of vectors holds, of the other where it does not."""
    vector = vector_type(helper.dtype, helper.lanes)
    mask = f"__typeof__(({vector}){{0}} < ({vector}){{0}})"
    args = f"{mask} holds, {vector} then, {vector} otherwise"
    one, other = "((__typeof__(holds))then & holds)", "((__typeof__(holds))otherwise & ~holds)"
    return function(vector, helper, args, [f"return ({vector})({one} | {other});"])


def _larger(helper: Helper) -> list[str]:
    """`a > b ? a : b` or `a < b ? a : b`, lane by lane: what x86 has as one instruction."""
    vector, sign = vector_type(helper.dtype, helper.lanes), ">"
    instruction = "max"
    if helper.kind is HelperKind.SMALLER:
        sign, instruction = "<", "min"
    args = f"{vector} a, {vector} b"
    plain = [
        f"__typeof__(a {sign} b) holds = a {sign} b;",
        "__typeof__(holds) one = (__typeof__(holds))a & holds;",
        f"return ({vector})(one | ((__typeof__(holds))b & ~holds));",
    ]
    names = Registers.of(helper)
    if names is None or not helper.dtype.is_float or helper.dtype.is_half:
        return function(vector, helper, args, plain)
    operands = f"({names.type})a, ({names.type})b"
    fast = [f"return ({vector}){names.prefix}_{instruction}_{names.element}({operands});"]
    feature = "__AVX512F__" if names.bits == 512 else "__FMA__"
    return function(vector, helper, args, either(feature, fast, plain))


def _until(helper: Helper) -> list[str]:
    """The first lanes of one vector, the others of another."""
    vector = vector_type(helper.dtype, helper.lanes)
    args = f"{vector} first, {vector} others, int64_t to"
    scalar = "long long" if helper.dtype.size == 8 else "int"
    plain = [
        f"for (int64_t lane = to; lane < {helper.lanes}; lane++)",
        "    first[lane] = others[lane];",
        "return first;",
    ]
    fast = [
        *_lane_numbers(helper),
        f"const __typeof__(lane) wanted = lane < ({scalar})to;",
        "const __typeof__(lane) one = (__typeof__(lane))first & wanted;",
        f"return ({vector})(one | ((__typeof__(lane))others & ~wanted));",
    ]
    return function(vector, helper, args, either("__AVX2__", fast, plain))


def _total(helper: Helper) -> list[str]:
    """The sum of all lanes: halves are added until one lane is left."""
    vector, lanes = vector_type(helper.dtype, helper.lanes), helper.lanes
    fast: list[str] = []
    half = lanes // 2
    while half:
        places = [(lane + half) % lanes for lane in range(lanes)]
        fast.append(f"v += __builtin_shufflevector(v, v, {_listed(places)});")
        half //= 2
    plain = [
        f"for (int half = {lanes // 2}; half > 0; half /= 2)",
        "    for (int lane = 0; lane < half; lane++)",
        "        v[lane] += v[lane + half];",
    ]
    can_shuffle = ["#if defined(__clang__) || __GNUC__ >= 12", *fast, "#else", *plain, "#endif"]
    body = [*can_shuffle, "return v[0];"]
    return function(helper.dtype.ctype, helper, f"{vector} v", body)


def _listed(numbers: list[int]) -> str:
    return ", ".join(map(str, numbers))


def _load_part(helper: Helper) -> list[str]:
    vector = vector_type(helper.dtype, helper.lanes)
    args = f"const {helper.dtype.ctype} *p, int64_t from, int64_t to"
    if helper.dtype.is_half:
        return function(vector, helper, args, half_precision.load_part_body(helper.dtype, vector))
    plain = [
        f"{vector} result = {{0}};",
        "for (int64_t lane = from; lane < to; lane++)",
        "    result[lane] = p[lane];",
        "return result;",
    ]
    names = Registers.of(helper)
    if names is None:
        return function(vector, helper, args, plain)
    call = f"{names.prefix}_maskz_loadu_{names.element}(lanes, p)"
    fast = [_mask(helper), f"return ({vector}){call};"]
    moving = []
    if _has_masked_moves(helper, names):
        call = (
            f"{names.prefix}_maskload_{names.element}({_moved(helper)}p, {_lanes(helper, names)})"
        )
        moving = [*_lane_numbers(helper), f"return ({vector}){call};"]
    return function(vector, helper, args, _masked(names, fast, moving, plain))


def _store_part(helper: Helper) -> list[str]:
    vector = vector_type(helper.dtype, helper.lanes)
    args = f"{helper.dtype.ctype} *p, int64_t from, int64_t to, {vector} value"
    plain = ["for (int64_t lane = from; lane < to; lane++)", "    p[lane] = value[lane];"]
    names = Registers.of(helper)
    if names is None:
        return function("void", helper, args, plain)
    call = f"{names.prefix}_mask_storeu_{names.element}(p, lanes, ({names.type})value)"
    fast = [_mask(helper), f"{call};"]
    moving = []
    if _has_masked_moves(helper, names):
        operands = f"{_moved(helper)}p, {_lanes(helper, names)}, ({names.type})value"
        moving = [*_lane_numbers(helper), f"{names.prefix}_maskstore_{names.element}({operands});"]
    return function("void", helper, args, _masked(names, fast, moving, plain))


def has_lanes_form(dtype: DType) -> bool:
    """Tell whether a type has LOAD_LANES and STORE_LANES."""
    return not dtype.is_half


def _lanes_form(helper: Helper) -> list[str]:
    """Return what LOAD_PART or STORE_PART does for vectors of which some are `whole`.

    A loop then needs one form of its body: gcc and clang thread the equal tests of its helpers, so
    that a whole vector takes one branch.  They are inlined always: functions that gcc makes of
    their parts would pass vectors in memory where the processor has none.
    """
    vector = vector_type(helper.dtype, helper.lanes)
    if helper.kind is HelperKind.LOAD_LANES:
        part = replace(helper, kind=HelperKind.LOAD_PART)
        head, *rest = _load_part(part)
        whole = ["    if (whole)", f"        return *(const {vector}_mem *)p;"]
    else:
        part = replace(helper, kind=HelperKind.STORE_PART)
        head, *rest = _store_part(part)
        whole = [
            "    if (whole) {",
            f"        *({vector}_mem *)p = value;",
            "        return;",
            "    }",
        ]
    if _MOVES in rest:  # which processors with masks have, too
        masks = rest.index("#ifdef __AVX512VL__")
        rest[masks : rest.index(_MOVES) + 1] = ["#ifdef __AVX2__"]
    head = head.replace(part.name, helper.name).replace("int64_t from", "bool whole, int64_t from")
    head = head.replace("inline", "inline __attribute__((always_inline))", 1)
    return [head, rest[0], *whole, *rest[1:]]


def _every(helper: Helper) -> list[str]:
    """Elements that lie `step` apart; every second one is taken of two registers that overlap.

    The second register begins one element early, so that nothing behind the last lane is read.
    """
    vector, lanes = vector_type(helper.dtype, helper.lanes), helper.lanes
    args = f"const {helper.dtype.ctype} *p, int step"
    plain = [
        f"{vector} result;",
        f"for (int lane = 0; lane < {lanes}; lane++)",
        "    result[lane] = p[lane * step];",
        "return result;",
    ]
    names = Registers.of(helper)
    if names is None or names.bits != 512:
        return function(vector, helper, args, plain)
    fast = [
        "if (step == 2) {",
        f"    {names.type} low = _mm512_loadu_{names.element}(p);",
        f"    {names.type} high = _mm512_loadu_{names.element}(p + {lanes - 1});",
        f"    return {_every_second(helper, names)};",
        "}",
    ]
    return function(vector, helper, args, ["#ifdef __AVX512F__", *fast, "#endif", *plain])


def _every_second(helper: Helper, names: Registers) -> str:
    """Return the text for every second element of `low` and `high`, which share one element."""
    lanes, bits = helper.lanes, helper.dtype.size * 8
    places = ", ".join(str(2 * n + (2 * n >= lanes)) for n in reversed(range(lanes)))
    operands = f"low, _mm512_set_epi{bits}({places}), high"
    vector = vector_type(helper.dtype, lanes)
    return f"({vector})_mm512_permutex2var_{names.element}({operands})"


def _every_part(helper: Helper) -> list[str]:
    vector = vector_type(helper.dtype, helper.lanes)
    args = f"const {helper.dtype.ctype} *p, int64_t from, int64_t to, int step"
    plain = [
        f"{vector} result = {{0}};",
        "for (int64_t lane = from; lane < to; lane++)",
        "    result[lane] = p[lane * step];",
        "return result;",
    ]
    names = Registers.of(helper)
    if names is None or names.bits != 512:
        return function(vector, helper, args, plain)
    last, mask = helper.lanes - 1, f"__mmask{max(8, helper.lanes)}"
    load = f"_mm512_maskz_loadu_{names.element}"
    fast = [
        "if (step == 2 && from < to) {",
        "    uint32_t read = (1u << (2 * to - 1)) - (1u << (2 * from));",
        f"    {names.type} low = {load}(({mask})read, p);",
        f"    {names.type} high = {load}(({mask})(read >> {last}), p + {last});",
        f"    return {_every_second(helper, names)};",
        "}",
    ]
    return function(vector, helper, args, ["#ifdef __AVX512F__", *fast, "#endif", *plain])


def _mask(helper: Helper) -> str:
    mask = f"__mmask{max(8, helper.lanes)}"
    return f"const {mask} lanes = ({mask})(from < to ? ((1u << (to - from)) - 1) << from : 0);"


def _has_masked_moves(helper: Helper, registers: Registers) -> bool:
    """Tell whether AVX2 reads and writes lanes of such a vector by a mask in a register."""
    return registers.bits < 512 and helper.dtype.size in (4, 8)


def _moved(helper: Helper) -> str:
    """Return the cast of an address to what AVX2's masked moves take."""
    if helper.dtype.is_float:
        return ""
    scalar = "long long" if helper.dtype.size == 8 else "int"
    return f"({scalar} *)" if helper.kind is HelperKind.STORE_PART else f"(const {scalar} *)"


def _lane_numbers(helper: Helper) -> list[str]:
    """Return the line that declares `lane`, the number of each lane."""
    scalar = "long long" if helper.dtype.size == 8 else "int"
    form = f"__attribute__((vector_size({helper.dtype.size * helper.lanes})))"
    return [f"const {scalar} lane {form} = {{{_listed(list(range(helper.lanes)))}}};"]


def _lanes(helper: Helper, registers: Registers) -> str:
    """Return the mask of the lanes in `from <= lane < to`: its highest bits, which moves ask."""
    cast = "" if helper.dtype.size == 8 else "(int)"
    return f"(__m{registers.bits}i)(~(lane - {cast}from) & (lane - {cast}to))"


_MOVES = "#elif defined(__AVX2__)"


def _masked(names: Registers, fast: list[str], moving: list[str], plain: list[str]) -> list[str]:
    """Return lines for processors with masks for lanes, with masked moves only, with neither."""
    middle = [_MOVES, *moving] if moving else []
    return [f"#ifdef {_masks(names)}", *fast, *middle, "#else", *plain, "#endif"]


def _masks(registers: Registers) -> str:
    return "__AVX512F__" if registers.bits == 512 else "__AVX512VL__"


DEFINITIONS: dict[HelperKind, Callable[[Helper], list[str]]] = {
    HelperKind.VECTOR: _vector,
    HelperKind.SPLAT: _splat,
    HelperKind.LOAD: _load,
    HelperKind.STORE: _store,
    HelperKind.FMA: _fma,
    HelperKind.PHASE: _phase,
    HelperKind.BETWEEN: _between,
    HelperKind.TRANSPOSE: _transpose,
    HelperKind.CHOOSE: _choose,
    HelperKind.LARGER: _larger,
    HelperKind.SMALLER: _larger,
    HelperKind.LOAD_PART: _load_part,
    HelperKind.STORE_PART: _store_part,
    HelperKind.LOAD_LANES: _lanes_form,
    HelperKind.STORE_LANES: _lanes_form,
    HelperKind.UNTIL: _until,
    HelperKind.TOTAL: _total,
    HelperKind.EVERY: _every,
    HelperKind.EVERY_PART: _every_part,
    HelperKind.STREAM: _stream,
}
"""What defines each helper on vectors."""
