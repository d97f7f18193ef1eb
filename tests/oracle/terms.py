"""Symbolic values: hash-consed terms over the elements a kernel is given.

Sizes, iterators and what is computed of them are plain `int` and `bool`; everything else is a
`Term`.  Two computations are equal when they end in the same term.  Normal form: `a - b` is
`a + (-b)`, sums and products commute, 64-bit integers form a ring, and what `Terms.joined` joins
is a multiset.  `Terms.known` gives a term's number, for control that depends on data.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, TypeAlias

import numpy as np

from polyopt.ir.evaluate import Frame, compile_expr
from polyopt.ir.expr import Binary, BinaryOp, Expr, Symbol, Unary, UnaryOp, children, with_children
from polyopt.ir.types import DType, Kind

Number: TypeAlias = Any  # a NumPy scalar
Rule: TypeAlias = Callable[[list[Number]], Number]

_MASK = 2**64 - 1
_IDEMPOTENT = (BinaryOp.MIN, BinaryOp.MAX, BinaryOp.AND, BinaryOp.OR)
JOINING = (*_IDEMPOTENT, BinaryOp.ADD, BinaryOp.MUL, BinaryOp.XOR)
"""Operators whose operands may be regrouped."""


class Term:
    """A value that depends on data.  `code` is its fingerprint, `parts` are what it is made of.

    `bag` is set of a term that joins a multiset.
    """

    __slots__ = ("bag", "code", "dtype", "name", "number", "parts", "rule")

    def __init__(
        self,
        code: int,
        dtype: DType,
        name: str,
        parts: tuple[Value, ...],
        rule: Rule | None,
        number: Number = None,
        bag: Bag | None = None,
    ) -> None:
        self.code, self.dtype, self.name, self.parts = code, dtype, name, parts
        self.rule, self.number, self.bag = rule, number, bag

    def __repr__(self) -> str:
        return show_value(self)


Value: TypeAlias = int | Term  # `bool` is an `int`


def code_of(value: Value) -> int:
    """Return the fingerprint of a value; equal values have equal ones."""
    return value.code if isinstance(value, Term) else value & _MASK


def show_value(value: Value, depth: int = 4) -> str:
    """Return a value for people, cut at `depth`."""
    if not isinstance(value, Term):
        return str(value)
    if not value.parts:
        return value.name
    if depth == 0:
        return "…"
    return f"{value.name}({', '.join(show_value(part, depth - 1) for part in value.parts)})"


def _scattered(*parts: object) -> int:
    digest = blake2b(repr(parts).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") | 1


@dataclass(slots=True, eq=False)
class Terms:
    """The terms of one comparison; both sides must make theirs here."""

    table: dict[Any, Term] = field(default_factory=dict)
    thunks: dict[Any, Rule] = field(default_factory=dict)
    tainted: list[str] = field(default_factory=list)
    atoms: dict[int, Term] = field(default_factory=dict)  # of polynomials, by fingerprint
    sums: dict[int, Any] = field(default_factory=dict)  # the polynomials themselves

    def leaf(self, name: str, dtype: DType, number: Number) -> Term:
        """Return the term of something given: an element, an argument, a literal."""
        key = (name, dtype)
        found = self.table.get(key)
        if found is None:
            code = _scattered(name, dtype.value)
            found = self.table[key] = Term(code, dtype, name, (), None, number)
        return found

    def literal(self, value: complex, dtype: DType) -> Value:
        """Return a constant."""
        if dtype.is_integer or dtype is DType.BOOL:
            return int(value.real) if dtype.is_integer else bool(value)
        number = dtype.numpy.type(value)
        return self.leaf(f"{number!r}", dtype, number)

    def undefined(self, dtype: DType) -> Term:
        """Return the contents of storage that nothing was written to."""
        match dtype.kind:
            case Kind.FLOAT | Kind.COMPLEX:
                return self.leaf("undefined", dtype, dtype.numpy.type(np.nan))
            case _:
                return self.leaf("undefined", dtype, dtype.numpy.type(90))

    def nothing(self, op: BinaryOp, dtype: DType) -> Term:
        """Return the neutral element of `op`, which disappears in `joined`."""
        return self.leaf(f"neutral {op.value}", dtype, _identity(op, dtype))

    def made(self, expr: Expr, args: tuple[Value, ...]) -> Term:
        """Return `expr`'s operation on `args`, which has no simpler form."""
        kind = getattr(expr, "op", None) or getattr(expr, "func", None) or type(expr).__name__
        key = (kind, expr.dtype, *map(code_of, args))
        found = self.table.get(key)
        if found is None:
            name = kind if isinstance(kind, str) else kind.value
            rule = self._rule(expr)
            found = self.table[key] = Term(hash(key) & _MASK, expr.dtype, str(name), args, rule)
            if any(isinstance(arg, Term) and arg.name == "undefined" for arg in args):
                self.tainted.append(repr(found))
        return found

    def _rule(self, expr: Expr) -> Rule:
        """Return the function from operands' numbers to the number of `expr`'s operation."""
        operands = children(expr)
        kind = getattr(expr, "op", None) or getattr(expr, "func", None) or type(expr).__name__
        key = (kind, expr.dtype, *(operand.dtype for operand in operands))
        found = self.thunks.get(key)
        if found is None:
            names = [f"operand {n}" for n in range(len(operands))]
            holes = tuple(Symbol(n, o.dtype) for n, o in zip(names, operands, strict=True))
            thunk = compile_expr(with_children(expr, holes))

            def found(numbers: list[Number]) -> Number:
                return thunk(Frame({}, {}, dict(zip(names, numbers, strict=True))))

            self.thunks[key] = found
        return found

    def ring(self, expr: Expr, code: int, args: tuple[Value, ...]) -> Value:
        """Return the 64-bit integer with fingerprint `code`, made by `expr` of `args`."""
        key = ("ring", expr.dtype, code)
        found = self.table.get(key)
        if found is None:
            name = expr.op.value if isinstance(expr, Binary | Unary) else "ring"
            found = Term(code, expr.dtype, name, args, self._rule(expr))
            self.table[key] = found
        return found

    def negated(self, value: Term) -> Term:
        """Return `-value` of a float."""
        if value.name == "neg":
            (inner,) = value.parts
            assert isinstance(inner, Term)
            return inner
        key = ("neg", value.dtype, value.code)
        found = self.table.get(key)
        if found is None:
            rule = self._rule(Unary(UnaryOp.NEG, _hole(value.dtype), value.dtype))
            found = Term(hash(key) & _MASK, value.dtype, "neg", (value,), rule)
            self.table[key] = found
        return found

    def joined(self, op: BinaryOp, dtype: DType, left: Value, right: Value) -> Value:
        """Return `left op right` where the order of the operands is open."""
        members = tuple(v for v in (left, right) if not _is_neutral(op, dtype, v))
        if len(members) < 2:
            return members[0] if members else left
        if not isinstance(left, Term) and not isinstance(right, Term):
            return wrapped(PURE[op](left, right), dtype)
        binary = Binary(op, _hole(dtype), _hole(dtype), dtype)
        if dtype in WIDE and op in RING:
            code = RING[op](code_of(left), code_of(right)) & _MASK
            return self.ring(binary, code, members)
        bags = [_bag(op, member) for member in members]
        codes: frozenset[int] | int
        if op in _IDEMPOTENT:
            codes = frozenset(code for bag in bags for code in bag.codes)
        else:
            codes = sum(bag.weight for bag in bags) & (2**128 - 1)
        pure = [bag.pure for bag in bags if bag.pure is not None]
        rest = wrapped(PURE[op](*pure), dtype) if len(pure) == 2 else pure[0] if pure else None
        if isinstance(codes, frozenset) and rest is None and len(codes) == 1:
            return left
        key = ("bag", op, dtype, codes, rest)
        found = self.table.get(key)
        if found is None:
            code = hash(key) & _MASK
            bag = Bag(op, rest, codes if isinstance(codes, frozenset) else frozenset())
            bag.weight = codes if isinstance(codes, int) else 0
            found = Term(code, dtype, f"all {op.value}", members, self._rule(binary), None, bag)
            self.table[key] = found
        return found

    def neutral_in(self, op: BinaryOp, args: tuple[Value, ...]) -> bool:
        """Tell whether one of `args` is the neutral element of `op`."""
        return any(isinstance(arg, Term) and arg.name == f"neutral {op.value}" for arg in args)

    def known(self, value: Value) -> Number:
        """Return the number of a value; terms below it are computed once, in no recursion."""
        if not isinstance(value, Term):
            return value
        stack = [value]
        while stack:
            top = stack[-1]
            if top.number is not None:
                stack.pop()
                continue
            waiting = [p for p in top.parts if isinstance(p, Term) and p.number is None]
            if waiting:
                stack += waiting
                continue
            if top.rule is None:
                raise ArithmeticError(f"{top.name} has no number")
            numbers = [p.number if isinstance(p, Term) else p for p in top.parts]
            with np.errstate(all="ignore"):
                top.number = top.rule(numbers)
            stack.pop()
        return value.number

    def integer(self, value: Value) -> int:
        """Return a value that is an integer or a truth value."""
        return int(self.known(value)) if isinstance(value, Term) else int(value)


