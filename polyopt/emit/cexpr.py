"""Expressions as C text: typed, minimal parentheses, NumPy's and Python's meaning.

In: `Expr`, the arrays' C views, what is known of integer ranges.  Out: text; helpers it needs.
Refuses: ordering comparisons and min/max of complex numbers (PO0401), functions C lacks (PO0402).
"""

from __future__ import annotations

from collections.abc import Mapping

from polyopt.dataclass import dataclass, field
from polyopt.emit.dialect import (
    AND,
    ATOM,
    BIT_AND,
    BIT_OR,
    BIT_XOR,
    BITWISE,
    C11,
    EQUALITY,
    HELPER_OF,
    LEVEL,
    OF_INTEGERS,
    OR,
    PRODUCT,
    RELATION,
    SELECT,
    SHIFT,
    SMALL,
    SUM,
    UNARY,
    VECTORIZED,
    Dialect,
    all_constant,
    by_bits,
    helper_kind,
    is_moderate,
    lanes,
    larger_or_smaller,
    no_order,
)
from polyopt.emit.functions.table import COVERED
from polyopt.emit.half_precision import is_half_operation, is_rounded, widened
from polyopt.emit.helpers import Helper, HelperKind, needed_by
from polyopt.emit.ranges import Ranges
from polyopt.emit.views import View
from polyopt.errors import EmitError
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
    MathFunc,
    Param,
    Select,
    Symbol,
    Unary,
    UnaryOp,
    VectorLoad,
    loads,
)
from polyopt.ir.powers import PRECISE, constant_of
from polyopt.ir.scop import Role
from polyopt.ir.showing import show
from polyopt.ir.types import DType, Kind
from polyopt.never import assert_never


