"""The order of a tree as the program's own: statements that run at several places of it."""

from __future__ import annotations

import islpy as isl
import pytest

from polyopt.ir.affine import quota
from polyopt.schedule.demo import demo
from polyopt.schedule.rebase import _is_injective, rebased
from polyopt.schedule.schedule import Schedule
from polyopt.schedule.tree import time_of
from polyopt.transforms import Interchange, Separate, Tile


def apart(size: int) -> Schedule:
    """Return a nest in tiles whose full ones stand apart from the others."""
    tiled = demo().apply(Tile("L0", (size, size)))
    return tiled.apply(Separate("L0.point", "L0.point", (size, size)))


@pytest.mark.parametrize("size", [2, 5])
def test_instances_run_in_the_order_of_the_place_they_run_at(size: int) -> None:
    schedule = apart(size).apply(Interchange("L0.point.rest[0]", "L0.point.rest[1]"))
    scop = schedule.scop
    domain = scop.domain.intersect_params(scop.context)
    wanted = time_of(schedule.tree, domain)
    found = rebased(scop, schedule.tree).order.intersect_domain(domain)
    assert found.lex_lt_union_map(found).is_equal(wanted.lex_lt_union_map(wanted))
    assert found.is_injective()
    source = scop.order.intersect_domain(domain)
    assert not found.lex_lt_union_map(found).is_equal(source.lex_lt_union_map(source))


def test_loops_tell_instances_apart_whatever_their_domain() -> None:
    """What the domain says of iterators is no part of the loops' values."""
    parts = " or ".join(f"(i + {n} * j + N) mod {n} = {n - 2}" for n in (2, 3, 5, 7))
    domain = isl.Set(f"[N] -> {{ S[i, j] : 0 <= i < N and 0 <= j < N + i and ({parts}) }}")
    sums = (isl.PwAff(f"[N] -> {{ S[i, j] -> [({text})] }}") for text in ("i + 2 * j", "i"))
    values = [value.intersect_domain(domain) for value in sums]
    with quota(100):
        assert _is_injective(values, domain)
    assert not _is_injective(values[:1], domain)
