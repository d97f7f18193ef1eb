"""Print expressions of kernels, in `int` where 32 bits are proven to suffice.

In: `Expr`, where arrays lie, which iterators are `int`, what others are counted from.
Out: text.
Integer operations that may overflow, which is undefined, are told by their ranges.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from polyopt.dataclass import dataclass, field, replace
from polyopt.emit.cexpr import ExprPrinter
from polyopt.emit.dialect import AND, ATOM, BIT_AND, BIT_OR, RELATION, SHIFT, UNARY
from polyopt.emit.gpu.complex import complex_text
from polyopt.emit.gpu.declarations import KernelDeclarations, Limit
from polyopt.emit.gpu.swizzle import swizzled_column
from polyopt.emit.half_precision import is_half_operation
from polyopt.emit.helpers import Helper, HelperKind
from polyopt.emit.ranges import Ranges
from polyopt.ir.array import Array
from polyopt.ir.expr import (
    Binary,
    BinaryOp,
    Broadcast,
    Call,
    Cast,
    Compare,
    CompareOp,
    Const,
    Expr,
    Iter,
    Load,
    Param,
    Select,
    Symbol,
    Unary,
    UnaryOp,
    VectorLoad,
    add,
    integer,
    loads,
    mul,
    operands,
    sub,
    substitute,
)
from polyopt.ir.linear import Linear, from_linear, linear, normalize
from polyopt.ir.loops import Space
from polyopt.ir.names import depends_on_data, iterators
from polyopt.ir.source import LARGEST_SIZE
from polyopt.ir.types import DType, Kind
from polyopt.never import assert_never

INT_MOST = 2**31 - 1
NEAR = 1024
"""How far below 0 a limit may be that is counted in `int`."""

_SUMS = (BinaryOp.ADD, BinaryOp.SUB, BinaryOp.MUL)
_BITS = (BinaryOp.AND, BinaryOp.OR, BinaryOp.XOR)
_SHIFTS = (BinaryOp.SHL, BinaryOp.SHR)
_NARROW = {
    BinaryOp.MIN: HelperKind.MIN,
    BinaryOp.MAX: HelperKind.MAX,
    BinaryOp.FLOORDIV: HelperKind.FLOORDIV,
    BinaryOp.MOD: HelperKind.MOD,
}
_WRAPS = {
    BinaryOp.ADD: HelperKind.WRAP_ADD,
    BinaryOp.SUB: HelperKind.WRAP_SUB,
    BinaryOp.MUL: HelperKind.WRAP_MUL,
    BinaryOp.SHL: HelperKind.SHL,
}
_MUL = (BinaryOp.MUL,)
_WRAPPING = (DType.INT32, DType.INT64, DType.UINT16)  # these are computed as they are, or as `int`
_CHOICES = (BinaryOp.MIN, BinaryOp.MAX)
_ROUNDED = (BinaryOp.FLOORDIV, BinaryOp.MOD)


@dataclass(frozen=True, slots=True)
class Storage:
    """The storage of an array: its name in the text; without a `space`, in the device's memory.

    There it has `strides` in elements, or, where these are empty, rows of its own extents.
    """

    array: Array
    name: str
    space: Space | None
    strides: tuple[Expr, ...] = ()

    def offset(self, index: tuple[Expr, ...]) -> Expr:
        """Return where an element of the device's memory lies, counted from the first one."""
        total: Expr = integer(0)
        if self.strides:
            for subscript, stride in zip(index, self.strides, strict=True):
                total = add(total, mul(subscript, stride))
            return total
        for subscript, extent in zip(index, self.array.shape, strict=True):
            total = _plus(_times(total, extent), subscript)
        return total


def _plus(total: Expr, part: Expr) -> Expr:
    """Return a sum without parentheses."""
    match part:
        case Binary(op=BinaryOp.ADD):
            return _plus(_plus(total, part.left), part.right)
        case Binary(op=BinaryOp.SUB):
            return sub(_plus(total, part.left), part.right)
        case _:
            return add(total, part)


def _times(total: Expr, extent: Expr) -> Expr:
    return total if total == integer(0) else mul(total, extent)


def _is_fixed(test: Expr) -> bool:
    """Tell whether a condition stays as it is: nothing it reads is stored to."""
    return not depends_on_data(test)


