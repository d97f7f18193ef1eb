"""Convert index expressions of the loop AST to isl functions, and conditions to isl sets.

In: INT64 and BOOL `Expr` over iterators, sizes and locals.  Out: isl values over a `Frame`.
Refuses (`NotAffine`): products of two variables, elements of arrays, unknown names.
Independent of `polyopt.ir.affine`, which the scheduler uses.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, lru_cache
from typing import Any

import islpy as isl

from polyopt.dataclass import dataclass, replace
from polyopt.ir.expr import (
    Binary,
    BinaryOp,
    Compare,
    CompareOp,
    Const,
    Expr,
    Iter,
    Param,
    Select,
    Symbol,
    Unary,
    UnaryOp,
)
from polyopt.ir.integers import MIRRORED
from polyopt.ir.showing import show
from polyopt.ir.types import DType

_IN, _OUT, _SET, _PARAM = (
    isl.dim_type.in_,
    isl.dim_type.out,
    isl.dim_type.set,
    isl.dim_type.param,
)


class NotAffine(Exception):
    """An expression is not a quasi-affine function of the frame's names."""

    def __init__(self, part: Expr) -> None:
        super().__init__(show(part))
        self.part = part


@lru_cache(maxsize=64)
def _sizes(params: tuple[str, ...]) -> isl.Space:
    """Return `[params] -> { : }`, memoized since isl compares each new name with all others."""
    space = isl.Space.params_alloc(isl.DEFAULT_CONTEXT, len(params))
    for position, name in enumerate(params):
        space = space.set_dim_name(_PARAM, position, name)
    return space


