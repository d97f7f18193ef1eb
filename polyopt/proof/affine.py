"""Index expressions of the loop AST as isl functions and conditions as isl sets.

In: INT64 and BOOL `Expr` over iterators, sizes and locals.  Out: isl values over a `Frame`.
Refuses (`NotAffine`): products of two variables, elements of arrays, unknown names.
Written apart from `polyopt.ir.affine`, on which the scheduler stands.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import islpy as isl

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
    show,
)
from polyopt.ir.types import DType

_IN, _OUT, _SET, _PARAM = (
    isl.dim_type.in_,
    isl.dim_type.out,
    isl.dim_type.set,
    isl.dim_type.param,
)


class NotAffine(Exception):
    """An expression is no quasi-affine function of the frame's names."""

    def __init__(self, part: Expr) -> None:
        super().__init__(show(part))
        self.part = part


@dataclass(frozen=True)
class Frame:
    """Names in scope: sizes and whatever is fixed outside (`params`), iterators (`dims`)."""

    params: tuple[str, ...]
    dims: tuple[str, ...] = ()

    @cached_property
    def space(self) -> isl.Space:
        """`[params] -> { [dims] }`."""
        space = isl.Space.create_from_names(
            isl.DEFAULT_CONTEXT, set=list(self.dims), params=list(self.params)
        )
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
        """Every point."""
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
        try:
            return _SIDES[expr.op](self.aff(expr.left), self.aff(expr.right))
        except NotAffine:
            return _PIECES[expr.op](self.pw(expr.left), self.pw(expr.right))

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
        result = isl.Map.from_domain(self.universe)
        for part in index:
            result = result.flat_range_product(isl.Map.from_pw_aff(self.pw(part)))
        return result.set_tuple_name(_OUT, name)


_PW_BINARY: dict[BinaryOp, Callable[[isl.PwAff, isl.PwAff], isl.PwAff]] = {
    BinaryOp.MIN: lambda a, b: a.min(b),
    BinaryOp.MAX: lambda a, b: a.max(b),
    BinaryOp.ADD: lambda a, b: a.add(b),
    BinaryOp.SUB: lambda a, b: a.sub(b),
    BinaryOp.MUL: lambda a, b: a.mul(b),
}
_SIDES: dict[CompareOp, Callable[[isl.Aff, isl.Aff], isl.Set]] = {
    CompareOp.LT: lambda a, b: a.lt_set(b),
    CompareOp.LE: lambda a, b: a.le_set(b),
    CompareOp.GT: lambda a, b: a.gt_set(b),
    CompareOp.GE: lambda a, b: a.ge_set(b),
    CompareOp.EQ: lambda a, b: a.eq_set(b),
    CompareOp.NE: lambda a, b: a.ne_set(b),
}
_PIECES: dict[CompareOp, Callable[[isl.PwAff, isl.PwAff], isl.Set]] = {
    CompareOp.LT: lambda a, b: a.lt_set(b),
    CompareOp.LE: lambda a, b: a.le_set(b),
    CompareOp.GT: lambda a, b: a.gt_set(b),
    CompareOp.GE: lambda a, b: a.ge_set(b),
    CompareOp.EQ: lambda a, b: a.eq_set(b),
    CompareOp.NE: lambda a, b: a.ne_set(b),
}
