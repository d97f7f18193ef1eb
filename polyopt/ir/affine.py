"""isl values built from expressions; the one module that knows islpy's quirks.

In: `Expr` over iterators and parameters.  Out: spaces, sets, maps, piecewise affine functions.
Refuses: an expression that is not quasi-affine (`NotAffine`, which says which part is not).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import lru_cache
from typing import TypeVar

import islpy as isl

from polyopt.ir.budget import exceeds_limit, query
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
    Unary,
    UnaryOp,
    integer,
    operands,
    walk,
)
from polyopt.ir.names import params
from polyopt.ir.parameters import joined, maps_of, param_names, sets_of
from polyopt.ir.showing import show

_Elements = TypeVar("_Elements", isl.Set, isl.Map, isl.UnionSet, isl.UnionMap)


class NotAffine(Exception):
    """An expression is not a quasi-affine function of iterators and parameters."""

    def __init__(self, part: Expr, reason: str) -> None:
        super().__init__(f"{show(part)} {reason}")
        self.part = part
        self.reason = reason


def quota(operations: int) -> AbstractContextManager[None]:
    """Limit isl to `operations` steps inside the block; more raise `BudgetError` PO0701."""
    return query("an isl query", operations)


def coalesced(value: _Elements) -> _Elements:
    """Return the same elements in fewer pieces where isl finds how.

    Its `coalesce` fails on some sets with floors ("original tableau does not correspond …"), and
    then leaves behind what it was given in pieces: it works on a copy that shares no memory.
    """
    match value:
        case isl.Set():
            return _coalesced(value, _apart_set(value))
        case isl.Map():
            return _coalesced(value, _apart_map(value))
        case isl.UnionSet():
            sets = sets_of(value)
            renewed = (isl.UnionSet.from_set(coalesced(part)) for part in sets)
            return joined(value.empty(value.get_space()), renewed)
        case isl.UnionMap():
            maps = maps_of(value)
            changed = (isl.UnionMap.from_map(coalesced(one)) for one in maps)
            return joined(value.empty(value.get_space()), changed)
    raise AssertionError(type(value))


def _coalesced(value: _Elements, copy: _Elements) -> _Elements:
    try:
        return copy.coalesce()
    except isl.Error as error:
        if exceeds_limit(error):
            raise
        return value


ISL_VERSION: str = isl.__version__
"""The version of the package islpy."""

MANY_PIECES = 60
"""Pieces with which a difference goes on, and is not simplified first."""


def is_covered(whole: isl.UnionSet, parts: isl.UnionSet) -> bool:
    """Tell whether `whole` is a subset of `parts`.

    Pieces are taken away one after the other, those without floors first: what they leave is most
    often simple, where a difference of all at once splits at each floor of each piece.  What is
    left is joined where it is in many pieces: isl takes long to join pieces with floors.
    """
    whole = whole.align_params(parts.get_space())
    parts = parts.align_params(whole.get_space())
    sets = sets_of(whole)
    for left in sets:
        part = parts.extract_set(left.get_space())
        pieces = sorted(part.get_basic_sets(), key=lambda piece: piece.dim(isl.dim_type.div))
        for piece in pieces:
            if left.is_empty():
                break
            left = left.subtract(isl.Set.from_basic_set(piece))
            if left.n_basic_set() > MANY_PIECES:
                left = left.coalesce()
        if not left.is_empty():
            return False
    return True


def in_one_piece(domain: isl.Set) -> isl.Set:
    """Return the same set in one piece where it is one: where it fills its simple hull.

    Floors can keep isl from seeing that two pieces are parts of one convex set; that the hull has
    no point more is asked exactly.
    """
    joined = coalesced(domain)
    if joined.n_basic_set() <= 1:
        return joined
    hull = joined.simple_hull().to_set()
    return hull if hull.is_subset(joined) else joined


def _apart_set(value: isl.Set) -> isl.Set:
    """Return a copy, its pieces included: renaming the tuple writes to each."""
    other = value.set_tuple_name("copy")
    return (
        other.set_tuple_id(value.get_tuple_id()) if value.has_tuple_id() else other.reset_tuple_id()
    )


def _apart_map(value: isl.Map) -> isl.Map:
    kind = isl.dim_type.out
    other = value.set_tuple_name(kind, "copy")
    if value.has_tuple_id(kind):
        return other.set_tuple_id(kind, value.get_tuple_id(kind))
    return other.reset_tuple_id(kind)


def set_space(params: Sequence[str], name: str, iters: Sequence[str]) -> isl.Space:
    """Return the space `[params] -> { name[iters] }`."""
    space = param_space(params).add_unnamed_tuple_ui(len(iters))
    for position, iterator in enumerate(iters):
        space = space.set_dim_name(isl.dim_type.set, position, iterator)
    return space.set_tuple_name(isl.dim_type.set, name)


def param_space(params: Sequence[str]) -> isl.Space:
    """Return the parameter space `[params] -> { : }`."""
    return _param_space(tuple(params))


@lru_cache(maxsize=64)
def _param_space(params: tuple[str, ...]) -> isl.Space:
    """Return the space; isl compares each new name with all before it, so it is made once."""
    space = isl.Space.params_alloc(isl.DEFAULT_CONTEXT, len(params))
    for position, name in enumerate(params):
        space = space.set_dim_name(isl.dim_type.param, position, name)
    return space


FEW = 32
"""Parameters of a space in which functions are made as they are, not in that of their own."""


def pw_aff(expr: Expr, space: isl.Space) -> isl.PwAff:
    """Return `expr` as a function on the set `space`; iterators and parameters are found by name.

    Raises `NotAffine`.
    """
    own = _own_space((expr,), space)
    found = _pw_aff(expr, own)
    return found if own is space else found.align_params(space)


def _own_space(exprs: Sequence[Expr], space: isl.Space) -> isl.Space:
    """Return the set `space` with no parameters but those that `exprs` mention, in its order.

    The work of isl on a value grows with the square of its parameters, used or not.  A space of few
    is returned as it is.
    """
    kind, iters = isl.dim_type.param, isl.dim_type.set
    if space.dim(kind) <= FEW or (not space.is_params() and space.is_wrapping()):
        return space
    names = params(*exprs)
    places = {name: space.find_dim_by_name(kind, name) for name in names}
    own = param_space(sorted((n for n in names if places[n] >= 0), key=places.__getitem__))
    if space.is_params():
        return own
    own = own.add_unnamed_tuple_ui(space.dim(iters))
    for position in range(space.dim(iters)):
        if space.has_dim_id(iters, position):
            own = own.set_dim_id(iters, position, space.get_dim_id(iters, position))
    return own.set_tuple_id(iters, space.get_tuple_id(iters)) if space.has_tuple_id(iters) else own


def _pw_aff(expr: Expr, space: isl.Space) -> isl.PwAff:
    local = isl.LocalSpace.from_space(space)
    match expr:
        case Const(value=bool(value)):
            return _constant(local, int(value))
        case Const(value=int(value)):
            return _constant(local, value)
        case Iter(name=name):
            return _variable(expr, local, space, isl.dim_type.set, name)
        case Param(name=name):
            return _variable(expr, local, space, isl.dim_type.param, name)
        case Unary(op=UnaryOp.NEG):
            return _pw_aff(expr.operand, space).neg()
        case Unary(op=UnaryOp.ABS):
            operand = _pw_aff(expr.operand, space)
            return operand.max(operand.neg())
        case Binary():
            return _binary(expr, space)
        case Select():
            condition = _condition(expr.condition, space, None)
            then = _pw_aff(expr.then, space).intersect_domain(condition)
            otherwise = _pw_aff(expr.otherwise, space).intersect_domain(condition.complement())
            return then.union_add(otherwise)
        case _:
            raise NotAffine(expr, "is not built from iterators and sizes")


def _constant(local: isl.LocalSpace, value: int) -> isl.PwAff:
    return isl.PwAff.from_aff(isl.Aff.zero_on_domain(local).set_constant_val(value))


def _variable(
    expr: Expr, local: isl.LocalSpace, space: isl.Space, kind: isl.dim_type, name: str
) -> isl.PwAff:
    position = space.find_dim_by_name(kind, name)
    if position < 0:
        raise NotAffine(expr, "is not an enclosing iterator or a size")
    return isl.PwAff.from_aff(isl.Aff.var_on_domain(local, kind, position))


def _binary(expr: Binary, space: isl.Space) -> isl.PwAff:
    left = _pw_aff(expr.left, space)
    right = _pw_aff(expr.right, space)
    match expr.op:
        case BinaryOp.ADD:
            return left.add(right)
        case BinaryOp.SUB:
            return left.sub(right)
        case BinaryOp.MIN:
            return left.min(right)
        case BinaryOp.MAX:
            return left.max(right)
        case BinaryOp.MUL:
            if right.is_cst() or left.is_cst():
                return left.mul(right)
            raise NotAffine(expr, "multiplies two values that both vary")
        case BinaryOp.FLOORDIV | BinaryOp.MOD:
            divisor = _constant_value(expr.right)
            if divisor is None or divisor == 0:
                raise NotAffine(expr, "divides by something other than a nonzero constant")
            dividend = left if divisor > 0 else left.neg()  # isl divides by positive values only
            quotient = dividend.scale_down_val(isl.Val(abs(divisor))).floor()
            if expr.op is BinaryOp.FLOORDIV:
                return quotient
            return left.sub(quotient.scale_val(isl.Val(divisor)))
        case _:
            raise NotAffine(expr, f"uses `{expr.op.value}`")


def _constant_value(expr: Expr) -> int | None:
    match expr:
        case Const(value=int(value)):
            return value
        case Unary(op=UnaryOp.NEG, operand=Const(value=int(value))):
            return -value
        case _:
            return None


def condition_set(expr: Expr, space: isl.Space, inside: isl.Set | None = None) -> isl.Set:
    """Return the part of `space` where the BOOL expression `expr` holds.

    Comparisons of affine sides joined by `&`, `|`, `^` and `~` are accepted; raises `NotAffine`.
    Nothing is said of points outside of `inside`: sides of many pieces have few there.
    """
    own = space if inside is not None else _own_space((expr,), space)
    found = _condition(expr, own, inside)
    return found if own is space else isl.Set.align_params(found, space)


def _condition(expr: Expr, space: isl.Space, inside: isl.Set | None) -> isl.Set:
    match expr:
        case Const(value=value):
            universe = isl.Set.universe(space)
            return universe if value else isl.Set.empty(space)
        case Compare():
            left, right = _pw_aff(expr.left, space), _pw_aff(expr.right, space)
            if inside is not None:
                left, right = left.intersect_domain(inside), right.intersect_domain(inside)
            return _COMPARE[expr.op](left, right)
        case Unary(op=UnaryOp.INVERT):
            return _condition(expr.operand, space, inside).complement()
        case Binary(op=BinaryOp.AND | BinaryOp.OR | BinaryOp.XOR):
            one = _condition(expr.left, space, inside)
            two = _condition(expr.right, space, inside)
            if expr.op is BinaryOp.AND:
                return one.intersect(two)
            if expr.op is BinaryOp.OR:
                return one.union(two)
            return one.subtract(two).union(two.subtract(one))
        case _:
            raise NotAffine(expr, "is not a comparison of affine values")


_COMPARE: dict[CompareOp, Callable[[isl.PwAff, isl.PwAff], isl.Set]] = {
    CompareOp.LT: lambda a, b: a.lt_set(b),
    CompareOp.LE: lambda a, b: a.le_set(b),
    CompareOp.GT: lambda a, b: a.gt_set(b),
    CompareOp.GE: lambda a, b: a.ge_set(b),
    CompareOp.EQ: lambda a, b: a.eq_set(b),
    CompareOp.NE: lambda a, b: a.ne_set(b),
}


def span(expr: Expr, conditions: Sequence[Expr]) -> tuple[int, int] | None:
    """Return the least and the greatest value of `expr` where `conditions` hold, for any sizes.

    None: it has no bound, or something is not affine.
    """
    parts = [part for one in (expr, *conditions) for part in walk(one)]
    sizes = dict.fromkeys(part.name for part in parts if isinstance(part, Param))
    iters = dict.fromkeys(part.name for part in parts if isinstance(part, Iter))
    space = set_space(tuple(sizes), "", tuple(iters))
    try:
        domain = isl.Set.universe(space)
        for condition in conditions:
            domain = domain.intersect(condition_set(condition, space))
        value = pw_aff(expr, space).intersect_domain(domain)
    except NotAffine:
        return None
    try:
        least, most = value.min_val(), value.max_val()
    except isl.Error:  # an equality of the domain made a quotient of it, which isl refuses
        return None
    if not (least.is_int() and most.is_int()):
        return None
    return int(least.to_python()), int(most.to_python())


def index_map(domain: isl.Set, array: str, index: Sequence[Expr]) -> isl.Map:
    """Return `{ instance -> array[index] }` for the instances in `domain`.  Raises `NotAffine`."""
    space, result = _own_domain(domain, index)
    for part in index:
        result = result.flat_range_product(isl.Map.from_pw_aff(pw_aff(part, space)))
    return _on(domain, result.set_tuple_name(isl.dim_type.out, array))


def covering_map(domain: isl.Set, array: str, index: Sequence[Expr]) -> tuple[isl.Map, bool]:
    """Return `index_map` and True, or a map that covers it and False.

    A dimension whose subscript is not affine lies between the affine bounds it is cut to, if any.
    """
    space, result = _own_domain(domain, index)
    exact = True
    for part in index:
        try:
            one = isl.Map.from_pw_aff(pw_aff(part, space))
        except NotAffine:
            exact = False
            one = _between(part, space)
        result = result.flat_range_product(one)
    return _on(domain, result.set_tuple_name(isl.dim_type.out, array)), exact


def _own_domain(domain: isl.Set, exprs: Sequence[Expr]) -> tuple[isl.Space, isl.Map]:
    """Return a space for functions of instances, and a map of no dimensions from its instances."""
    space = domain.get_space()
    own = _own_space(exprs, space)
    return own, isl.Map.from_domain(domain if own is space else isl.Set.universe(own))


def _on(domain: isl.Set, relation: isl.Map) -> isl.Map:
    """Return a relation for the instances in `domain` alone, with its parameters."""
    return isl.Map.align_params(relation, domain.get_space()).intersect_domain(domain)


def _between(expr: Expr, space: isl.Space) -> isl.Map:
    """Return instance -> all integers that `min(max(expr, low), high)` may be."""
    line = space.map_from_set().drop_dims(isl.dim_type.out, 0, space.dim(isl.dim_type.set))
    line = line.reset_tuple_id(isl.dim_type.out).add_dims(isl.dim_type.out, 1)
    result = isl.Map.universe(line)
    match expr:
        case Binary(op=BinaryOp.MIN | BinaryOp.MAX):
            for part in operands(expr, expr.op):
                try:
                    bound = isl.Map.from_pw_aff(pw_aff(part, space))
                except NotAffine:
                    continue
                below = expr.op is BinaryOp.MIN
                result = result.intersect(bound.apply_range(_line_order(bound, below)))
        case _:
            pass
    return result


def _line_order(bound: isl.Map, below: bool) -> isl.Map:
    """Return bound -> integers no greater than it, or no less."""
    line = bound.range().get_space()
    order = isl.Map.lex_ge(line) if below else isl.Map.lex_le(line)
    return order


def time_map(domain: isl.Set, time: Sequence[Expr], length: int) -> isl.Map:
    """Return `{ instance -> [time, 0, …] }` of `length` dimensions for a domain."""
    padded = [*time, *[integer(0)] * (length - len(time))]
    space = _own_space(time, domain.get_space())
    values = isl.PwAffList.alloc(isl.DEFAULT_CONTEXT, length)
    for part in padded:
        values = values.add(pw_aff(part, space))
    line = isl.Space.set_alloc(isl.DEFAULT_CONTEXT, 0, len(padded)).align_params(space)
    whole = isl.MultiPwAff.from_pw_aff_list(space.map_from_domain_and_range(line), values)
    return _on(domain, isl.Map.from_multi_pw_aff(whole))


def sample_point(value: isl.Set) -> tuple[dict[str, int], tuple[int, ...]] | None:
    """Return one point of `value` as (parameter values, coordinates), or None when it is empty."""
    point = value.sample_point()
    if point.is_void():
        return None
    params = {
        name: int(point.get_coordinate_val(isl.dim_type.param, position).to_python())
        for position, name in enumerate(param_names(value))
    }
    coordinates = tuple(
        int(point.get_coordinate_val(isl.dim_type.set, position).to_python())
        for position in range(value.dim(isl.dim_type.set))
    )
    return params, coordinates


def index_box(name: str, shape: Sequence[Expr], params: Sequence[str]) -> isl.Set:
    """Return `[params] -> { name[e0, …] : 0 <= e < shape }`: all elements of an array."""
    iters = [f"e{d}" for d in range(len(shape))]
    space = set_space(params, name, iters)
    result = isl.Set.universe(space)
    for iterator, extent in zip(iters, shape, strict=True):
        for op, bound in ((CompareOp.GE, integer(0)), (CompareOp.LT, extent)):
            result = result.intersect(condition_set(Compare(op, Iter(iterator), bound), space))
    return result


def is_box(domain: isl.Set) -> bool:
    """Tell whether every loop has the same bounds throughout; not so in a triangle."""
    count = domain.dim(isl.dim_type.set)
    box = isl.Set.universe(domain.get_space())
    for position in range(count):
        side = domain.eliminate(isl.dim_type.set, position + 1, count - position - 1)
        box = box.intersect(side.eliminate(isl.dim_type.set, 0, position))
    return bool(box.is_subset(domain))


def pieces_of(function: isl.PwAff) -> list[isl.Aff]:
    """Return the affine functions that a function is made of."""
    found: list[isl.Aff] = []
    function.foreach_piece(lambda _, aff: found.append(aff))
    return found


def only_value(values: isl.Set, dim: int) -> int | None:
    """Return the one value that a dimension has, or None."""
    low, high = values.dim_min_val(dim), values.dim_max_val(dim)
    return int(low.to_python()) if low.is_int() and low.eq(high) else None