@dataclass(frozen=True)
class Frame:
    """Names in scope: sizes and other fixed values (`params`), iterators (`dims`)."""

    params: tuple[str, ...]
    dims: tuple[str, ...] = ()

    @cached_property
    def space(self) -> isl.Space:
        """`[params] -> { [dims] }`."""
        space = _sizes(self.params).add_unnamed_tuple_ui(len(self.dims))
        for position, name in enumerate(self.dims):
            space = space.set_dim_name(_SET, position, name)
        return space

    @cached_property
    def _local(self) -> isl.LocalSpace:
        return isl.LocalSpace.from_space(self.space)

    @cached_property
    def _places(self) -> dict[str, tuple[isl.dim_type, int]]:
        found = {name: (_PARAM, n) for n, name in enumerate(self.params)}
        found.update({name: (_SET, n) for n, name in enumerate(self.dims)})
        return found

    def inside(self, name: str) -> Frame:
        """Return the frame within a loop over `name`."""
        return Frame(self.params, (*self.dims, name))

    @cached_property
    def universe(self) -> isl.Set:
        """The set of all points."""
        return isl.Set.universe(self.space)

    def constant(self, value: int) -> isl.Aff:
        """Return a constant function."""
        return isl.Aff.zero_on_domain(self._local).set_constant_val(isl.Val(value))

    def variable(self, expr: Iter | Param | Symbol) -> isl.Aff:
        """Return the function that is the value of a name; raises `NotAffine`."""
        place = self._places.get(expr.name)
        if place is None:
            raise NotAffine(expr)
        return isl.Aff.var_on_domain(self._local, *place)

    def aff(self, expr: Expr) -> isl.Aff:
        """Return `expr` without minima, maxima and choices as one function."""
        match expr:
            case Const(value=bool() | int()):
                return self.constant(int(expr.value.real))
            case Iter() | Param() | Symbol(lanes=1, dtype=DType.INT64):
                return self.variable(expr)
            case Unary() | Binary() if expr.dtype is not DType.INT64:
                raise NotAffine(expr)  # it wraps elsewhere, or is no whole number
            case Unary(op=UnaryOp.NEG):
                return self.aff(expr.operand).neg()
            case Binary(op=BinaryOp.ADD):
                return self.aff(expr.left).add(self.aff(expr.right))
            case Binary(op=BinaryOp.SUB):
                return self.aff(expr.left).sub(self.aff(expr.right))
            case Binary(op=BinaryOp.MUL):
                left, right = self.aff(expr.left), self.aff(expr.right)
                if left.is_cst() or right.is_cst():
                    return left.mul(right)
                raise NotAffine(expr)
            case Binary(op=BinaryOp.FLOORDIV | BinaryOp.MOD):
                return self._division(expr)
            case _:
                raise NotAffine(expr)

    def _division(self, expr: Binary) -> isl.Aff:
        left, right = self.aff(expr.left), self.aff(expr.right)
        if not right.is_cst():
            raise NotAffine(expr)
        by = int(right.get_constant_val().to_python())
        if by == 0:
            raise NotAffine(expr)
        # Python's: the quotient is rounded down whatever the signs
        dividend = left if by > 0 else left.neg()
        quotient = dividend.scale_down_val(isl.Val(abs(by))).floor()
        if expr.op is BinaryOp.FLOORDIV:
            return quotient
        return left.sub(quotient.scale_val(isl.Val(by)))

    def pw(self, expr: Expr) -> isl.PwAff:
        """Return `expr` as a piecewise function; raises `NotAffine`."""
        try:
            return isl.PwAff.from_aff(self.aff(expr))
        except NotAffine:
            pass
        match expr:
            case Unary() | Binary() if expr.dtype is not DType.INT64:
                raise NotAffine(expr)
            case Binary(op=BinaryOp.FLOORDIV | BinaryOp.MOD):
                return self._pw_division(expr)
            case Binary():
                return self._pw_binary(expr)
            case Unary(op=UnaryOp.NEG):
                return self.pw(expr.operand).neg()
            case Unary(op=UnaryOp.ABS):
                value = self.pw(expr.operand)
                return value.max(value.neg())
            case Select():
                where = self.condition(expr.condition)
                then = self.pw(expr.then).intersect_domain(where)
                return then.union_add(self.pw(expr.otherwise).intersect_domain(where.complement()))
            case _:
                raise NotAffine(expr)

    def _pw_binary(self, expr: Binary) -> isl.PwAff:
        if expr.op not in _PW_BINARY:
            raise NotAffine(expr)
        left, right = self.pw(expr.left), self.pw(expr.right)
        if expr.op is BinaryOp.MUL and not (left.is_cst() or right.is_cst()):
            raise NotAffine(expr)
        return _PW_BINARY[expr.op](left, right)

    def _pw_division(self, expr: Binary) -> isl.PwAff:
        by = self.aff(expr.right)
        if not by.is_cst() or by.get_constant_val().is_zero():
            raise NotAffine(expr)
        value = int(by.get_constant_val().to_python())
        left = self.pw(expr.left)
        dividend = left if value > 0 else left.neg()
        quotient = dividend.scale_down_val(isl.Val(abs(value))).floor()
        if expr.op is BinaryOp.FLOORDIV:
            return quotient
        return left.sub(quotient.scale_val(isl.Val(value)))

    def condition(self, expr: Expr) -> isl.Set:
        """Return where the BOOL `expr` holds; raises `NotAffine`."""
        match expr:
            case Const():
                return self.universe if expr.value else self.universe.complement()
            case Unary(op=UnaryOp.INVERT):
                return self.condition(expr.operand).complement()
            case Binary(op=BinaryOp.AND):
                return self.condition(expr.left).intersect(self.condition(expr.right))
            case Binary(op=BinaryOp.OR):
                return self.condition(expr.left).union(self.condition(expr.right))
            case Binary(op=BinaryOp.XOR):
                one, two = self.condition(expr.left), self.condition(expr.right)
                return one.subtract(two).union(two.subtract(one))
            case Compare():
                return self._compare(expr)
            case _:
                raise NotAffine(expr)

    def _compare(self, expr: Compare) -> isl.Set:
        for plain in (self._undivided, self._in_parts):
            found = plain(expr)
            if found is not None:
                return found
        try:
            return _SETS[expr.op](self.aff(expr.left), self.aff(expr.right))
        except NotAffine:
            return _SETS[expr.op](self.pw(expr.left), self.pw(expr.right))

    def _undivided(self, expr: Compare) -> isl.Set | None:
        """Return the set of an inequality with one quotient, without the quotient, if it is one.

        `floor(e / d) >= m` is `e >= d * m` for integers and `d > 0` (Graham, Knuth, Patashnik,
        "Concrete Mathematics", 1994, section 3.2).  Bounds of tiles have this form; isl takes long
        for many quotients at once.
        """
        terms = [*_terms(expr.left, 1), *_terms(expr.right, -1)]
        quotients = [(sign, term) for sign, term in terms if _is_quotient(term)]
        if len(quotients) != 1 or expr.op in _EQUALITIES:
            return None
        ((sign, quotient),) = quotients
        assert isinstance(quotient, Binary)
        assert isinstance(quotient.right, Const)
        rest = self.constant(0)
        try:
            for factor, term in terms:
                if term is not quotient:
                    value = self.aff(term)
                    rest = rest.add(value) if factor > 0 else rest.sub(value)
            dividend = self.aff(quotient.left)
        except NotAffine:
            return None
        op = expr.op
        if sign < 0:
            op, rest = MIRRORED[op], rest.neg()
        # floor(dividend / by) + rest `op` 0
        if op in (CompareOp.GT, CompareOp.LE):
            rest = rest.sub(self.constant(1))
        by = isl.Val(int(quotient.right.value.real))
        scaled, zero = dividend.add(rest.scale_val(by)), self.constant(0)
        is_above = op in (CompareOp.GE, CompareOp.GT)
        return scaled.ge_set(zero) if is_above else scaled.lt_set(zero)

    def _in_parts(self, expr: Compare) -> isl.Set | None:
        """Return the set of an inequality of minima and maxima from several plain ones, or None.

        No minimum is less than a maximum if no operand of one is less than an operand of the other;
        sums, quotients and multiples of them are minima and maxima of sums, quotients, multiples.
        """
        if expr.op in _EQUALITIES:
            return None
        is_above = expr.op in (CompareOp.GE, CompareOp.GT)
        left = _operands_of(expr.left, not is_above)
        right = _operands_of(expr.right, is_above)
        if left is None or right is None or not 1 < len(left) * len(right) <= _MOST:
            return None
        result = self.universe
        for one in left:
            for two in right:
                result = result.intersect(self._compare(Compare(expr.op, one, two)))
        return result

    def at_least(self, name: str, bound: Expr) -> isl.Set:
        """Return where iterator `name` is not below `bound`; maxima become conditions."""
        if isinstance(bound, Binary) and bound.op is BinaryOp.MAX:
            return self.at_least(name, bound.left).intersect(self.at_least(name, bound.right))
        return self._compare(Compare(CompareOp.GE, Iter(name), bound))

    def below(self, name: str, bound: Expr) -> isl.Set:
        """Return where iterator `name` is below `bound`; minima become conditions."""
        if isinstance(bound, Binary) and bound.op is BinaryOp.MIN:
            return self.below(name, bound.left).intersect(self.below(name, bound.right))
        return self._compare(Compare(CompareOp.LT, Iter(name), bound))

    def stepped(self, name: str, lower: Expr, step: int) -> isl.Set:
        """Return where iterator `name` is `lower` plus a multiple of `step`."""
        distance = self.pw(Iter(name)).sub(self.pw(lower))
        rest = distance.mod_val(isl.Val(step))
        return rest.eq_set(isl.PwAff.from_aff(self.constant(0)))

    def map_to(self, name: str, index: Sequence[Expr]) -> isl.Map:
        """Return `{ [dims] -> name[index] }`; raises `NotAffine`."""
        line = isl.Space.set_alloc(isl.DEFAULT_CONTEXT, 0, len(index)).align_params(self.space)
        whole = self.space.map_from_domain_and_range(line)
        try:
            values = isl.AffList.alloc(isl.DEFAULT_CONTEXT, len(index))
            for part in index:
                values = values.add(self.aff(part))
            result = isl.Map.from_multi_aff(isl.MultiAff.from_aff_list(whole, values))
        except NotAffine:
            pieces = isl.PwAffList.alloc(isl.DEFAULT_CONTEXT, len(index))
            for part in index:
                pieces = pieces.add(self.pw(part))
            result = isl.Map.from_multi_pw_aff(isl.MultiPwAff.from_pw_aff_list(whole, pieces))
        return result.set_tuple_name(_OUT, name)