@dataclass(frozen=True, slots=True)
class ExprPrinter:
    """Prints expressions; `names` renames identifiers, `used` collects the helpers printed.

    `keeps_products`: products are guarded against being fused into a neighbouring sum.
    `part`: the first lane and the end of the lanes that exist; others are neither read nor written.
    Before them, if there are three texts, whether these are all lanes.
    `is_repeated`: a loop is around, so that functions which vectorize gain.
    `held`: texts for vectors that are in registers already.
    `streams`: conditions of nontemporal stores of whole vectors, by array.
    """

    views: Mapping[str, View]
    names: Mapping[str, str]
    ranges: Ranges
    used: dict[Helper, None]
    keeps_products: bool = False
    part: tuple[str, str] | tuple[str, str, str] | None = None
    is_repeated: bool = False
    dialect: Dialect = C11
    held: Mapping[VectorLoad, str] = field(default_factory=dict)
    streams: Mapping[str, str] = field(default_factory=dict)

    def text(self, expr: Expr, outer: int = SELECT) -> str:
        """Return the C text of `expr`, in parentheses where `outer` binds tighter."""
        text, level = self._print(expr)
        return f"({text})" if level < outer else text

    def stored(self, dtype: DType, value: Expr) -> str:
        """Return the text of `value` as an element of an array of `dtype` has it."""
        if not dtype.is_half:
            return self.text(value)
        if isinstance(value, Load):
            return self.element(value.array, value.index)
        name = self.helper(Helper(HelperKind.NARROW, dtype))
        return f"{name}({self._unrounded(value) if is_rounded(value) else self.text(value)})"

    def helper(self, helper: Helper) -> str:
        """Return the name of `helper` and note that it is used."""
        if helper.kind is HelperKind.COMPLEX_POWER:
            for kind in (HelperKind.MUL, HelperKind.DIV):
                self.used[Helper(kind, helper.dtype)] = None
        if helper.kind in (HelperKind.MUL, HelperKind.DIV, HelperKind.COMPLEX_POWER):
            self.used[Helper(HelperKind.EXACT)] = None
        if helper.kind is HelperKind.RECIPROCAL:
            self.used[Helper(HelperKind.SCALE, helper.dtype)] = None
        if helper.lanes > 1:
            self.used[Helper(HelperKind.VECTOR, helper.dtype, helper.lanes)] = None
        if helper.lanes > 1 and helper.dtype.is_half:
            self.used[Helper(HelperKind.WIDEN, helper.dtype)] = None
        self.used.update(dict.fromkeys((*needed_by(helper), helper)))
        return helper.name

    def element(self, array: str, index: tuple[Expr, ...]) -> str:
        """Return the text of one array element."""
        view = self.views[array]
        alone = 0 if view.strides else len(index)
        return view.element(self._terms(index, alone), self._factor(index))

    def address(self, array: str, index: tuple[Expr, ...]) -> str:
        """Return the text of a pointer to an array element."""
        view = self.views[array]
        alone = 0 if view.strides else len(index) - 1
        return view.address(self._terms(index, alone), self._factor(index))

    def load(self, source: VectorLoad) -> str:
        """Return the text that loads elements of a row; those outside `part` are zero."""
        if source in self.held:
            return self.held[source]
        place = self.address(source.array, source.index)
        if source.step != 1:
            kind = HelperKind.EVERY if self.part is None else HelperKind.EVERY_PART
            parts = ", ".join((place, *(self.part or ()), str(source.step)))
            return f"{self._lanes(kind, source)}({parts})"
        if self.part is None:
            return f"{self._lanes(HelperKind.LOAD, source)}({place})"
        kind = HelperKind.LOAD_PART if len(self.part) == 2 else HelperKind.LOAD_LANES
        return f"{self._lanes(kind, source)}({place}, {', '.join(self.part)})"

    def store(self, target: VectorLoad, value: str) -> str:
        """Return the statement that stores consecutive elements, those of `part` only."""
        place = self.address(target.array, target.index)
        if self.part is None and target.array in self.streams:
            past = self.streams[target.array]
            return f"{self._lanes(HelperKind.STREAM, target)}({place}, {value}, {past});"
        if self.part is None:
            return f"{self._lanes(HelperKind.STORE, target)}({place}, {value});"
        kind = HelperKind.STORE_PART if len(self.part) == 2 else HelperKind.STORE_LANES
        return f"{self._lanes(kind, target)}({place}, {', '.join(self.part)}, {value});"

    def _lanes(self, kind: HelperKind, access: VectorLoad) -> str:
        return self.helper(Helper(kind, access.dtype, access.lanes))

    def _terms(self, index: tuple[Expr, ...], alone: int) -> tuple[str, ...]:
        """Return the subscripts: the first ones `alone` in brackets, the rest as terms of a sum."""
        return tuple(self.text(i, SELECT if d < alone else SUM) for d, i in enumerate(index))

    def _factor(self, index: tuple[Expr, ...]) -> tuple[str, ...]:
        return tuple(self.text(i, PRODUCT) for i in index)

    def _print(self, expr: Expr) -> tuple[str, int]:  # noqa: C901 - one case per node
        if is_half_operation(expr):
            return self._half(expr)
        match expr:
            case Const():
                text = self.dialect.literal(expr)
                return text, UNARY if text.startswith("-") else ATOM
            case Iter() | Param() | Symbol():
                return self.names.get(expr.name, expr.name), ATOM
            case Load():
                element = self.element(expr.array, expr.index)
                if self.views[expr.array].array.role is Role.FAULT:  # other threads may note theirs
                    return f"__atomic_load_n(&{element}, __ATOMIC_RELAXED)", ATOM
                return element, ATOM
            case VectorLoad():
                return self.load(expr), ATOM
            case Broadcast(dtype=DType.FLOAT32, operand=Cast(operand=Load() as narrow)) if (
                narrow.dtype.is_half
            ):
                name = self.helper(Helper(HelperKind.SPLAT, narrow.dtype, expr.lanes))
                return f"{name}({self.element(narrow.array, narrow.index)})", ATOM
            case Broadcast():
                name = self.helper(Helper(HelperKind.SPLAT, expr.dtype, expr.lanes))
                return f"{name}({self.text(expr.operand)})", ATOM
            case Unary():
                return self._unary(expr)
            case Binary():
                return self._binary(expr)
            case Compare():
                return self._compare(expr)
            case Call():
                return self._call(expr)
            case Select():
                return self._select(expr)
            case Cast():
                return self._cast(expr)
            case _:
                assert_never(expr)

    def _half(self, expr: Expr) -> tuple[str, int]:
        """Print a value of 16 bits: a `float` that they hold."""
        if isinstance(expr, Load):
            name = self.helper(Helper(HelperKind.WIDEN, expr.dtype))
            return f"{name}({self.element(expr.array, expr.index)})", ATOM
        if is_rounded(expr):
            name = self.helper(Helper(HelperKind.ROUND, expr.dtype))
            return f"{name}({self._unrounded(expr)})", ATOM
        if isinstance(expr, Binary):  # a minimum or maximum
            name = self.helper(Helper(HELPER_OF[expr.op], expr.dtype))
            return f"{name}({self.text(expr.left)}, {self.text(expr.right)})", ATOM
        if isinstance(expr, Call) and expr.func is MathFunc.NEXTAFTER:
            name = self.helper(Helper(HelperKind.NEXT, expr.dtype))
            return f"{name}({', '.join(self.text(arg) for arg in expr.args)})", ATOM
        assert isinstance(expr, Const | Unary | Call | Cast)
        if isinstance(expr, Cast) and expr.dtype in (DType.FLOAT32, expr.operand.dtype):
            return self._print(expr.operand)
        if isinstance(expr, Cast):
            return self._cast(expr)
        return self._print(widened(expr))

    def _unrounded(self, expr: Expr) -> str:
        assert isinstance(expr, Binary | Call | Cast)
        wide = widened(expr)
        is_wider = isinstance(wide, Cast) and wide.operand.dtype is DType.FLOAT64
        if is_wider and expr.dtype is DType.FLOAT16:  # rounded twice, it is another number
            assert isinstance(wide, Cast)
            return f"{self.helper(Helper(HelperKind.ODD))}({self.text(wide.operand)})"
        return self.text(wide)

    def _unary(self, expr: Unary) -> tuple[str, int]:
        dtype = expr.operand.dtype
        match expr.op:
            case UnaryOp.NEG:
                return self._narrow(f"-{self._operand_of_sign(expr.operand)}", UNARY, expr.dtype)
            case UnaryOp.INVERT if dtype is DType.BOOL:
                return f"!{self.text(expr.operand, UNARY)}", UNARY
            case UnaryOp.INVERT:
                return self._narrow(f"~{self.text(expr.operand, UNARY)}", UNARY, expr.dtype)
            case UnaryOp.ABS:
                return self._abs(expr)
            case _:
                assert_never(expr.op)

    def _operand_of_sign(self, operand: Expr) -> str:
        text = self.text(operand, UNARY)
        return f"({text})" if text.startswith("-") else text

    def _abs(self, expr: Unary) -> tuple[str, int]:
        operand = expr.operand
        match operand.dtype.kind:
            case Kind.FLOAT:
                name = self.dialect.function("fabs", operand.dtype)
            case Kind.COMPLEX if self._is_own(expr.dtype):
                self.helper(Helper(HelperKind.HYPOT, expr.dtype))
                name = self.helper(Helper(HelperKind.MODULUS, operand.dtype))
            case Kind.COMPLEX:
                name = self.dialect.function("abs", operand.dtype)
            case Kind.SIGNED:
                name = self.helper(Helper(HelperKind.ABS, operand.dtype))
            case Kind.BOOL | Kind.UNSIGNED:
                return self._print(operand)
            case _:
                assert_never(operand.dtype.kind)
        return f"{name}({self.text(operand)})", ATOM

    def _binary(self, expr: Binary) -> tuple[str, int]:
        dtype = expr.dtype
        if dtype.is_complex and expr.op in (BinaryOp.MIN, BinaryOp.MAX):
            raise no_order(expr)
        if dtype is DType.BOOL:
            return self._logical(expr)
        if expr.op is BinaryOp.POW and dtype in COVERED and constant_of(expr.right) == 3:
            return f"{self.helper(Helper(HelperKind.CUBE, dtype))}({self.text(expr.left)})", ATOM
        if expr.op is BinaryOp.POW and self._is_own(dtype) and constant_of(expr.right) in PRECISE:
            name = self.helper(Helper(HelperKind.PRECISE, dtype))
            return f"{name}({self.text(expr.left)}, {self.text(expr.right)})", ATOM
        if expr.op is BinaryOp.POW and self._is_own(dtype):
            name = self.helper(Helper(HelperKind.POWER, dtype))
            return f"{name}({self.text(expr.left)}, {self.text(expr.right)})", ATOM
        if expr.op is BinaryOp.POW and dtype.is_complex:
            name = self.helper(Helper(HelperKind.COMPLEX_POWER, dtype))
            return f"{name}({self.text(expr.left)}, {self.text(expr.right)})", ATOM
        if expr.op is BinaryOp.POW and not dtype.is_integer:
            name = self.dialect.function("pow", dtype)
            return f"{name}({self.text(expr.left)}, {self.text(expr.right)})", ATOM
        if expr.op is BinaryOp.RATIO:
            return self._ratio(expr)
        expr = self._in_bits(expr)
        if self._needs_helper(expr):
            name = self.helper(Helper(helper_kind(expr, self.dialect), dtype, lanes(expr)))
            right = self.text(expr.right)
            return f"{name}({self.text(expr.left)}, {right})", ATOM
        return self._narrow(*self._operator(expr), dtype)

    def _ratio(self, expr: Binary) -> tuple[str, int]:
        """Print a quotient as a product with the reciprocal, which compilers move out of loops.

        A power of two goes first where the reciprocal would not be a normal number.
        """
        divisor = expr.right.operand if isinstance(expr.right, Broadcast) else expr.right
        left = self._lane_operand(expr.left, expr.right, PRODUCT)
        if is_moderate(divisor):
            one = self.text(Const(1.0, divisor.dtype))
            return f"{left} * ({one} / {self.text(divisor, PRODUCT + 1)})", PRODUCT
        text = self.text(divisor)
        scale = self.helper(Helper(HelperKind.SCALE, divisor.dtype))
        reciprocal = self.helper(Helper(HelperKind.RECIPROCAL, divisor.dtype))
        return f"{left} * {scale}({text}) * {reciprocal}({text})", PRODUCT

    def _needs_helper(self, expr: Binary) -> bool:
        match expr.op:
            case BinaryOp.MIN | BinaryOp.MAX | BinaryOp.POW:
                return True
            case BinaryOp.FLOORDIV | BinaryOp.MOD:
                return not self._divides_plainly(expr)
            case BinaryOp.SHL | BinaryOp.SHR:
                bits = expr.dtype.size * 8
                amount = expr.right.value if isinstance(expr.right, Const) else -1
                return not (isinstance(amount, int) and 0 <= amount < bits)
            case BinaryOp.MUL | BinaryOp.DIV:
                return expr.dtype.is_complex
            case _:
                return False

    def _in_bits(self, expr: Binary) -> Binary:
        divides = expr.op in (BinaryOp.FLOORDIV, BinaryOp.MOD)
        return by_bits(expr) if divides and not self._divides_plainly(expr) else expr

    def _divides_plainly(self, expr: Binary) -> bool:
        by = expr.right.value if isinstance(expr.right, Const) else 0
        if not isinstance(by, int) or by <= 0:
            return False
        if expr.dtype.kind is Kind.UNSIGNED:
            return True
        return expr.dtype is DType.INT64 and self.ranges.is_nonnegative(expr.left)

    def _operator(self, expr: Binary) -> tuple[str, int]:
        level = LEVEL[expr.op]
        sign = {BinaryOp.FLOORDIV: "/"}.get(expr.op, expr.op.value)
        # gcc warns where bit operators or shifts lean on precedence
        strict = level == SHIFT or level in BITWISE
        if strict:
            left, right = self._wide_left(expr, UNARY), self.text(expr.right, UNARY)
        else:
            left = self._wide_left(expr, level)
            right = self._lane_operand(expr.right, expr.left, level + 1)
            if self.keeps_products and level == SUM and not expr.dtype.is_integer:
                left, right = self.kept(expr.left, left), self.kept(expr.right, right)
            if level == SUM and not expr.dtype.is_integer and lanes(expr) == 1:
                left = self._beside_zero(expr.left, expr.right, left)
                right = self._beside_zero(expr.right, expr.left, right)
        return f"{left} {sign} {right}", level

    def _beside_zero(self, operand: Expr, other: Expr, text: str) -> str:
        """Return `text`, hidden where it is added to zero, or taken from it.

        gcc makes `-x` of `0.0 - x` where it sees that `x` is not -0.0: `(double)n`, `fabs(y)`,
        `n ? 1.0 : 0.0`.  But 0.0 - 0.0 is 0.0.
        """
        is_plain = isinstance(operand, Load | Symbol | Param | Const)
        if is_plain or constant_of(other) != 0:
            return text
        return f"{self.helper(Helper(HelperKind.OPAQUE, operand.dtype))}({text})"

    def kept(self, operand: Expr, text: str) -> str:
        """Return `text`, guarded against fusion when `operand` is a product."""
        if isinstance(operand, Binary) and operand.op is BinaryOp.MUL:
            return f"{self.helper(Helper(HelperKind.EXACT))}({text})"
        return text

    def _wide_left(self, expr: Binary, level: int) -> str:
        """Print the left operand; an int64 constant is typed where C would compute in int."""
        left = expr.left
        alone = expr.op in (BinaryOp.SHL, BinaryOp.SHR) or all_constant(expr.right)
        if isinstance(left, Const) and left.dtype is DType.INT64 and alone:
            return self.dialect.literal(left, wide=True)
        return self._lane_operand(left, expr.right, level)

    def _lane_operand(self, operand: Expr, other: Expr, level: int) -> str:
        # vector extensions widen a scalar operand by themselves
        is_free = lanes(other) > 1 and not isinstance(other, Broadcast)
        if isinstance(operand, Broadcast) and is_free:
            return self.text(operand.operand, level)
        return self.text(operand, level)

    def _logical(self, expr: Binary) -> tuple[str, int]:
        """Print `expr` on bools: `&&` and `||` for index conditions, bit operators on data."""
        plain = not loads(expr)
        left, right = expr.left, expr.right
        first = ATOM if isinstance(left, Unary) else UNARY  # compilers ask what `!a & b` means
        match expr.op:
            case BinaryOp.AND if plain:
                return f"{self.text(left, BIT_OR)} && {self.text(right, BIT_OR)}", AND
            case BinaryOp.OR if plain:
                return f"{self._or_side(left)} || {self._or_side(right)}", OR
            case BinaryOp.AND | BinaryOp.MUL | BinaryOp.MIN:
                return f"{self.text(left, first)} & {self.text(right, UNARY)}", BIT_AND
            case BinaryOp.OR | BinaryOp.ADD | BinaryOp.MAX:
                return f"{self.text(left, first)} | {self.text(right, UNARY)}", BIT_OR
            case BinaryOp.XOR | BinaryOp.SUB:
                return f"{self.text(left, first)} ^ {self.text(right, UNARY)}", BIT_XOR
            case _:
                raise EmitError(
                    "PO0403",
                    f"`{expr.op.value}` is not defined on bool: {show(expr)}",
                    hint="convert the operands with .astype(np.int8) first",
                )

    def _or_side(self, side: Expr) -> str:
        if isinstance(side, Binary) and side.op is BinaryOp.OR and not loads(side):
            return self.text(side, OR)
        return self.text(side, BIT_OR)

    def _narrow(self, text: str, level: int, dtype: DType) -> tuple[str, int]:
        """Cast back to a type narrower than int, as NumPy wraps there."""
        if dtype not in SMALL:
            return text, level
        inner = text if level >= UNARY else f"({text})"
        return f"({self.dialect.type_name(dtype)}){inner}", UNARY

    def _compare(self, expr: Compare) -> tuple[str, int]:
        equality = expr.op in (CompareOp.EQ, CompareOp.NE)
        if expr.left.dtype.is_complex and not equality:
            raise no_order(expr)
        level = EQUALITY if equality else RELATION
        left, right = self.text(expr.left, SHIFT), self.text(expr.right, SHIFT)
        if (
            isinstance(expr.left, Const)
            and expr.left.dtype is DType.INT64
            and all_constant(expr.right)
        ):
            left = self.dialect.literal(expr.left, wide=True)
        return f"{left} {expr.op.value} {right}", level

    def _call(self, expr: Call) -> tuple[str, int]:
        width = lanes(expr)
        if width > 1:
            name = self.helper(Helper(HelperKind.FMA, expr.dtype, width))
            return f"{name}({', '.join(self.text(a) for a in expr.args)})", ATOM
        if expr.func in OF_INTEGERS:
            name = self.helper(Helper(OF_INTEGERS[expr.func], expr.dtype))
            return f"{name}({', '.join(self.text(a) for a in expr.args)})", ATOM
        operand = expr.args[0].dtype
        if expr.func is MathFunc.POWER and operand in COVERED and self.dialect.own_functions:
            name = self.helper(Helper(HelperKind.PRODUCTS, operand))
            return f"{name}({', '.join(self.text(a) for a in expr.args)})", ATOM
        kind = VECTORIZED.get(expr.func)
        if kind is not None and self._is_own(operand):
            name = self.helper(Helper(kind, operand))
            return f"{name}({', '.join(self.text(a) for a in expr.args)})", ATOM
        text = self.dialect.call(expr, operand, tuple(self.text(a) for a in expr.args))
        return text, ATOM

    def _is_own(self, dtype: DType) -> bool:
        """Tell whether functions of `dtype` are printed as arithmetic, so that loops vectorize."""
        return self.is_repeated and dtype in COVERED and self.dialect.own_functions

    def _select(self, expr: Select) -> tuple[str, int]:
        condition, level = self._print(expr.condition)
        if lanes(expr.condition) > 1:
            kind = larger_or_smaller(expr)
            if kind is not None:
                name = self.helper(Helper(kind, expr.dtype, lanes(expr)))
                return f"{name}({self.text(expr.then)}, {self.text(expr.otherwise)})", ATOM
            name = self.helper(Helper(HelperKind.CHOOSE, expr.dtype, lanes(expr)))
            return f"{name}({condition}, {self.text(expr.then)}, {self.text(expr.otherwise)})", ATOM
        if expr.dtype is DType.BOOL and expr.otherwise == Const(False, DType.BOOL):
            return f"{self.text(expr.condition, BIT_OR)} && {self.text(expr.then, BIT_OR)}", AND
        if level in BITWISE or level < OR:  # clang warns where bit operators lean on precedence
            condition = f"({condition})"
        then, otherwise = self.text(expr.then, OR), self.text(expr.otherwise)
        return f"{condition} ? {then} : {otherwise}", SELECT

    def _cast(self, expr: Cast) -> tuple[str, int]:
        source, target = expr.operand.dtype, expr.dtype
        if source is target:
            return self._print(expr.operand)
        if source.is_complex and not target.is_complex and target is not DType.BOOL:
            real = "crealf" if source is DType.COMPLEX64 else "creal"
            return f"({target.ctype}){real}({self.text(expr.operand)})", UNARY
        return f"({self.dialect.type_name(target)}){self.text(expr.operand, UNARY)}", UNARY
