"""Bound integer expressions from below, so that floor division may print as plain division.

In: what is known of sizes and iterators.  Out: a constant below every value, or None (unknown).
The trip count of a loop, bounded by a constant; which rows are long.
"""

from __future__ import annotations

from collections.abc import Mapping

from polyopt.dataclass import dataclass, field, replace
from polyopt.emit.helpers.memory import LINE
from polyopt.emit.regions import is_settled
from polyopt.ir.expr import (
    Binary,
    BinaryOp,
    Compare,
    CompareOp,
    Const,
    Expr,
    Iter,
    Param,
    Unary,
    UnaryOp,
    add,
    integer,
    mul,
    operands,
    sub,
)
from polyopt.ir.linear import Linear, from_linear, linear, normalize
from polyopt.ir.loops import Assign, For
from polyopt.ir.nodes import all_nodes
from polyopt.ir.types import DType

_Terms = frozenset[tuple[Expr, int]]


@dataclass(frozen=True, slots=True)
class Ranges:
    """Known least values: `params` of sizes, `lower` and `upper` of the enclosing iterators.

    `below` gives expressions that an iterator is less than, `above` those that it is at least.
    `sums` are the least values of sums of sizes, by their terms: of `n - k` where `n >= k`.
    """

    params: Mapping[str, int] = field(default_factory=dict)
    lower: Mapping[str, int] = field(default_factory=dict)
    upper: Mapping[str, int] = field(default_factory=dict)
    below: Mapping[str, tuple[Expr, ...]] = field(default_factory=dict)
    above: Mapping[str, tuple[Expr, ...]] = field(default_factory=dict)
    sums: Mapping[_Terms, int] = field(default_factory=dict)

    def inside(self, loop: For) -> Ranges:
        """Return what is known inside `loop`'s body."""
        least = self.least(loop.lower)
        most = self.most(loop.upper)
        lower = {name: v for name, v in self.lower.items() if name != loop.iter}
        upper = {name: v for name, v in self.upper.items() if name != loop.iter}
        if least is not None:
            lower[loop.iter] = least
        if most is not None:
            upper[loop.iter] = most - 1
        arms = tuple(
            arm for arm in operands(loop.upper, BinaryOp.MIN) if is_settled(arm, loop.body)
        )
        below = {**self.below, loop.iter: arms}
        starts = operands(loop.lower, BinaryOp.MAX)
        arms = tuple(arm for arm in starts if is_settled(arm, loop.body))
        above = {**self.above, loop.iter: arms}
        return replace(self, lower=lower, upper=upper, below=below, above=above)

    def where(self, condition: Expr) -> Ranges:
        """Return what is known where `condition` holds: more of sizes and iterators."""
        match condition:
            case Binary(op=BinaryOp.AND):
                return self.where(condition.left).where(condition.right)
            case Compare(op=CompareOp.GE, left=larger, right=smaller):
                return self._where_at_least(sub(larger, smaller), 0)
            case Compare(op=CompareOp.GT, left=larger, right=smaller):
                return self._where_at_least(sub(larger, smaller), 1)
            case Compare(op=CompareOp.LE, left=smaller, right=larger):
                return self._where_at_least(sub(larger, smaller), 0)
            case Compare(op=CompareOp.LT, left=smaller, right=larger):
                return self._where_at_least(sub(larger, smaller), 1)
            case _:
                return self

    def _where_at_least(self, value: Expr, limit: int) -> Ranges:
        """Return what is known where `value >= limit`, an INT64 expression."""
        if value.dtype is not DType.INT64:
            return self
        total, least = linear(value), self.least(value)
        found = self
        if (least is None or least < limit) and all(isinstance(p, Param) for p, _ in total.terms):
            known = {frozenset(total.terms): limit - total.constant}
            found = replace(self, sums={**self.sums, **known})
        for atom, factor in total.terms:
            rest = None if factor != 1 else self.most(sub(value, atom))
            if rest is None:
                continue
            match atom:
                case Binary(op=BinaryOp.MOD, left=whole, right=Const()) if self.is_nonnegative(
                    whole
                ):
                    found = found._raised(whole, limit - rest)  # a remainder is no larger
                case _:
                    found = found._raised(atom, limit - rest)
        return found

    def _raised(self, atom: Expr, least: int) -> Ranges:
        """Return what is known where `atom`, if it is a size or an iterator, is >= `least`."""
        known = self.least(atom)
        if known is not None and known >= least:
            return self
        match atom:
            case Param(name=name):
                return replace(self, params={**self.params, name: least})
            case Iter(name=name):
                return replace(self, lower={**self.lower, name: least})
            case _:
                return self

    def least(self, expr: Expr) -> int | None:
        """Return a constant that is <= every value of `expr`, or None."""
        return self._bound(expr, least=True)

    def most(self, expr: Expr) -> int | None:
        """Return a constant that is >= every value of `expr`, or None."""
        return self._bound(expr, least=False)

    def _bound(self, expr: Expr, *, least: bool) -> int | None:
        match expr:
            case Const(value=int(value)):
                return value
            case Param(name=name):
                return self.params.get(name) if least else None
            case Iter(name=name):
                return (self.lower if least else self.upper).get(name)
            case Binary(op=BinaryOp.MIN | BinaryOp.MAX):
                return self._extreme(expr, least=least)
            case Binary(op=BinaryOp.FLOORDIV, right=Const(value=int(by))) if by > 0:
                whole = self._bound(expr.left, least=least)
                return None if whole is None else whole // by
            case Binary(op=BinaryOp.MOD, right=Const(value=int(by))) if by > 0:
                return 0 if least else by - 1
            case (
                Unary(op=UnaryOp.NEG)
                | Binary(op=BinaryOp.ADD | BinaryOp.SUB)
                | Binary(op=BinaryOp.MUL, right=Const())
                | Binary(op=BinaryOp.MUL, left=Const())
            ):
                return self._sum(expr, least=least)
            case Binary(op=BinaryOp.MUL | BinaryOp.XOR) if least:
                signs = (self.is_nonnegative(expr.left), self.is_nonnegative(expr.right))
                return 0 if all(signs) else None
            case Binary(op=BinaryOp.XOR):
                bits = self._bits(expr)
                return None if bits is None else (1 << bits) - 1
            case _:
                return None

    def _extreme(self, expr: Binary, *, least: bool) -> int | None:
        """Bound a minimum or a maximum: by both operands on one side, by either on the other."""
        pick = min if expr.op is BinaryOp.MIN else max
        parts = [self._bound(part, least=least) for part in (expr.left, expr.right)]
        known = [part for part in parts if part is not None]
        enough = 2 if (pick is min) == least else 1
        return pick(known) if len(known) >= enough else None

    def _bits(self, expr: Binary) -> int | None:
        """Return how many bits the operands have at most; None where one may be negative."""
        bits = 0
        for part in (expr.left, expr.right):
            least, most = self.least(part), self.most(part)
            if least is None or least < 0 or most is None:
                return None
            bits = max(bits, most.bit_length())
        return bits

    def is_nonnegative(self, expr: Expr) -> bool:
        """Tell whether `expr` is known to be >= 0."""
        least = self.least(expr)
        return least is not None and least >= 0

    def is_less(self, left: Expr, right: Expr) -> bool:
        """Tell whether `left < right` is known, from constants or from the loops around."""
        return all(self._is_less(left, arm) for arm in operands(right, BinaryOp.MIN))

    def _is_less(self, left: Expr, right: Expr) -> bool:
        gap = sub(right, left)
        least = self.least(gap)
        if least is not None and least > 0:
            return True
        for atom, factor in linear(left).terms:
            if isinstance(atom, Iter) and factor > 0:
                room = add(gap, mul(integer(factor), atom))  # what is left where `atom` is 0
                for limit in self.below.get(atom.name, ()):
                    least = self.least(sub(room, _reach(limit, factor)))
                    if least is not None and least > 0:
                        return True
        return False

    def remainder(self, expr: Expr, by: int) -> Expr | None:
        """Return `expr % by` as a difference, where the loop of an iterator starts at it.

        A loop from `8*t` to `8*t + 4` has the remainders `i - 8*t` by 8.
        """
        for atom, factor in linear(expr).terms:
            if not isinstance(atom, Iter) or factor != 1:
                continue
            rest = sub(expr, atom)
            for start in self.above.get(atom.name, ()):
                whole = Linear(0, tuple((a, c) for a, c in linear(start).terms if c % by == 0))
                left = normalize(sub(rest, from_linear(whole)))
                least = self.least(add(start, left))
                ends = self.below.get(atom.name, ())
                most = [self.most(sub(add(end, left), integer(1))) for end in ends]
                if least is None:
                    continue
                multiple = least // by * by
                if any(end is not None and end < multiple + by for end in most):
                    return normalize(sub(add(atom, left), integer(multiple)))
        return None

    def _sum(self, expr: Expr, *, least: bool) -> int | None:
        value = linear(expr)
        total = value.constant
        known = self.sums.get(frozenset(value.terms)) if least else None
        if known is not None:
            return total + known
        for atom, factor in value.terms:
            if atom == expr:
                return None
            bound = self.least(atom) if (factor > 0) == least else self.most(atom)
            if bound is None:
                return None
            total += factor * bound
        return total