def _is_power(by: complex) -> bool:
    return isinstance(by, int) and by > 0 and by & (by - 1) == 0


@dataclass(frozen=True, slots=True)
class KernelPrinter(ExprPrinter):
    """Prints expressions of a kernel; `ints` names the iterators that are `int` in the text.

    `offsets` gives others as what they are counted from, and a sum of such iterators.  `facts` are
    known to be positive.  `is_index`: what is printed is part of a subscript and cannot overflow.
    `declarations` collects limits over `fixed` iterators, those of loops that all threads run.
    """

    places: Mapping[str, Storage] = field(default_factory=dict)
    ints: frozenset[str] = frozenset()
    offsets: Mapping[str, Expr] = field(default_factory=dict)
    facts: tuple[Expr, ...] = ()
    is_index: bool = False
    declarations: KernelDeclarations | None = None
    fixed: frozenset[str] = frozenset()

    def element(self, array: str, index: tuple[Expr, ...]) -> str:
        """Return the text of one array element."""
        place = self.places[array]
        self = replace(self, is_index=True)
        match place.space:
            case None:
                return f"{place.name}[{self.text(place.offset(tuple(map(self.ordered, index))))}]"
            case Space.REGISTER:
                index = index[1:]
            case Space.SHARED if place.array.turn is not None:
                column = swizzled_column(index, place.array.turn, self.ranges)
                index = (*index[:-1], column)
            case Space.LOCAL | Space.SHARED:
                pass
        return place.name + "".join(f"[{self.text(i)}]" for i in index)

    def counted(self, expr: Expr) -> Expr:
        """Return an INT64 expression in terms of what iterators are counted from."""
        return normalize(substitute(expr, self.offsets))

    def ordered(self, expr: Expr) -> Expr:
        """Return a sum with what is the same for all threads first."""
        total = linear(expr)
        terms = sorted(total.terms, key=lambda term: self.is_int(term[0]))
        return from_linear(Linear(total.constant, tuple(terms)))

    def with_int(self, name: str, least: int, most: int) -> KernelPrinter:
        """Return the printer where the iterator `name` is an `int` between `least` and `most`."""
        ranges = replace(
            self.ranges,
            lower={**self.ranges.lower, name: least},
            upper={**self.ranges.upper, name: most},
        )
        return replace(self, ranges=ranges, ints=self.ints | {name})

    def knowing(self, tests: Iterable[Expr]) -> KernelPrinter:
        """Return the printer where comparisons hold."""
        found = [
            normalize(sub(test.right, test.left))
            for test in tests
            if isinstance(test, Compare) and test.op is CompareOp.LT and _is_fixed(test)
        ]
        return replace(self, facts=(*self.facts, *found))

    def is_positive(self, expr: Expr) -> bool:
        """Tell whether `expr` is known to be at least 1."""
        least = self.ranges.least(expr)
        if least is not None and least > 0:
            return True
        return any(self.ranges.is_nonnegative(normalize(sub(expr, fact))) for fact in self.facts)

    def fits(self, expr: Expr) -> bool:
        """Tell whether every value of `expr` is known to fit an `int`."""
        least, most = self.ranges.least(expr), self.ranges.most(expr)
        return least is not None and most is not None and least >= -INT_MOST and most <= INT_MOST

    def is_int(self, expr: Expr) -> bool:
        """Tell whether the text of `expr` (INT64) has type `int`."""
        match expr:
            case Const(value=value):
                return isinstance(value, int) and -INT_MOST <= value <= INT_MOST
            case Iter():
                return expr.name in self.ints
            case Unary(op=UnaryOp.NEG | UnaryOp.INVERT):
                return self.is_int(expr.operand)
            case Binary() if not (self.is_int(expr.left) and self.is_int(expr.right)):
                return False
            case Binary() if expr.op in _SUMS:
                return self.fits(expr)
            case Binary():
                return expr.op in _BITS or expr.op in _NARROW
            case Select():
                return self.is_int(expr.then) and self.is_int(expr.otherwise)
            case _:
                return False

    def _print(self, expr: Expr) -> tuple[str, int]:
        if is_half_operation(expr):
            return self._half(expr)
        of_complex = complex_text(self, expr)
        if of_complex is not None:
            return of_complex
        match expr:
            case Load():  # flags of faults, too: all threads note the same
                return self.element(expr.array, expr.index), ATOM
            case Binary() if self._wraps(expr):
                return self._wrapped(expr, expr.left, expr.right)
            case Unary(op=UnaryOp.NEG) if self._wraps(expr):
                return self._wrapped(expr, expr.operand)
            case Binary(dtype=DType.INT64):
                return self._index(expr)
            case Compare(op=CompareOp.LT | CompareOp.LE) if short := self._in_int(expr):
                return short, RELATION
            case _:
                return ExprPrinter._print(self, expr)  # slots: no super()

    def _in_int(self, test: Compare) -> str | None:
        """Return a comparison in `int`: what differs from thread to thread with what does not.

        None where that is not known to be the same.
        """
        if self.declarations is None or not self.declarations.dialect.limits:
            return None
        if test.left.dtype is not DType.INT64 or not _is_fixed(test):
            return None
        gap = sub(test.right, test.left)
        return self._with_limit(gap, test.op) or self._with_limit(self.counted(gap), test.op)

    def _with_limit(self, whole: Expr, op: CompareOp) -> str | None:
        """Return the text of `0 < whole`, or `0 <= whole`, if it is known to be the same."""
        gap = linear(whole)
        own = tuple((atom, -n) for atom, n in gap.terms if self.is_int(atom))
        rest = tuple((atom, n) for atom, n in gap.terms if not self.is_int(atom))
        left, limit = from_linear(Linear(-gap.constant, own)), from_linear(Linear(0, rest))
        iters = iterators(*(atom for atom, _ in rest))
        assert self.declarations is not None
        is_known = frozenset(rest) in self.declarations.limits
        if not rest or not iters <= self.fixed or not (own or is_known):
            return None
        if not self.is_positive(add(limit, integer(NEAR))):
            return None
        if not self.is_int(left) or not self.fits(add(left, integer(1))):
            return None
        if any(not isinstance(atom, Iter | Param) for atom, _ in rest):
            return None
        sign = "<" if op is CompareOp.LT else "<="
        return f"{self.text(left, SHIFT)} {sign} {self._limit(rest, limit, iters)}"

    def _limit(
        self, terms: tuple[tuple[Expr, int], ...], limit: Expr, iters: frozenset[str]
    ) -> str:
        """Return the name of a limit as an `int`."""
        assert self.declarations is not None
        key = frozenset(terms)
        if key not in self.declarations.limits:
            sizes = [atom.name for atom, n in terms if isinstance(atom, Param) and n > 0]
            wish = self.names.get(sizes[0], sizes[0]) if sizes else "limit"
            least = Binary(BinaryOp.MIN, limit, integer(INT_MOST), DType.INT64)
            text = f"(int){self.text(least, UNARY)}"
            self.declarations.limits[key] = Limit(
                self.declarations.fresh(f"{wish}_left"), text, iters
            )
        return self.declarations.limits[key].name

    def wraps(self, expr: Expr) -> bool:
        """Tell whether `expr` is printed as a call that wraps around."""
        return isinstance(expr, Binary | Unary) and self._wraps(expr)

    def _wraps(self, expr: Binary | Unary) -> bool:
        if self.is_index or expr.dtype not in _WRAPPING:
            return False
        if isinstance(expr, Binary) and expr.op not in _WRAPS:
            return False
        if expr.dtype.kind is Kind.UNSIGNED and not (isinstance(expr, Binary) and expr.op in _MUL):
            return False
        return may_overflow(expr, self.ranges)

    def _wrapped(self, expr: Binary | Unary, *operands: Expr) -> tuple[str, int]:
        kind = _WRAPS[expr.op] if isinstance(expr, Binary) else HelperKind.WRAP_NEG
        name = self.helper(Helper(kind, expr.dtype))
        return f"{name}({', '.join(map(self.text, operands))})", ATOM

    def _index(self, expr: Binary) -> tuple[str, int]:
        if not self.is_int(expr):
            short = self.counted(expr)
            if short != expr and self.is_int(short):
                return self._print(short)
        by = expr.right.value if isinstance(expr.right, Const) else 0
        if expr.op in _ROUNDED and self._needs_helper(expr) and _is_power(by):
            return self._by_power(expr, int(by.real))
        if (
            self.is_int(expr)
            and expr.op in _NARROW
            and (expr.op in _CHOICES or self._needs_helper(expr))
        ):
            name = self.helper(Helper(_NARROW[expr.op], DType.INT32))
            return f"{name}({self.text(expr.left)}, {self.text(expr.right)})", ATOM
        return ExprPrinter._print(self, expr)

    def _logical(self, expr: Binary) -> tuple[str, int]:
        if expr.op is not BinaryOp.AND or loads(expr):
            return ExprPrinter._logical(self, expr)
        return " && ".join(self.text(part, BIT_OR) for part in operands(expr, expr.op)), AND

    def _by_power(self, expr: Binary, by: int) -> tuple[str, int]:
        """Print a floor division by a power of two, or its rest: a shift, the low bits."""
        left = self.text(expr.left, UNARY)
        if expr.op is BinaryOp.MOD:
            return f"{left} & {by - 1}", BIT_AND
        return f"{left} >> {by.bit_length() - 1}", SHIFT

    def _wide_left(self, expr: Binary, level: int) -> str:
        """Print the left operand, widened where the text would compute in `int` and overflow."""
        left = expr.left
        if expr.dtype is not DType.INT64 or not self.is_int(left):
            return self.text(left, level)
        if expr.op in _SHIFTS or (
            expr.op in _SUMS and self.is_int(expr.right) and not self.fits(expr)
        ):
            if isinstance(left, Const):
                return self.dialect.literal(left, wide=True)
            return f"({self.dialect.type_name(DType.INT64)}){self.text(left, UNARY)}"
        return self.text(left, level)


