"""What a helper is: what it computes, of which dtype, on how many lanes; how its text is framed."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, unique

from polyopt.dataclass import dataclass
from polyopt.ir.types import DType

SUFFIX = {dtype: dtype.short_name for dtype in DType} | {DType.BOOL: "b"}
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
    FLOOR = "floor_div"
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
    PRODUCTS = "products"
    PRECISE = "precise"
    CBRT = "cbrt"
    HYPOT = "hypot"
    MODULUS = "modulus"
    POWER = "power"
    ERF = "erf"
    ERFC = "erfc"
    SHL = "shl"
    SHR = "shr"
    MUL = "mul"
    DIV = "div"
    COMPLEX_POWER = "cpow"
    SCALE = "scale"
    RECIPROCAL = "reciprocal"
    EXACT = "exact"
    OPAQUE = "value"
    REDUCE_MIN = "reduce_min"
    REDUCE_MAX = "reduce_max"
    EXTENT = "extent"
    BYTES = "bytes"
    LARGEST = "largest"
    ALLOC = "alloc"
    VECTOR = "v"
    SPLAT = "splat"
    LOAD = "load"
    STORE = "store"
    FMA = "fma"
    PHASE = "phase"
    AHEAD = "ahead"
    FREE = "free_registers"
    BETWEEN = "between"
    TRANSPOSE = "turn"
    CHOOSE = "choose"
    LARGER = "larger"
    SMALLER = "smaller"
    FAIL = "fail"
    MANY = "many"
    LOAD_PART = "load_part"
    EVERY = "every"
    EVERY_PART = "every_part"
    STORE_PART = "store_part"
    LOAD_LANES = "load_lanes"
    STORE_LANES = "store_lanes"
    UNTIL = "until"
    TOTAL = "total"
    STREAM = "stream"
    STREAM_ROW = "stream_row"
    STREAMED = "streamed"
    ALIGNED = "aligned"
    WRAP_ADD = "add"
    WRAP_SUB = "sub"
    WRAP_MUL = "times"
    WRAP_NEG = "neg"
    HIGH_PRODUCT = "mulhi"
    PHILOX_BLOCK = "philox_block"
    PHILOX = "philox"
    PHILOX_ROW = "philox_row"
    PRODUCT = "product"
    NORMAL = "normal"
    GEMM = "gemm"
    GEMV = "gemv"


NEEDED: Mapping[HelperKind, tuple[HelperKind, ...]] = {
    HelperKind.PHILOX: (HelperKind.PHILOX_BLOCK, HelperKind.HIGH_PRODUCT),
    HelperKind.PHILOX_ROW: (HelperKind.PHILOX_BLOCK, HelperKind.HIGH_PRODUCT),
    HelperKind.NORMAL: (HelperKind.PRODUCT, HelperKind.EXACT),
}
"""Helpers on random numbers that others call."""
_ONE_DTYPE = {HelperKind.HIGH_PRODUCT: DType.UINT64, HelperKind.PRODUCT: DType.FLOAT64}


def needed_by(helper: Helper) -> tuple[Helper, ...]:
    """Return the helpers that a helper on random numbers calls."""
    kinds = NEEDED.get(helper.kind, ())
    return tuple(Helper(kind, _ONE_DTYPE.get(kind, DType.INT64)) for kind in kinds)


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


def function(result: str, helper: Helper, args: str, body: list[str]) -> list[str]:
    """Return the definition of `helper` as a function of `args`; lines with # are not indented."""
    space = "" if result.endswith("*") else " "
    head = f"static inline {result}{space}{helper.name}({args})"
    return [head, "{", *(line if line[0] == "#" else f"    {line}" for line in body), "}"]


def in_one_line(lines: list[str], width: int = 100) -> list[str]:
    """Return the definition of a function with one statement as one line, where it fits.

    >>> in_one_line(["int f(int a)", "{", "    return a;", "}"])
    ['int f(int a) { return a; }']
    """
    match lines:
        case [head, "{", body, "}"] if len(head) + len(body.strip()) + 5 <= width:
            return [f"{head} {{ {body.strip()} }}"]
        case [head, tail] if tail.startswith("    ") and len(head) + len(tail) - 3 <= width:
            return [f"{head} {tail.strip()}"]
        case _:
            return lines


def binary(helper: Helper, body: list[str]) -> list[str]:
    """Return the definition of `helper` as a function of two values `a` and `b` of its dtype."""
    t = helper.dtype.value_ctype
    return function(t, helper, f"{t} a, {t} b", body)


def unsigned(dtype: DType) -> str:
    """Return the unsigned type that a signed one wraps like, at least as wide as `int`."""
    return "uint64_t" if dtype.size == 8 else "uint32_t"


def float_suffix(dtype: DType) -> str:
    """Return what C's functions and literals of a float type end in."""
    return "f" if dtype is DType.FLOAT32 else ""


@dataclass(frozen=True, slots=True)
class Registers:
    """Names of x86's vector intrinsics for one vector type."""

    bits: int
    type: str
    prefix: str
    element: str

    @staticmethod
    def of(helper: Helper) -> Registers | None:
        """Return the names for `helper`'s vectors, or None where x86 has no such register."""
        bits = helper.dtype.size * helper.lanes * 8
        if bits not in (128, 256, 512):
            return None
        letter = {DType.FLOAT64: "d", DType.FLOAT32: ""}.get(helper.dtype, "i")
        element = {DType.FLOAT64: "pd", DType.FLOAT32: "ps"}.get(
            helper.dtype, f"epi{helper.dtype.size * 8}"
        )
        return Registers(
            bits, f"__m{bits}{letter}", "_mm" if bits == 128 else f"_mm{bits}", element
        )


def either(feature: str, fast: list[str], plain: list[str]) -> list[str]:
    """Return lines for compilers that define a macro, and for others."""
    return [f"#ifdef {feature}", *fast, "#else", *plain, "#endif"]