def _hole(dtype: DType) -> Symbol:
    return Symbol("", dtype)


def _is_neutral(op: BinaryOp, dtype: DType, value: Value) -> bool:
    """Tell whether `value` is a literal that `op` leaves out, or its neutral element."""
    number: Number = value
    if isinstance(value, Term):
        if value.name == f"neutral {op.value}":
            return True
        if value.parts or not value.name.startswith("np."):
            return False
        number = value.number
    return bool(number == _identity(op, dtype))


@dataclass(slots=True)
class Bag:
    """What is joined by `op`: a set of fingerprints or their sum, and the numbers among them."""

    op: BinaryOp
    pure: int | None
    codes: frozenset[int]
    weight: int = 0


def _bag(op: BinaryOp, value: Value) -> Bag:
    """Return a value as a bag."""
    if not isinstance(value, Term):
        return Bag(op, value, frozenset())
    if value.bag is not None and value.bag.op is op:
        return value.bag
    weight = (hash((value.code, 1)) & _MASK) << 64 | hash((value.code, 2)) & _MASK
    return Bag(op, None, frozenset((value.code,)), weight)


def wrapped(value: int, dtype: DType) -> int:
    """Return an integer as `dtype` holds it."""
    if dtype is DType.BOOL:
        return bool(value)
    if dtype is DType.INT64 and -(2**63) <= value < 2**63:
        return value
    bits = 8 * dtype.size
    value &= 2**bits - 1
    return value - 2**bits if dtype.kind is Kind.SIGNED and value >= 2 ** (bits - 1) else value


