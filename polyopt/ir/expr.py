"""Scalar expressions: the right sides of statements, subscripts, loop bounds and sizes.

In: constructors below.  Out: immutable trees, and functions that walk, rebuild and print them.
Operands of `Binary` and `Compare` have one dtype: the front end inserts every `Cast`.
The order of floating-point operations is part of a tree's meaning; nothing here reorders them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from enum import Enum, unique
from functools import reduce
from typing import TypeAlias

from polyopt.dataclass import dataclass
from polyopt.ir.clock import checkpoint
from polyopt.ir.types import DType
from polyopt.never import assert_never


@unique
class BinaryOp(Enum):
    """Binary operators; integers follow Python: floor division, sign of `%` is the divisor's."""

    ADD = "+"
    SUB = "-"
    MUL = "*"
    DIV = "/"  # true division of floats or complex numbers
    RATIO = "÷"  # DIV by what many instances share, within two units in the last place
    FLOORDIV = "//"
    MOD = "%"
    POW = "**"
    MIN = "min"  # NumPy's minimum: a NaN in either operand is the result
    MAX = "max"  # NumPy's maximum, likewise
    AND = "&"  # bitwise; on bool: logical, both sides evaluated
    OR = "|"
    XOR = "^"
    SHL = "<<"
    SHR = ">>"

    __hash__ = object.__hash__  # members are alone: by identity, without Python code


@unique
class UnaryOp(Enum):
    """Unary operators."""

    NEG = "-"
    INVERT = "~"  # bitwise; on bool: logical not
    ABS = "abs"  # of complex: magnitude, dtype is the real type


@unique
class CompareOp(Enum):
    """Comparisons; the result is BOOL, a comparison with NaN is false except `!=`."""

    LT = "<"
    LE = "<="
    GT = ">"
    GE = ">="
    EQ = "=="
    NE = "!="


@unique
class MathFunc(Enum):
    """Functions of `math.h` / `complex.h`; the value is the C name for double."""

    SQRT = "sqrt"
    CBRT = "cbrt"
    EXP = "exp"
    EXP2 = "exp2"
    EXPM1 = "expm1"
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
    SINH = "sinh"
    COSH = "cosh"
    TANH = "tanh"
    ASINH = "asinh"
    ACOSH = "acosh"
    ATANH = "atanh"
    ERF = "erf"
    ERFC = "erfc"
    LGAMMA = "lgamma"
    TGAMMA = "tgamma"
    FLOOR = "floor"
    CEIL = "ceil"
    TRUNC = "trunc"
    RINT = "rint"
    ATAN2 = "atan2"
    HYPOT = "hypot"
    COPYSIGN = "copysign"
    FMOD = "fmod"
    REMAINDER = "remainder"
    FMA = "fma"
    ISNAN = "isnan"
    ISINF = "isinf"
    ISFINITE = "isfinite"
    SIGNBIT = "signbit"
    REAL = "creal"
    IMAG = "cimag"
    CONJ = "conj"
    COMPLEX = "CMPLX"  # of real and imaginary part; dtype is the complex type
    NEXTAFTER = "nextafter"
    LDEXP = "ldexp"  # the second argument is an INT32
    LOGB = "logb"
    GCD = "gcd"  # of integers, never negative
    POPCOUNT = "popcount"  # of an unsigned integer; dtype is UINT8
    POWER = "pow"  # to a small constant, a few units in the last place off; else `BinaryOp.POW`
    HIGH_PRODUCT = "mulhi"  # the upper 64 bits of a product of UINT64 numbers
    PHILOX = "philox"  # of key, key, position, stream, all UINT64; dtype is UINT64 or UINT32
    NORMAL = "normal"  # the quantile of the normal distribution that a random UINT64 word picks

    @property
    def c_name(self) -> str:
        """The name for double in the C library."""
        return self.value


class _Tree:
    """An expression that keeps its hash, since many tables have it as a key, and all its parts."""

    __slots__ = ("_hash", "_parts")
    __match_args__: tuple[str, ...] = ()
    _hash: int
    _parts: tuple[Expr, ...]

    def __init_subclass__(cls) -> None:
        cls.__hash__ = _Tree.__hash__  # type: ignore[method-assign]  # a record keeps it

    def __hash__(self) -> int:
        try:
            return self._hash
        except AttributeError:
            found = hash(tuple([getattr(self, name) for name in self.__match_args__]))
            object.__setattr__(self, "_hash", found)
            return found


@dataclass(frozen=True, slots=True)
class Const:
    """A literal; `value` is a Python bool, int, float or complex.

    Equal are literals of one type with the same bits: `0.0` and `-0.0` differ.
    """

    value: bool | int | float | complex
    dtype: DType

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Const):
            return NotImplemented
        return self.dtype is other.dtype and _identity(self.value) == _identity(other.value)

    def __hash__(self) -> int:
        return hash(_identity(self.value))


