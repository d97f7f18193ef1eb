"""Small C functions that give an operation NumPy's meaning where C's operator differs.

In: what an operation is and its dtype.  Out: the function's name, and its definition as C text.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, unique

from polyopt.emit import halves
from polyopt.emit.functions import table
from polyopt.ir.types import DType, Kind

SUFFIX = {
    DType.BOOL: "b",
    DType.INT8: "i8",
    DType.INT16: "i16",
    DType.INT32: "i32",
    DType.INT64: "i64",
    DType.UINT8: "u8",
    DType.UINT16: "u16",
    DType.UINT32: "u32",
    DType.UINT64: "u64",
    DType.FLOAT16: "f16",
    DType.BFLOAT16: "bf16",
    DType.FLOAT32: "f32",
    DType.FLOAT64: "f64",
    DType.COMPLEX64: "c64",
    DType.COMPLEX128: "c128",
}
"""Short names of dtypes in helper names; INT64, the type of sizes, goes without."""


@unique
class HelperKind(Enum):
    """What a helper computes."""

    WIDEN = "widen"
    NARROW = "narrow"
    ROUND = "round"
    ODD = "odd"
    NEXT = "next"
    MIN = "min"
    MAX = "max"
    FLOORDIV = "floordiv"
    MOD = "mod"
    POW = "pow"
    ABS = "abs"
    GCD = "gcd"
    EXP = "exp"
    EXP2 = "exp2"
    EXPM1 = "expm1"
    SINH = "sinh"
    COSH = "cosh"
    TANH = "tanh"
    LOG = "log"
    LOG2 = "log2"
    LOG10 = "log10"
    LOG1P = "log1p"
    SIN = "sin"
    COS = "cos"
    TAN = "tan"
    ASIN = "asin"
    ACOS = "acos"
    ATAN = "atan"
    ATAN2 = "atan2"
    CUBE = "cube"
    CBRT = "cbrt"
    HYPOT = "hypot"
    POWER = "power"
    ERF = "erf"
    ERFC = "erfc"
    SHL = "shl"
    SHR = "shr"
    MUL = "mul"
    DIV = "div"
    EXACT = "exact"
    REDUCE_MIN = "reduce_min"
    REDUCE_MAX = "reduce_max"
    EXTENT = "extent"
    BYTES = "bytes"
    ALLOC = "alloc"
    VECTOR = "v"
    SPLAT = "splat"
    LOAD = "load"
    STORE = "store"
    FMA = "fma"
    PHASE = "phase"
    BETWEEN = "between"
    FAIL = "fail"
    MANY = "many"
    LOAD_PART = "load_part"
    EVERY = "every"
    EVERY_PART = "every_part"
    STORE_PART = "store_part"
    ALIGNED = "aligned"
    WRAP_ADD = "add"
    WRAP_SUB = "sub"
    WRAP_MUL = "times"
    WRAP_NEG = "neg"


@dataclass(frozen=True, slots=True)
class Helper:
    """One helper; `lanes` > 1 for those on vectors."""

    kind: HelperKind
    dtype: DType = DType.INT64
    lanes: int = 1

    @property
    def name(self) -> str:
        """Identifier in the C text."""
        if self.kind is HelperKind.EXACT:
            return "po_exact"
        if self.kind is HelperKind.VECTOR:
            return vector_type(self.dtype, self.lanes)
        if self.lanes > 1:
            return f"po_{self.kind.value}_{SUFFIX[self.dtype]}x{self.lanes}"
        if self.dtype is DType.INT64:
            return f"po_{self.kind.value}"
        return f"po_{self.kind.value}_{SUFFIX[self.dtype]}"

    @property
    def order(self) -> tuple[int, str, int]:
        """Sort key: definitions stand in the order of `HelperKind`, types first."""
        rank = list(HelperKind).index(self.kind)
        first = self.kind in (HelperKind.VECTOR, HelperKind.EXACT)
        return (-1 if first else rank, self.dtype.value, self.lanes)


def vector_type(dtype: DType, lanes: int) -> str:
    """Return the name of the type of `lanes` elements."""
    return f"po_{SUFFIX[dtype]}x{lanes}"


def definition(helper: Helper) -> list[str]:
    """Return the lines that define `helper`."""
    return _DEFINITIONS[helper.kind](helper)


def _function(result: str, helper: Helper, args: str, body: list[str]) -> list[str]:
    space = "" if result.endswith("*") else " "
    head = f"static inline {result}{space}{helper.name}({args})"
    return [head, "{", *(line if line[0] == "#" else f"    {line}" for line in body), "}"]


def _binary(helper: Helper, body: list[str]) -> list[str]:
    t = helper.dtype.value_ctype
    return _function(t, helper, f"{t} a, {t} b", body)


def _min(helper: Helper) -> list[str]:
    sign = "<" if helper.kind is HelperKind.MIN else ">"
    if helper.dtype is DType.FLOAT16:
        sign += "="  # of two zeros NumPy takes the first one here
    if helper.lanes > 1:
        return _min_of_lanes(helper, sign)
    if helper.dtype.is_float:
        return _binary(helper, [f"return a {sign} b || a != a ? a : b;"])
    return _binary(helper, [f"return a {sign} b ? a : b;"])


def _min_of_lanes(helper: Helper, sign: str) -> list[str]:
    """Return the text on vectors: a mask of lanes takes the first operand, the rest the second."""
    t = vector_type(helper.dtype, helper.lanes)
    if helper.dtype.is_integer:  # compilers know the instruction by this loop
        each = f"a[lane] {sign} b[lane] ? a[lane] : b[lane]"
        loop = f"for (int lane = 0; lane < {helper.lanes}; lane++)"
        body = [f"{t} result;", loop, f"    result[lane] = {each};", "return result;"]
        return _function(t, helper, f"{t} a, {t} b", body)
    body = [
        f"__typeof__(a {sign} b) first = (a {sign} b) | (a != a);",
        "__typeof__(first) one = (__typeof__(first))a & first;",
        f"return ({t})(one | ((__typeof__(first))b & ~first));",
    ]
    return _function(t, helper, f"{t} a, {t} b", body)


def _widen(helper: Helper) -> list[str]:
    return _function("float", helper, "uint16_t x", halves.widen_body(helper.dtype))


def _narrow(helper: Helper) -> list[str]:
    return _function("uint16_t", helper, "float x", halves.narrow_body(helper.dtype))


def _round(helper: Helper) -> list[str]:
    return _function("float", helper, "float x", halves.round_body(helper.dtype))


def _next(helper: Helper) -> list[str]:
    return _function("float", helper, "float a, float b", halves.next_body(helper.dtype))


def _odd(helper: Helper) -> list[str]:
    return _function("float", helper, "double x", halves.odd_body())


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


def _floordiv(helper: Helper) -> list[str]:
    t = helper.dtype.ctype
    match helper.dtype.kind:
        case Kind.FLOAT:
            f = _float_suffix(helper.dtype)
            return _binary(
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
            return _binary(
                helper,
                [
                    "if (b == 0)",
                    "    return 0;",
                    "if (b == -1)",
                    f"    return ({t})(0 - ({_unsigned(helper.dtype)})a);",
                    f"return ({t})(a / b - (a % b != 0 && (a < 0) != (b < 0)));",
                ],
            )
        case _:
            return _binary(helper, [f"return b == 0 ? 0 : ({t})(a / b);"])


def _mod(helper: Helper) -> list[str]:
    t = helper.dtype.ctype
    match helper.dtype.kind:
        case Kind.FLOAT:
            f = _float_suffix(helper.dtype)
            return _binary(
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
            return _binary(
                helper,
                [
                    "if (b == 0 || b == -1)",
                    "    return 0;",
                    f"{t} rest = a % b;",
                    f"return ({t})(rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest);",
                ],
            )
        case _:
            return _binary(helper, [f"return b == 0 ? 0 : ({t})(a % b);"])


def _pow(helper: Helper) -> list[str]:
    t = helper.dtype.ctype
    return _binary(
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
    return _function(
        t, helper, f"{t} a", [f"return a < 0 ? ({t})(0 - ({_unsigned(helper.dtype)})a) : a;"]
    )


def _gcd(helper: Helper) -> list[str]:
    t = helper.dtype.ctype
    signed = helper.dtype.kind is Kind.SIGNED
    left, right = (f"{x} < 0 ? -(uint64_t){x} : (uint64_t){x}" if signed else f"{x}" for x in "ab")
    return _binary(
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
    value = f"({t})(({_unsigned(helper.dtype)})a << b)"
    if helper.kind is HelperKind.SHR:
        value = f"({t})(a >> b)"
        over = "a < 0 ? -1 : 0" if helper.dtype.kind is Kind.SIGNED else "0"
    return _binary(helper, [f"return (uint64_t)b < {bits} ? {value} : ({t})({over});"])


def _complex_parts(helper: Helper) -> tuple[str, str, list[str]]:
    f = "f" if helper.dtype is DType.COMPLEX64 else ""
    real = "float" if f else "double"
    parts = [
        f"{real} ar = creal{f}(a), ai = cimag{f}(a);",
        f"{real} br = creal{f}(b), bi = cimag{f}(b);",
    ]
    return f, real, parts


def _complex_mul(helper: Helper) -> list[str]:
    f, real, parts = _complex_parts(helper)
    make = f"CMPLX{f.upper()}"
    return _binary(
        helper,
        [
            *parts,
            f"{real} re = po_exact(ar * br) - po_exact(ai * bi);",
            f"{real} im = po_exact(ar * bi) + po_exact(ai * br);",
            f"return {make}(re, im);",
        ],
    )


def _complex_div(helper: Helper) -> list[str]:
    f, real, parts = _complex_parts(helper)
    make = f"CMPLX{f.upper()}"
    one = f"1.0{f}"
    return _binary(
        helper,
        [
            *parts,
            f"if (fabs{f}(br) >= fabs{f}(bi)) {{",
            "    if (br == 0 && bi == 0)",
            f"        return {make}(ar / fabs{f}(br), ai / fabs{f}(br));",
            f"    {real} ratio = bi / br;",
            f"    {real} scale = {one} / (br + bi * ratio);",
            f"    {real} re = (ar + po_exact(ai * ratio)) * scale;",
            f"    {real} im = (ai - po_exact(ar * ratio)) * scale;",
            f"    return {make}(re, im);",
            "}",
            f"{real} ratio = br / bi;",
            f"{real} scale = {one} / (bi + br * ratio);",
            f"{real} re = (po_exact(ar * ratio) + ai) * scale;",
            f"{real} im = (po_exact(ai * ratio) - ar) * scale;",
            f"return {make}(re, im);",
        ],
    )


def _exact(helper: Helper) -> list[str]:
    # gcc 12 and later fuse a*b-c beside d*e+f into one rounding even under -ffp-contract=off
    return [
        "#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 12",
        f"#define {helper.name}(product) __builtin_assoc_barrier(product)",
        "#else",
        f"#define {helper.name}(product) (product)",
        "#endif",
    ]


def _extent(helper: Helper) -> list[str]:
    return _function("int64_t", helper, "int64_t n", ["return n > 0 ? n : 1;"])


def _bytes(helper: Helper) -> list[str]:
    return _function(
        "size_t",
        helper,
        "size_t bytes, int64_t n",
        [
            "if (n <= 0)",
            "    return 0;",
            "return bytes > SIZE_MAX / (uint64_t)n ? SIZE_MAX : bytes * (size_t)n;",
        ],
    )


ENOUGH_WORK = 30_000  # assignments; fewer cost less than waking the threads
_HUGE_PAGE = 1 << 21  # bytes of a page that Linux gives on request


def _alloc(helper: Helper) -> list[str]:
    return [
        "__attribute__((malloc))",
        *_function(
            "void *",
            helper,
            "size_t bytes",
            [
                "if (bytes > SIZE_MAX / 2)",
                "    return NULL;",
                # the first touch of a page costs more than what is written to it
                "#ifdef MADV_HUGEPAGE",
                f"if (bytes >= {2 * _HUGE_PAGE}) {{",
                f"    size_t whole = (bytes / {_HUGE_PAGE} + 1) * {_HUGE_PAGE};",
                f"    void *place = aligned_alloc({_HUGE_PAGE}, whole);",
                "    if (place)",
                "        (void)madvise(place, whole, MADV_HUGEPAGE);",
                "    return place;",
                "}",
                "#endif",
                "return aligned_alloc(64, (bytes / 64 + 1) * 64);",
            ],
        ),
    ]


def _fail(helper: Helper) -> list[str]:
    # of the faults of several threads the lowest is told
    return _function(
        "void",
        helper,
        "int *status, int fault",
        [
            "int found = __atomic_load_n(status, __ATOMIC_RELAXED);",
            "while ((found == 0 || fault < found)",
            "       && !__atomic_compare_exchange_n(status, &found, fault, 0, __ATOMIC_RELAXED,",
            "                                       __ATOMIC_RELAXED)) {",
            "}",
        ],
    )


_ALWAYS = ("(void)work;", "return true;")


def _many(helper: Helper) -> list[str]:
    # code that is not optimized is looked at: by the race check, by readers of the text
    body = ["#ifdef __OPTIMIZE__", f"return work > {ENOUGH_WORK};"]
    return _function("bool", helper, "int64_t work", [*body, "#else", *_ALWAYS, "#endif"])


def _vector(helper: Helper) -> list[str]:
    element = helper.dtype
    if element.is_half:  # computed as `float`
        return [f"typedef float {helper.name} __attribute__((vector_size({4 * helper.lanes})));"]
    size = element.size * helper.lanes
    return [
        f"typedef {element.ctype} {helper.name} __attribute__((vector_size({size})));",
        f"typedef {element.ctype} {helper.name}_mem",
        f"    __attribute__((vector_size({size}), aligned({element.size}), may_alias));",
    ]


def _splat(helper: Helper) -> list[str]:
    vector = vector_type(helper.dtype, helper.lanes)
    lanes = ", ".join(["x"] * helper.lanes)
    if helper.dtype.is_half:
        body = halves.splat_body(helper.dtype, helper.lanes, vector)
        return _function(vector, helper, f"{helper.dtype.ctype} bits", body)
    args = f"{helper.dtype.ctype} x"
    return _function(vector, helper, args, [f"return ({vector}){{{lanes}}};"])


def _load(helper: Helper) -> list[str]:
    vector = vector_type(helper.dtype, helper.lanes)
    args = f"const {helper.dtype.ctype} *p"
    if helper.dtype.is_half:
        return _function(vector, helper, args, halves.load_body(helper.dtype, helper.lanes, vector))
    return _function(vector, helper, args, [f"return *(const {vector}_mem *)p;"])


def _store(helper: Helper) -> list[str]:
    vector = vector_type(helper.dtype, helper.lanes)
    args = f"{helper.dtype.ctype} *p, {vector} value"
    return _function("void", helper, args, [f"*({vector}_mem *)p = value;"])


def _fma(helper: Helper) -> list[str]:
    vector = vector_type(helper.dtype, helper.lanes)
    suffix = _float_suffix(helper.dtype)
    args = f"{vector} a, {vector} b, {vector} c"
    plain = [
        f"{vector} result;",
        f"for (int lane = 0; lane < {helper.lanes}; lane++)",
        f"    result[lane] = fma{suffix}(a[lane], b[lane], c[lane]);",
        "return result;",
    ]
    machine = _Registers.of(helper)
    if machine is None:
        return _function(vector, helper, args, plain)
    operands = ", ".join(f"({machine.type}){name}" for name in "abc")
    fast = [f"return ({vector}){machine.prefix}_fmadd_{machine.element}({operands});"]
    feature = "__AVX512F__" if machine.bits == 512 else "__FMA__"
    return _function(vector, helper, args, _either(feature, fast, plain))


@dataclass(frozen=True, slots=True)
class _Registers:
    """Names of x86's vector intrinsics for one vector type."""

    bits: int
    type: str
    prefix: str
    element: str

    @staticmethod
    def of(helper: Helper) -> _Registers | None:
        """Return the names for `helper`'s vectors, or None where x86 has no such register."""
        bits = helper.dtype.size * helper.lanes * 8
        if bits not in (128, 256, 512):
            return None
        letter = {DType.FLOAT64: "d", DType.FLOAT32: ""}.get(helper.dtype, "i")
        element = {DType.FLOAT64: "pd", DType.FLOAT32: "ps"}.get(
            helper.dtype, f"epi{helper.dtype.size * 8}"
        )
        return _Registers(
            bits, f"__m{bits}{letter}", "_mm" if bits == 128 else f"_mm{bits}", element
        )


