"""Parameters of isl's values: their names, those that matter, values without the others."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from typing import TypeVar

import islpy as isl

_Union = TypeVar("_Union", isl.UnionSet, isl.UnionMap)
_Bare = TypeVar("_Bare", isl.Set, isl.PwAff, isl.UnionSet, isl.UnionPwAff)


def sets_of(value: isl.UnionSet) -> list[isl.Set]:
    """Return the sets of a union, one a space."""
    found: list[isl.Set] = []
    value.foreach_set(found.append)
    return found


def maps_of(value: isl.UnionMap) -> list[isl.Map]:
    """Return the maps of a union, one a space."""
    found: list[isl.Map] = []
    value.foreach_map(found.append)
    return found


def param_names(value: isl.Set | isl.Map | isl.Space) -> list[str]:
    """Return the names of a value's parameters in order."""
    found = []
    for position in range(value.dim(isl.dim_type.param)):
        name = value.get_dim_name(isl.dim_type.param, position)
        assert name is not None, "every parameter is named"
        found.append(name)
    return found


def mentioned(value: isl.Set | isl.Map | isl.PwAff | isl.Constraint, space: isl.Space) -> list[str]:
    """Return the names of the parameters that a value of `space` has constraints on, in order."""
    kind = isl.dim_type.param

    def within(first: int, count: int) -> list[str]:
        if count == 0 or not value.involves_dims(kind, first, count):
            return []
        if count == 1:
            return [space.get_dim_name(kind, first) or ""]
        half = count // 2
        return within(first, half) + within(first + half, count - half)

    return within(0, space.dim(kind))


def param_aff(name: str, space: isl.Space) -> isl.Aff:
    """Return a parameter of `space` as a function on it."""
    position = space.find_dim_by_name(isl.dim_type.param, name)
    return isl.Aff.var_on_domain(isl.LocalSpace.from_space(space), isl.dim_type.param, position)


def without_params(value: isl.Set, names: Iterable[str]) -> isl.Set:
    """Return what is in a set for any values of parameters, which it then does not have."""
    for name in names:
        position = value.find_dim_by_name(isl.dim_type.param, name)
        if position >= 0:
            value = value.project_out(isl.dim_type.param, position, 1)
    return value


def with_free_params(value: isl.Set, names: Iterable[str]) -> isl.Set:
    """Return what is in a set for any values of parameters, which then may have all values."""
    for name in names:
        position = value.find_dim_by_name(isl.dim_type.param, name)
        value = value.eliminate(isl.dim_type.param, position, 1)
    return value


def bare(value: _Bare) -> _Bare:
    """Return a value without the parameters that do not matter to it.

    isl's `drop_unused_params` takes them away one by one.
    """
    match value:
        case isl.Set():
            for first, count in _unused(value):
                value = value.remove_dims(isl.dim_type.param, first, count)
            return value
        case isl.PwAff():
            for first, count in _unused(value):
                value = value.drop_dims(isl.dim_type.param, first, count)
            return value
        case isl.UnionSet():
            return joined(value, (isl.UnionSet.from_set(bare(one)) for one in sets_of(value)))
        case isl.UnionPwAff():
            functions: list[isl.PwAff] = []
            value.foreach_pw_aff(functions.append)
            first, *others = (isl.UnionPwAff.from_pw_aff(bare(one)) for one in functions)
            return reduce(isl.UnionPwAff.union_add, others, first)
    raise AssertionError(type(value))


def _unused(value: isl.Set | isl.PwAff) -> list[tuple[int, int]]:
    """Return where parameters lie that do not matter, and how many, from the last ones on."""
    kind, space = isl.dim_type.param, value.get_space()
    used = [space.find_dim_by_name(kind, name) for name in mentioned(value, space)]
    gaps = zip([-1, *used], [*used, space.dim(kind)], strict=True)
    return [(one + 1, two - one - 1) for one, two in gaps if two > one + 1][::-1]


def joined(empty: _Union, parts: Iterable[_Union]) -> _Union:
    """Return the union of many sets or relations.

    It is made half by half: isl copies both operands of each union.
    """
    found = list(parts)
    while len(found) > 1:
        pairs = zip(found[::2], found[1::2], strict=False)
        found = [one.union(two) for one, two in pairs] + found[len(found) // 2 * 2 :]
    return found[0] if found else empty