_MOST = 100
"""Plain inequalities that one with minima and maxima may be taken apart into."""


def _operands_of(expr: Expr, is_most: bool) -> list[Expr] | None:
    """Return the operands whose maximum, or minimum, `expr` is; None if it is neither or long."""
    if expr.dtype is not DType.INT64:
        return None
    match expr:
        case Binary(op=BinaryOp.MAX | BinaryOp.MIN):
            if (expr.op is BinaryOp.MAX) is not is_most:
                return None
            left, right = _operands_of(expr.left, is_most), _operands_of(expr.right, is_most)
            return None if left is None or right is None else [*left, *right]
        case Binary(op=BinaryOp.ADD | BinaryOp.SUB):
            is_plus = expr.op is BinaryOp.ADD
            left = _operands_of(expr.left, is_most)
            right = _operands_of(expr.right, is_most is is_plus)
            if left is None or right is None or len(left) * len(right) > _MOST:
                return None
            return [replace(expr, left=one, right=two) for one in left for two in right]
        case Unary(op=UnaryOp.NEG):
            values = _operands_of(expr.operand, not is_most)
            return None if values is None else [replace(expr, operand=one) for one in values]
        case Binary(op=BinaryOp.MUL, left=Const(value=int(factor))):
            values = _operands_of(expr.right, is_most is (factor >= 0))
            return None if values is None else [replace(expr, right=one) for one in values]
        case Binary(op=BinaryOp.MUL, right=Const(value=int(factor))):
            values = _operands_of(expr.left, is_most is (factor >= 0))
            return None if values is None else [replace(expr, left=one) for one in values]
        case Binary(op=BinaryOp.FLOORDIV, right=Const(value=int(by))) if by != 0:
            values = _operands_of(expr.left, is_most is (by > 0))
            return None if values is None else [replace(expr, left=one) for one in values]
        case _:
            return [expr]