def _identity(value: bool | int | float | complex) -> Hashable:
    """Return what tells a literal from all others of its type."""
    if isinstance(value, float):
        if value != value:
            return "nan"
        return "-0.0" if value == 0 and math.copysign(1.0, value) < 0 else value
    if isinstance(value, complex):
        return (_identity(value.real), _identity(value.imag))
    return value


@dataclass(frozen=True, slots=True)
class Iter:
    """A loop iterator of the statement or of the loop AST; INT64."""

    name: str
    dtype: DType = DType.INT64


@dataclass(frozen=True, slots=True)
class Param:
    """A size or an integer argument that isl knows as a parameter; INT64."""

    name: str
    dtype: DType = DType.INT64


@dataclass(frozen=True, slots=True)
class Symbol:
    """A scalar argument that is not an isl parameter, or a local of the loop AST."""

    name: str
    dtype: DType
    lanes: int = 1


@dataclass(frozen=True, slots=True)
class Load(_Tree):
    """An array element: `array[index]`; `index` is empty for a 0-d array."""

    array: str
    index: tuple[Expr, ...]
    dtype: DType


@dataclass(frozen=True, slots=True)
class Unary(_Tree):
    """`op operand`."""

    op: UnaryOp
    operand: Expr
    dtype: DType


@dataclass(frozen=True, slots=True)
class Binary(_Tree):
    """`left op right`; both operands have dtype `dtype`, except the right side of SHL and SHR."""

    op: BinaryOp
    left: Expr
    right: Expr
    dtype: DType


@dataclass(frozen=True, slots=True)
class Compare(_Tree):
    """`left op right`; both operands have one dtype, the result is BOOL."""

    op: CompareOp
    left: Expr
    right: Expr
    dtype: DType = DType.BOOL


@dataclass(frozen=True, slots=True)
class Call(_Tree):
    """`func(*args)`."""

    func: MathFunc
    args: tuple[Expr, ...]
    dtype: DType


@dataclass(frozen=True, slots=True)
class Select(_Tree):
    """`then if condition else otherwise`; both sides are safe to evaluate."""

    condition: Expr
    then: Expr
    otherwise: Expr
    dtype: DType


@dataclass(frozen=True, slots=True)
class Cast(_Tree):
    """Conversion with C's rules (float to int truncates)."""

    operand: Expr
    dtype: DType


MOST_APART = 4
"""How far apart elements of a row may lie that one vector is loaded of."""


@dataclass(frozen=True, slots=True)
class VectorLoad(_Tree):
    """`lanes` elements from `array[index]` on, in a row; loop AST only.

    What is read may lie `step` elements of the row apart; what is written lies side by side.
    """

    array: str
    index: tuple[Expr, ...]
    dtype: DType
    lanes: int
    step: int = 1

    @property
    def span(self) -> int:
        """How many elements of the row there are from the first lane's to the last lane's."""
        return (self.lanes - 1) * self.step + 1


@dataclass(frozen=True, slots=True)
class Broadcast(_Tree):
    """One scalar in every lane; loop AST only."""

    operand: Expr
    dtype: DType
    lanes: int


Expr: TypeAlias = (
    Const
    | Iter
    | Param
    | Symbol
    | Load
    | Unary
    | Binary
    | Compare
    | Call
    | Select
    | Cast
    | VectorLoad
    | Broadcast
)


_ATOMS = (Iter, Const, Param, Symbol)  # without operands


def integer(value: int) -> Const:
    """Return an INT64 constant."""
    return Const(value, DType.INT64)


def add(left: Expr, right: Expr) -> Expr:
    """Return the INT64 sum, constants folded."""
    match left, right:
        case Const(value=int(a)), Const(value=int(b)):
            return integer(a + b)
        case _, Const(value=0):
            return left
        case Const(value=0), _:
            return right
        case _:
            return Binary(BinaryOp.ADD, left, right, DType.INT64)


def sub(left: Expr, right: Expr) -> Expr:
    """Return the INT64 difference, constants folded."""
    match left, right:
        case Const(value=int(a)), Const(value=int(b)):
            return integer(a - b)
        case _, Const(value=0):
            return left
        case _:
            return Binary(BinaryOp.SUB, left, right, DType.INT64)


def mul(left: Expr, right: Expr) -> Expr:
    """Return the INT64 product, constants folded."""
    match left, right:
        case Const(value=int(a)), Const(value=int(b)):
            return integer(a * b)
        case _, Const(value=1):
            return left
        case Const(value=1), _:
            return right
        case _:
            return Binary(BinaryOp.MUL, left, right, DType.INT64)


