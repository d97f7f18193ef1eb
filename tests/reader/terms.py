"""The oracle's symbolic values with the fingerprints of `algebra`.

In: what `tests.oracle.symbolic` makes of a Program's expressions.  Out: terms whose code is a
fingerprint, with their numbers.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from polyopt.ir.expr import (
    Binary,
    BinaryOp,
    Call,
    Cast,
    Compare,
    Expr,
    Select,
    Unary,
    UnaryOp,
    children,
)
from polyopt.ir.types import DType
from tests.oracle.terms import Number, Term, Terms, Value, _identity
from tests.reader.algebra import MASK, Algebra, bits
from tests.reader.values import same_number

_UNARY = {UnaryOp.NEG: "neg", UnaryOp.ABS: "abs", UnaryOp.INVERT: "~"}


@dataclass(slots=True, eq=False)
class FieldTerms(Terms):
    """Terms of a Program, told apart by fingerprints; truth values are plain."""

    algebra: Algebra = field(default_factory=Algebra)

    def leaf(self, name: str, dtype: DType, number: Number) -> Term:
        """Return the term of something given; library calls are known by function and operands."""
        name = re.sub(r"#\d+", "", name)
        return Term(self.algebra.leaf(name, dtype.numpy), dtype, name, (), None, number)

    def literal(self, value: complex, dtype: DType) -> Value:
        """Return a constant."""
        if dtype.is_integer or dtype is DType.BOOL:
            return int(value.real) if dtype.is_integer else bool(value)
        with np.errstate(all="ignore"):
            number = dtype.numpy.type(value)
        return Term(
            self.algebra.constant(number, dtype.numpy), dtype, repr(number), (), None, number
        )

    def nothing(self, op: BinaryOp, dtype: DType) -> Term:
        """Return the neutral element of `op`."""
        number = _identity(op, dtype)
        return Term(
            self.algebra.constant(number, dtype.numpy), dtype, repr(number), (), None, number
        )

    def made(self, expr: Expr, args: tuple[Value, ...]) -> Any:
        """Return `expr`'s operation on `args`."""
        kinds = [operand.dtype for operand in children(expr)]
        numbers = [
            arg.number if isinstance(arg, Term) else kind.numpy.type(arg)
            for arg, kind in zip(args, kinds, strict=True)
        ]
        with np.errstate(all="ignore"):
            number = self._rule(expr)(numbers)
        if expr.dtype is DType.BOOL:
            return bool(number)
        if isinstance(expr, Binary) and expr.op in (BinaryOp.MIN, BinaryOp.MAX):
            pairs = zip(args, numbers, strict=True)
            return next((a for a, n in pairs if same_number(n, number)), args[0])
        if isinstance(expr, Unary) and expr.op is UnaryOp.ABS and not kinds[0].is_complex:
            negative = Unary(UnaryOp.NEG, expr.operand, expr.dtype)
            return args[0] if number == numbers[0] else self.made(negative, args)
        codes = [self.code(arg, kind) for arg, kind in zip(args, kinds, strict=True)]
        shown = [kind.numpy for kind in kinds]
        if isinstance(expr, Cast):
            code = self.algebra.cast(codes[0], shown[0], expr.dtype.numpy, numbers[0], number)
        else:
            operands = list(zip(codes, shown, numbers, strict=True))
            code = self.algebra.operation(_name(expr), expr.dtype.numpy, operands, number)
        return Term(code, expr.dtype, _name(expr), args, None, number)

    def ring(self, expr: Expr, code: int, args: tuple[Value, ...]) -> Value:
        """Return an operation on integers of 64 bits."""
        del code
        return self.made(expr, args)  # type: ignore[no-any-return]

    def negated(self, value: Term) -> Term:
        """Return `-value`."""
        from polyopt.ir.expr import Symbol

        hole = Symbol("", value.dtype)
        return self.made(Unary(UnaryOp.NEG, hole, value.dtype), (value,))  # type: ignore[no-any-return]

    def joined(self, op: BinaryOp, dtype: DType, left: Value, right: Value) -> Value:
        """Return `left op right`."""
        from polyopt.ir.expr import Symbol

        if not isinstance(left, Term) and not isinstance(right, Term):
            return Terms.joined(self, op, dtype, left, right)
        hole = Symbol("", dtype)
        return self.made(Binary(op, hole, hole, dtype), (left, right))  # type: ignore[no-any-return]

    def neutral_in(self, op: BinaryOp, args: tuple[Value, ...]) -> bool:
        """Tell whether one of `args` is a neutral element that has to disappear: none has."""
        return False

    def code(self, value: Value, dtype: DType) -> int:
        """Return the fingerprint of a value of `dtype`."""
        if isinstance(value, Term):
            return value.code
        if dtype.is_integer or dtype is DType.BOOL:
            return self.algebra.constant(
                int(value) & MASK & (2 ** bits(dtype.numpy) - 1), dtype.numpy
            )
        return self.algebra.constant(value, dtype.numpy)


def _name(expr: Expr) -> str:
    match expr:
        case Unary():
            return _UNARY[expr.op]
        case Binary():
            return "/" if expr.op is BinaryOp.RATIO else expr.op.value
        case Call():
            return expr.func.value
        case Compare():
            return expr.op.value
        case Select():
            return "choice"
        case _:
            return type(expr).__name__