def _terms(expr: Expr, sign: int) -> list[tuple[int, Expr]]:
    """Return the terms of a sum, each with its sign."""
    if expr.dtype is DType.INT64:
        match expr:
            case Binary(op=BinaryOp.ADD):
                return [*_terms(expr.left, sign), *_terms(expr.right, sign)]
            case Binary(op=BinaryOp.SUB):
                return [*_terms(expr.left, sign), *_terms(expr.right, -sign)]
            case Unary(op=UnaryOp.NEG):
                return _terms(expr.operand, -sign)
            case _:
                pass
    return [(sign, expr)]


def _is_quotient(expr: Expr) -> bool:
    match expr:
        case Binary(op=BinaryOp.FLOORDIV, dtype=DType.INT64, right=Const(value=int(by))):
            return by > 0
        case _:
            return False


_EQUALITIES = (CompareOp.EQ, CompareOp.NE)
_PW_BINARY: dict[BinaryOp, Callable[[isl.PwAff, isl.PwAff], isl.PwAff]] = {
    BinaryOp.MIN: lambda a, b: a.min(b),
    BinaryOp.MAX: lambda a, b: a.max(b),
    BinaryOp.ADD: lambda a, b: a.add(b),
    BinaryOp.SUB: lambda a, b: a.sub(b),
    BinaryOp.MUL: lambda a, b: a.mul(b),
}
_SETS: dict[CompareOp, Callable[[Any, Any], isl.Set]] = {
    CompareOp.LT: lambda a, b: a.lt_set(b),
    CompareOp.LE: lambda a, b: a.le_set(b),
    CompareOp.GT: lambda a, b: a.gt_set(b),
    CompareOp.GE: lambda a, b: a.ge_set(b),
    CompareOp.EQ: lambda a, b: a.eq_set(b),
    CompareOp.NE: lambda a, b: a.ne_set(b),
}
