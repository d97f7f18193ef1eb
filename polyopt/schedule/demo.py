"""A small program for the examples in docstrings.

In: how many nests.  Out: the source's schedule of that many copies of a table, one after the other.
"""

from __future__ import annotations

import islpy as isl

from polyopt.ir.affine import param_space, pw_aff, set_space
from polyopt.ir.expr import Iter, Load, Param, integer
from polyopt.ir.scop import Array, Role, Scop, Statement
from polyopt.ir.types import DType
from polyopt.schedule.schedule import Schedule, source_schedule

SIZES = ("N", "M")
ITERS = ("i", "j")


def demo(nests: int = 1) -> Schedule:
    """Return the schedule of `nests` nests, each of which copies an N by M array to the next.

    >>> print(demo())
    for i = i:  [L0[0]]  # carries no dependence, permutable band
      for j = j:  [L0[1]]  # carries no dependence
        S0: A1[i, j] = A0[i, j]
    """
    shape = tuple(map(Param, SIZES))
    arrays = tuple(Array(f"A{n}", DType.FLOAT64, shape, Role.INOUT) for n in range(nests + 1))
    context = isl.Set.universe(param_space(SIZES))
    return source_schedule(Scop(SIZES, context, arrays, tuple(map(_copy, range(nests)))))


def _copy(number: int) -> Statement:
    i, j = map(Iter, ITERS)
    target = Load(f"A{number + 1}", (i, j), DType.FLOAT64)
    source = Load(f"A{number}", (i, j), DType.FLOAT64)
    order = (integer(number), i, integer(0), j, integer(0))
    text = f"A{number + 1}[i, j] = A{number}[i, j]"
    return Statement(f"S{number}", ITERS, _table(f"S{number}"), order, target, source, None, text)


def _table(name: str) -> isl.Set:
    """Return the instances `name[i, j]` with `0 <= i < N` and `0 <= j < M`."""
    space = set_space(SIZES, name, ITERS)
    domain = isl.Set.universe(space)
    for iterator, size in zip(map(Iter, ITERS), map(Param, SIZES), strict=True):
        value = pw_aff(iterator, space)
        domain = domain & value.nonneg_set() & value.lt_set(pw_aff(size, space))
    return domain
