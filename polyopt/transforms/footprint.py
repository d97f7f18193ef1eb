"""Compute the footprint of a loop iteration in an array, as a box.

In: { values of the loops -> element }.  Out: an origin and an extent for each dimension of the box.
Refuses: a box whose extent no formula over the sizes bounds (PO0332).
"""

from __future__ import annotations

import islpy as isl

from polyopt.dataclass import dataclass
from polyopt.errors import ScheduleError
from polyopt.ir.affine import coalesced, pieces_of, set_space
from polyopt.ir.expr import Const, Expr, add, integer, sub
from polyopt.ir.isl_ast import affine_expr, bound_expr
from polyopt.ir.linear import normalize


@dataclass(frozen=True, slots=True)
class Side:
    """One dimension of a box: elements `origin` to `origin + extent - 1`.

    `origin` is over the loops' names, `extent` over sizes.
    """

    origin: Expr
    extent: Expr

    @property
    def is_single(self) -> bool:
        """Whether there is one element, whatever the loops' values."""
        return self.extent == integer(1)


def box(
    touched: isl.Map, loops: tuple[str, ...], params: tuple[str, ...], what: str
) -> tuple[Side, ...]:
    """Return the box around the elements accessed for any values of the loops.

    Raises `ScheduleError` PO0332; `what` names the box's array in messages.
    """
    count = touched.dim(isl.dim_type.out)
    return tuple(_side(touched, dim, loops, params, what) for dim in range(count))


def _side(
    touched: isl.Map, dim: int, loops: tuple[str, ...], params: tuple[str, ...], what: str
) -> Side:
    others = touched.dim(isl.dim_type.out) - dim - 1
    line = touched.project_out(isl.dim_type.out, dim + 1, others)
    line = line.project_out(isl.dim_type.out, 0, dim)
    if not _is_bounded(line):
        raise unbounded(what, dim)
    least, most = line.dim_min(0), line.dim_max(0)
    best: Side | None = None
    for origin in (*_affine_origins(least), *_common_origin(line), least):
        extent = _extent(origin, most, params)
        if extent is None:
            continue
        side = Side(affine_expr(origin, loops, params), extent)
        if best is None or _smaller(side.extent, best.extent):
            best = side
    if best is None:
        raise unbounded(what, dim)
    return best


_MOST = 2**24  # elements along a dimension


def _is_bounded(line: isl.Map) -> bool:
    """Tell whether for any fixed values of the loops there is a least and a greatest value."""
    values = line.wrap()
    dim = values.dim(isl.dim_type.set) - 1
    return bool(
        values.dim_has_any_lower_bound(isl.dim_type.set, dim)
        and values.dim_has_any_upper_bound(isl.dim_type.set, dim)
    )


def unbounded(what: str, dim: int) -> ScheduleError:
    """Return the error for a box without a formula for its extent."""
    return ScheduleError(
        "PO0332",
        f"{what}: nothing bounds what one iteration touches in dimension {dim}",
        hint="choose a loop further inside, or tile the loops first",
    )


def _affine_origins(least: isl.PwAff) -> list[isl.PwAff]:
    """Return affine functions that are nowhere greater than `least`, taken from its pieces."""
    found = []
    for aff in pieces_of(least):
        function = isl.PwAff.from_aff(aff).intersect_domain(least.domain())
        if function.gt_set(least).is_empty():
            found.append(function)
    return found


def _common_origin(line: isl.Map) -> list[isl.PwAff]:
    """Return an origin that is a function of all loop values, if there is one.

    A constant is preferred: unused cells cost memory, subtractions cost time.
    """
    values = line.range()
    if not values.dim_has_any_lower_bound(isl.dim_type.set, 0):
        return []
    number = values.dim_min_val(0)
    if number.is_int():
        space = isl.LocalSpace.from_space(line.domain().get_space())
        constant = isl.Aff.zero_on_domain(space).set_constant_val(number)
        return [isl.PwAff.from_aff(constant).intersect_domain(line.domain())]
    return [values.dim_min(0).insert_domain(line.domain().get_space())]


def _extent(origin: isl.PwAff, most: isl.PwAff, params: tuple[str, ...]) -> Expr | None:
    """Return a bound on `most - origin + 1`: a number if there is one, else over the sizes.

    A number above `_MOST` stems from the limit of sizes themselves: their formula is the bound.
    """
    lengths = isl.Map.from_pw_aff(most.sub(origin)).range()
    if lengths.is_empty():
        return integer(0)
    value = lengths.dim_max_val(0)
    if value.is_int() and int(value.to_python()) < _MOST:
        return integer(int(value.to_python()) + 1)
    if not lengths.dim_has_any_upper_bound(isl.dim_type.set, 0):
        return None
    return normalize(add(bound_expr(lengths.dim_max(0), frozenset(params)), integer(1)))


def _smaller(one: Expr, other: Expr) -> bool:
    match one, other:
        case Const(value=int(a)), Const(value=int(b)):
            return a < b
        case Const(), _:
            return True
        case _:
            return False


def ranges(values: isl.Set, params: tuple[str, ...], what: str) -> tuple[Side, ...]:
    """Return the least value and the extent of each dimension of a set, over the sizes alone."""
    space = set_space(params, "", ())
    whole = isl.Map.from_domain_and_range(isl.Set.universe(space), values.reset_tuple_id())
    return box(whole, (), params, what)


def nested_ranges(
    values: isl.Set, loops: tuple[str, ...], params: tuple[str, ...], what: str
) -> tuple[Side, ...]:
    """Return each loop's least value and extent for any values of the loops before."""
    found: list[Side] = []
    whole = isl.Map.from_range(values.reset_tuple_id())
    for number in range(len(loops)):
        here = whole.project_out(isl.dim_type.out, number + 1, len(loops) - number - 1)
        here = here.move_dims(isl.dim_type.in_, 0, isl.dim_type.out, 0, number)
        found += box(coalesced(here), loops[:number], params, what)
    return tuple(found)


def shifted(index: Expr, side: Side) -> Expr:
    """Return the position of subscript `index` in the box."""
    return normalize(sub(index, side.origin))


def hull_box(domain: isl.Set, first: int) -> isl.Set:
    """Return the box around a set in its dimensions from `first` on, for any values of the others.

    >>> hull_box(isl.Set("{ S[t, i] : 0 <= t < 9 and (i = t or i = t + 2) }"), 1)
    Set("{ S[t, i] : 0 <= t <= 8 and t <= i <= 2 + t }")
    """
    count = domain.dim(isl.dim_type.set)
    whole = isl.Set.universe(domain.get_space())
    onto = isl.Map.identity(whole.get_space().map_from_set())
    onto = onto.project_out(isl.dim_type.out, first, count - first)
    outer = isl.PwMultiAff.from_map(onto)
    points = domain.apply(onto)
    result = onto.intersect_range(points).domain()
    for dim in range(first, count):
        here = _coordinate(whole, dim)
        values = onto.intersect_domain(domain).reverse().apply_range(isl.Map.from_pw_aff(here))
        least = values.dim_min(0).pullback_pw_multi_aff(outer)
        most = values.dim_max(0).pullback_pw_multi_aff(outer)
        result = result.intersect(here.ge_set(least)).intersect(here.le_set(most))
    return coalesced(result)


def _coordinate(whole: isl.Set, dim: int) -> isl.PwAff:
    local = isl.LocalSpace.from_space(whole.get_space())
    return isl.PwAff.from_aff(isl.Aff.var_on_domain(local, isl.dim_type.set, dim))