def _reach(limit: Expr, factor: int) -> Expr:
    """Return an expression that is >= `factor` times any integer less than `limit`.

    Of a multiple of a quotient's divisor the quotient's dividend is one.
    """
    value = linear(limit)
    last = value.constant - 1
    match value.terms:
        case ((Binary(op=BinaryOp.FLOORDIV, left=dividend, right=Const(value=int(by))), 1),) if (
            by > 0 and factor % by == 0
        ):
            return add(mul(integer(factor // by), dividend), integer(factor * last))
        case _:
            return mul(integer(factor), sub(limit, integer(1)))


LONG = 16
"""Vectors from which on a row begins at an aligned address: in shorter ones its ends cost more."""

LONG_STREAM = 2048
"""Bytes from which on a row is stored past the caches, where a vector is a part of a line.

The lines at the row's ends are stored in part by ordinary stores: a line that gets both is written
to memory twice.  Where a vector fills a line, half of the usual length is enough.
"""


@dataclass(frozen=True, slots=True)
class Extent:
    """Iterators are at least `origin` and less than `origin + size`."""

    origin: Expr
    size: int


def extent_of(loop: For) -> Extent | None:
    """Return the smallest extent that one pair of the loop's bounds gives."""
    best: Extent | None = None
    for low in operands(loop.lower, BinaryOp.MAX):
        for high in operands(loop.upper, BinaryOp.MIN):
            distance = linear(sub(high, low))
            if not distance.terms and (best is None or distance.constant < best.size):
                best = Extent(low, distance.constant)
    return best if best is not None and best.size > 0 else None


def long_row(loop: For) -> int:
    """Return from how many iterations on the loop begins at an aligned address."""
    return streamed_row(loop) if loop.streams else LONG * loop.lanes


def streamed_row(loop: For) -> int:
    """Return from how many iterations on it pays that the loop stores past the caches."""
    stores = [node for node in all_nodes(loop.body) if isinstance(node, Assign)]
    size = min(store.target.dtype.size for store in stores)
    return LONG // 2 * loop.lanes if loop.lanes * size >= LINE else LONG_STREAM // size
