"""Conditions and bounds around the parts of a program."""

from __future__ import annotations

from collections.abc import Iterator

import islpy as isl

from polyopt.ir.expr import Load, loads
from polyopt.ir.parameters import param_aff, param_names
from polyopt.ir.program import Bind, Repeat, Require, all_parts


def bound_inside(part: Repeat) -> Iterator[str]:
    for piece in all_parts(part.body):
        match piece:
            case Bind() | Repeat():
                yield piece.param
            case _:
                pass


def outside_loads(part: Bind | Require | Repeat) -> Iterator[Load]:
    match part:
        case Bind(value=value):
            yield from loads(value)
        case Require(condition=condition):
            yield from loads(condition)
        case Repeat():
            for expr in (part.lower, part.upper, part.going):
                if expr is not None:
                    yield from loads(expr)


def meet(one: isl.Set, two: isl.Set, name: str) -> bool:
    """Tell whether `one` and `two` share an element at different values of the size `name`."""
    other = f"{name}'"
    position = two.find_dim_by_name(isl.dim_type.param, name)
    if position >= 0:
        two = two.set_dim_name(isl.dim_type.param, position, other)
    common = one.intersect(two)
    if {name, other} <= {*param_names(common)}:
        space = common.get_space()
        common = common.intersect(param_aff(name, space).ne_set(param_aff(other, space)))
    return not common.is_empty()
