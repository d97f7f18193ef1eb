"""The order of a tree as the program's own: statements that run at several places of it."""

from __future__ import annotations

import pytest

from polyopt.schedule.demo import demo
from polyopt.schedule.rebase import rebased
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
