"""Functions of C's `math.h` that NumPy has not: in float64, and in float32 with an `f`.

In: calls in the Python text of a C region, of the functions in `FUNCTIONS`.  Out: expressions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from polyopt.dataclass import dataclass
from polyopt.frontend.arithmetic.elementwise import combine
from polyopt.frontend.numpy.call_arguments import Arguments, real_number
from polyopt.frontend.program.builder import Builder
from polyopt.frontend.values.promote import call
from polyopt.frontend.values.values import Value
from polyopt.ir.expr import (
    Binary,
    BinaryOp,
    Compare,
    CompareOp,
    Const,
    Expr,
    MathFunc,
    Select,
    Unary,
    UnaryOp,
)
from polyopt.ir.types import DType

Made = Callable[[Sequence[Expr], DType], Expr]


@dataclass(frozen=True, slots=True)
class CFunction:
    """One function of `math.h` for numbers of type `kind`."""

    name: str
    arity: int
    kind: DType
    made: Made

    def __call__(self, b: Builder, args: Arguments) -> Value:
        """Return the value of a call."""
        what = f"an argument of `{self.name}`"
        found = tuple(real_number(b, value, what, args.loc) for value in args.values)
        kinds = (self.kind,) * self.arity
        return combine(b, self.name, found, kinds, self.kind, self.made, args.loc)


def _round(args: Sequence[Expr], out: DType) -> Expr:
    """Return the nearest whole number, of two the one away from zero."""
    (value,) = args
    whole = call(MathFunc.TRUNC, value, dtype=out)
    rest = Unary(UnaryOp.ABS, Binary(BinaryOp.SUB, value, whole, out), out)
    one = call(MathFunc.COPYSIGN, Const(1.0, out), value, dtype=out)
    is_far = Compare(CompareOp.GE, rest, Const(0.5, out))
    return Select(is_far, Binary(BinaryOp.ADD, whole, one, out), whole, out)


def _positive_difference(args: Sequence[Expr], out: DType) -> Expr:
    """Return x - y, and 0 where x <= y."""
    x, y = args
    is_less = Compare(CompareOp.LE, x, y)
    return Select(is_less, Const(0.0, out), Binary(BinaryOp.SUB, x, y, out), out)


def _of(func: MathFunc) -> Made:
    return lambda args, out: call(func, *args, dtype=out)


_MADE: dict[str, tuple[int, Made]] = {
    "erf": (1, _of(MathFunc.ERF)),
    "erfc": (1, _of(MathFunc.ERFC)),
    "tgamma": (1, _of(MathFunc.TGAMMA)),
    "lgamma": (1, _of(MathFunc.LGAMMA)),
    "remainder": (2, _of(MathFunc.REMAINDER)),
    "nextafter": (2, _of(MathFunc.NEXTAFTER)),
    "fma": (3, _of(MathFunc.FMA)),
    "fdim": (2, _positive_difference),
    "round": (1, _round),
}
FUNCTIONS = {
    f"c_{name}{end}": CFunction(f"{name}{end}", arity, kind, made)
    for name, (arity, made) in _MADE.items()
    for end, kind in (("", DType.FLOAT64), ("f", DType.FLOAT32))
}
"""By the names in the text of a region; each is the rule that reads its calls, too."""