def _either(feature: str, fast: list[str], plain: list[str]) -> list[str]:
    return [f"#ifdef {feature}", *fast, "#else", *plain, "#endif"]


def _phase(helper: Helper) -> list[str]:
    size = helper.dtype.size
    return _function(
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
    names = _Registers.of(helper)
    if names is None or names.bits != 512:
        return _function(vector, helper, args, plain)
    counts = ", ".join(map(str, reversed(range(helper.lanes))))
    bits = helper.dtype.size * 8
    wide = f"_mm512_set1_epi{bits}(first)"
    places = f"_mm512_add_epi{bits}({wide}, _mm512_set_epi{bits}({counts}))"
    operands = f"({names.type})low, {places}, ({names.type})high"
    fast = [f"return ({vector})_mm512_permutex2var_{names.element}({operands});"]
    return _function(vector, helper, args, _either(_masks(names), fast, plain))


def _mask(helper: Helper) -> str:
    mask = f"__mmask{max(8, helper.lanes)}"
    return f"{mask} lanes = ({mask})(from < to ? ((1u << (to - from)) - 1) << from : 0);"


def _masks(registers: _Registers) -> str:
    return "__AVX512F__" if registers.bits == 512 else "__AVX512VL__"


def _load_part(helper: Helper) -> list[str]:
    vector = vector_type(helper.dtype, helper.lanes)
    args = f"const {helper.dtype.ctype} *p, int64_t from, int64_t to"
    if helper.dtype.is_half:
        return _function(vector, helper, args, halves.load_part_body(helper.dtype, vector))
    plain = [
        f"{vector} result = {{0}};",
        "for (int64_t lane = from; lane < to; lane++)",
        "    result[lane] = p[lane];",
        "return result;",
    ]
    names = _Registers.of(helper)
    if names is None:
        return _function(vector, helper, args, plain)
    call = f"{names.prefix}_maskz_loadu_{names.element}(lanes, p)"
    fast = [_mask(helper), f"return ({vector}){call};"]
    return _function(vector, helper, args, _either(_masks(names), fast, plain))


def _store_part(helper: Helper) -> list[str]:
    vector = vector_type(helper.dtype, helper.lanes)
    args = f"{helper.dtype.ctype} *p, int64_t from, int64_t to, {vector} value"
    plain = ["for (int64_t lane = from; lane < to; lane++)", "    p[lane] = value[lane];"]
    names = _Registers.of(helper)
    if names is None:
        return _function("void", helper, args, plain)
    call = f"{names.prefix}_mask_storeu_{names.element}(p, lanes, ({names.type})value)"
    fast = [_mask(helper), f"{call};"]
    return _function("void", helper, args, _either(_masks(names), fast, plain))


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
    names = _Registers.of(helper)
    if names is None or names.bits != 512:
        return _function(vector, helper, args, plain)
    fast = [
        "if (step == 2) {",
        f"    {names.type} low = _mm512_loadu_{names.element}(p);",
        f"    {names.type} high = _mm512_loadu_{names.element}(p + {lanes - 1});",
        f"    return {_every_second(helper, names)};",
        "}",
    ]
    return _function(vector, helper, args, ["#ifdef __AVX512F__", *fast, "#endif", *plain])


def _every_second(helper: Helper, names: _Registers) -> str:
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
    names = _Registers.of(helper)
    if names is None or names.bits != 512:
        return _function(vector, helper, args, plain)
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
    return _function(vector, helper, args, ["#ifdef __AVX512F__", *fast, "#endif", *plain])


def _unsigned(dtype: DType) -> str:
    """Return the unsigned type that a signed one wraps like, at least as wide as `int`."""
    return "uint64_t" if dtype.size == 8 else "uint32_t"


def _wrap(helper: Helper) -> list[str]:
    t, u = helper.dtype.ctype, _unsigned(helper.dtype)
    if helper.kind is HelperKind.WRAP_NEG:
        return _function(t, helper, f"{t} a", [f"return ({t})(0 - ({u})a);"])
    signs = {HelperKind.WRAP_ADD: "+", HelperKind.WRAP_SUB: "-", HelperKind.WRAP_MUL: "*"}
    return _binary(helper, [f"return ({t})(({u})a {signs[helper.kind]} ({u})b);"])


def _aligned(helper: Helper) -> list[str]:
    body = ["return ((uint64_t)place & (uint64_t)(bytes - 1)) == 0;"]
    return _function("bool", helper, "const void *place, int bytes", body)


def _float_suffix(dtype: DType) -> str:
    return "f" if dtype is DType.FLOAT32 else ""


_DEFINITIONS: dict[HelperKind, Callable[[Helper], list[str]]] = {
    HelperKind.WIDEN: _widen,
    HelperKind.NARROW: _narrow,
    HelperKind.ROUND: _round,
    HelperKind.ODD: _odd,
    HelperKind.NEXT: _next,
    HelperKind.MIN: _min,
    HelperKind.MAX: _min,
    HelperKind.FLOORDIV: _floordiv,
    HelperKind.MOD: _mod,
    HelperKind.POW: _pow,
    HelperKind.ABS: _abs,
    HelperKind.GCD: _gcd,
    HelperKind.EXP: _elementary,
    HelperKind.EXP2: _elementary,
    HelperKind.EXPM1: _elementary,
    HelperKind.SINH: _elementary,
    HelperKind.COSH: _elementary,
    HelperKind.TANH: _elementary,
    HelperKind.LOG: _elementary,
    HelperKind.LOG2: _elementary,
    HelperKind.LOG10: _elementary,
    HelperKind.LOG1P: _elementary,
    HelperKind.SIN: _elementary,
    HelperKind.COS: _elementary,
    HelperKind.TAN: _elementary,
    HelperKind.ASIN: _elementary,
    HelperKind.ACOS: _elementary,
    HelperKind.ATAN: _elementary,
    HelperKind.ATAN2: _elementary,
    HelperKind.CUBE: _elementary,
    HelperKind.CBRT: _elementary,
    HelperKind.HYPOT: _elementary,
    HelperKind.POWER: _elementary,
    HelperKind.ERF: _elementary,
    HelperKind.ERFC: _elementary,
    HelperKind.SHL: _shift,
    HelperKind.SHR: _shift,
    HelperKind.MUL: _complex_mul,
    HelperKind.DIV: _complex_div,
    HelperKind.EXACT: _exact,
    HelperKind.REDUCE_MIN: _reduction,
    HelperKind.REDUCE_MAX: _reduction,
    HelperKind.EXTENT: _extent,
    HelperKind.BYTES: _bytes,
    HelperKind.ALLOC: _alloc,
    HelperKind.FAIL: _fail,
    HelperKind.MANY: _many,
    HelperKind.VECTOR: _vector,
    HelperKind.SPLAT: _splat,
    HelperKind.LOAD: _load,
    HelperKind.STORE: _store,
    HelperKind.FMA: _fma,
    HelperKind.PHASE: _phase,
    HelperKind.BETWEEN: _between,
    HelperKind.LOAD_PART: _load_part,
    HelperKind.STORE_PART: _store_part,
    HelperKind.EVERY: _every,
    HelperKind.EVERY_PART: _every_part,
    HelperKind.ALIGNED: _aligned,
    HelperKind.WRAP_ADD: _wrap,
    HelperKind.WRAP_SUB: _wrap,
    HelperKind.WRAP_MUL: _wrap,
    HelperKind.WRAP_NEG: _wrap,
}