WIDE = (DType.INT64, DType.UINT64)
RING: dict[BinaryOp, Callable[[int, int], int]] = {
    BinaryOp.ADD: lambda a, b: a + b,
    BinaryOp.SUB: lambda a, b: a - b,
    BinaryOp.MUL: lambda a, b: a * b,
}
PURE: dict[BinaryOp, Callable[[int, int], int]] = {
    **RING,
    BinaryOp.FLOORDIV: lambda a, b: a // b,
    BinaryOp.MOD: lambda a, b: a % b,
    BinaryOp.POW: lambda a, b: a**b,
    BinaryOp.MIN: min,
    BinaryOp.MAX: max,
    BinaryOp.AND: lambda a, b: a & b,
    BinaryOp.OR: lambda a, b: a | b,
    BinaryOp.XOR: lambda a, b: a ^ b,
    BinaryOp.SHL: lambda a, b: a << b,
    BinaryOp.SHR: lambda a, b: a >> b,
}


def _identity(op: BinaryOp, dtype: DType) -> Number:
    """Return the number that changes nothing, as OpenMP's private copies start with it."""
    kind = dtype.numpy.type
    match op:
        case BinaryOp.MUL:
            return kind(1)
        case BinaryOp.AND:
            return ~kind(0) if dtype.is_integer else kind(1)
        case BinaryOp.MIN | BinaryOp.MAX if dtype.is_float:
            return kind(np.inf if op is BinaryOp.MIN else -np.inf)
        case BinaryOp.MIN | BinaryOp.MAX if dtype.is_integer:
            limits = np.iinfo(dtype.value)
            return kind(limits.max if op is BinaryOp.MIN else limits.min)
        case _:
            return kind(0)