_INDEX = 4 * LARGEST_SIZE
"""No size, and no iterator, is further from 0."""


def largest(dtype: DType) -> int:
    """Return the largest number of an integer type."""
    if dtype is DType.BOOL:
        return 1
    return int(2 ** (8 * dtype.size - (dtype.kind is Kind.SIGNED)) - 1)


def may_overflow(expr: Binary | Unary, ranges: Ranges) -> bool:
    """Tell whether a sum, a product or a negation may leave its type."""
    match expr:
        case Binary():
            size = _together(expr, ranges)
        case Unary():
            size = magnitude_bound(expr.operand, ranges) + 1
        case _:
            assert_never(expr)
    return size > largest(expr.dtype)


def _together(expr: Binary, ranges: Ranges) -> int:
    left, right = magnitude_bound(expr.left, ranges), magnitude_bound(expr.right, ranges)
    match expr.op:
        case BinaryOp.ADD | BinaryOp.SUB:
            return left + right
        case BinaryOp.MUL:
            return left * right
        case BinaryOp.SHL:
            return left << min(right, 64)
        case BinaryOp.MIN | BinaryOp.MAX:
            return max(left, right)
        case BinaryOp.FLOORDIV | BinaryOp.SHR:
            return left + 1
        case BinaryOp.MOD:
            return right
        case _:
            return largest(expr.dtype) + 1


def magnitude_bound(expr: Expr, ranges: Ranges) -> int:
    """Return an upper bound of the magnitude of the integer expression `expr`.

    The least number of a signed type counts as its largest, so that its negation is detected.
    """
    if not (expr.dtype.is_integer or expr.dtype is DType.BOOL):
        return largest(DType.UINT64)
    most = largest(expr.dtype)
    match expr:
        case Const(value=value):
            return abs(int(value.real))
        case Iter() | Param():
            low, high = ranges.least(expr), ranges.most(expr)
            if low is None or high is None:
                return _INDEX
            return min(_INDEX, max(abs(low), abs(high)))
        case Cast():
            return min(most, magnitude_bound(expr.operand, ranges))
        case Binary():
            return min(most, _together(expr, ranges))
        case Unary():
            return min(most, magnitude_bound(expr.operand, ranges) + 1)
        case Select():
            return max(magnitude_bound(expr.then, ranges), magnitude_bound(expr.otherwise, ranges))
        case Load() | Symbol() | Call() | Compare() | VectorLoad() | Broadcast():
            return most
        case _:
            assert_never(expr)