def children(expr: Expr) -> tuple[Expr, ...]:
    """Return the direct operands, subscripts included, in source order."""
    match expr:  # the most frequent ones first
        case Const() | Iter() | Param() | Symbol():
            return ()
        case Binary() | Compare():
            return (expr.left, expr.right)
        case Load() | VectorLoad():
            return expr.index
        case Unary() | Cast() | Broadcast():
            return (expr.operand,)
        case Call():
            return expr.args
        case Select():
            return (expr.condition, expr.then, expr.otherwise)
        case _:
            assert_never(expr)


def with_children(expr: Expr, parts: tuple[Expr, ...]) -> Expr:  # noqa: C901 - one case a class
    """Return `expr` with its operands replaced by `parts`, given in the order of `children`."""
    match expr:
        case Const() | Iter() | Param() | Symbol():
            return expr
        case Load():
            return Load(expr.array, parts, expr.dtype)
        case Binary():
            return Binary(expr.op, parts[0], parts[1], expr.dtype)
        case Compare():
            return Compare(expr.op, parts[0], parts[1], expr.dtype)
        case VectorLoad():
            return VectorLoad(expr.array, parts, expr.dtype, expr.lanes, expr.step)
        case Unary():
            return Unary(expr.op, parts[0], expr.dtype)
        case Cast():
            return Cast(parts[0], expr.dtype)
        case Broadcast():
            return Broadcast(parts[0], expr.dtype, expr.lanes)
        case Call():
            return Call(expr.func, parts, expr.dtype)
        case Select():
            return Select(parts[0], parts[1], parts[2], expr.dtype)
        case _:
            assert_never(expr)


def operands(expr: Expr, op: BinaryOp) -> tuple[Expr, ...]:
    """Return the operands of nested `op`: `a`, `b`, `c` of `min(min(a, b), c)`; else `expr`."""
    if isinstance(expr, Binary) and expr.op is op:
        return (*operands(expr.left, op), *operands(expr.right, op))
    return (expr,)


def conjunction(conditions: Iterable[Expr]) -> Expr:
    """Return all of the conditions, one at least, as one."""
    return reduce(lambda left, right: Binary(BinaryOp.AND, left, right, DType.BOOL), conditions)


def walk(expr: Expr) -> Iterator[Expr]:
    """Yield `expr` and all its parts, parents first, left to right."""
    return iter(_all_parts(expr))


MOST_KEPT = 500  # parts: what walks of all parts of a long chain keep is a square


def _all_parts(expr: Expr) -> Sequence[Expr]:
    if isinstance(expr, _ATOMS):
        return (expr,)
    try:
        return expr._parts
    except AttributeError:
        pass
    checkpoint()
    found: list[Expr] = []
    waiting: list[Expr] = [expr]
    while waiting:
        part = waiting.pop()
        found.append(part)
        if not isinstance(part, _ATOMS):
            waiting += children(part)[::-1]
    if len(found) <= MOST_KEPT:
        object.__setattr__(expr, "_parts", tuple(found))
    return found


def rewrite(expr: Expr, rule: Callable[[Expr], Expr | None]) -> Expr:
    """Return `expr` with every part that `rule` gives an answer for replaced, parents first."""
    checkpoint()
    return _rewritten(expr, rule)


def _rewritten(expr: Expr, rule: Callable[[Expr], Expr | None]) -> Expr:
    found = rule(expr)
    if found is not None:
        return found
    if isinstance(expr, _ATOMS):
        return expr
    parts = children(expr)
    renewed = tuple([_rewritten(part, rule) for part in parts])
    for new, old in zip(renewed, parts, strict=True):
        if new is not old:
            return with_children(expr, renewed)
    return expr


_CHEAP = frozenset(
    {
        *(MathFunc.SQRT, MathFunc.FLOOR, MathFunc.CEIL, MathFunc.TRUNC, MathFunc.RINT),
        *(MathFunc.COPYSIGN, MathFunc.FMA, MathFunc.ISNAN, MathFunc.ISINF, MathFunc.ISFINITE),
        *(MathFunc.SIGNBIT, MathFunc.REAL, MathFunc.IMAG, MathFunc.CONJ, MathFunc.COMPLEX),
        MathFunc.POWER,
    }
)
"""Functions that are one instruction, or a few."""


def is_function(expr: Expr) -> bool:
    """Tell whether an expression is a function such as exp, of dozens of operations; `**` is."""
    if isinstance(expr, Binary):
        return expr.op is BinaryOp.POW and not expr.dtype.is_integer
    return isinstance(expr, Call) and expr.func not in _CHEAP


def substitute(expr: Expr, values: Mapping[str, Expr]) -> Expr:
    """Return `expr` with each iterator named in `values` replaced."""
    return rewrite(expr, lambda e: values.get(e.name) if isinstance(e, Iter) else None)


def loads(expr: Expr) -> tuple[Load, ...]:
    """Return the array elements `expr` reads, left to right, subscripts' own loads included."""
    return tuple(part for part in walk(expr) if isinstance(part, Load))
