"""Pairs that loops leave equal: what tiles leave equal is worked out late, and exactly."""

from __future__ import annotations

import pytest

from polyopt.schedule import source_schedule
from polyopt.schedule.legality import check_legal
from polyopt.schedule.pending import pending_of
from polyopt.schedule.tree import find_band
from polyopt.transforms import Interchange, Skew, Tile
from tests import scops
from tests.reading import read


def _tiled(make, *steps):
    schedule = source_schedule(make())
    tree = schedule.tree
    for step in steps:
        tree = step.rewrite(tree, schedule.scop)
    return schedule, tree


def test_a_tile_is_the_sum_of_its_floors():
    _, tree = _tiled(scops.seidel, Tile("L0", (4, 8)), Skew("L0.tile[0]", "L0.tile[1]"))
    wave, inner = find_band(tree, "L0.tile").members
    assert [part.size for part in wave.parts] in ([4, 8], [8, 4])
    assert [part.size for part in inner.parts] == [8]
    assert any(part.holds(inner.parts[0]) for part in wave.parts)
    assert wave.is_tile
    assert not find_band(tree, "L0.point").members[0].is_tile


def test_a_floor_under_a_minus_has_no_parts():
    _, tree = _tiled(scops.seidel, Tile("L0", (4,)), Skew("L0.point[0]", "L0.point[1]", -1))
    assert find_band(tree, "L0.point").members[0].parts is not None
    _, tree = _tiled(scops.seidel, Tile("L0", (4, 4)), Skew("L0.tile[0]", "L0.tile[1]", -1))
    assert find_band(tree, "L0.tile").members[0].parts is None


@pytest.mark.parametrize("make", [scops.seidel, scops.diagonal, scops.jacobi, scops.gemm])
def test_what_tiles_leave_equal_is_exact(make):
    schedule, tree = _tiled(make, Tile("L0", (3,)))
    member = find_band(tree, "L0.tile").members[0]
    pending = pending_of(schedule.dependences)
    after = pending.equal(member)
    assert after.tiles
    want = pending.ordering.eq_at_multi_union_pw_aff(member.function)
    assert after.settled.ordering.is_equal(want)


def test_pairs_reversed_inside_one_tile_only_are_no_reason_to_refuse():
    """Distance (4, -1): a tile of four rows orders the pair before `j` can reverse it."""
    scop = read(
        """
        for i in range(4, N):
            for j in range(N - 1):
                A[i, j] = A[i - 4, j + 1]
        """,
        "A[N, N]",
    )
    schedule = source_schedule(scop)
    found = schedule.apply(Tile("L0", (4,)), Interchange("L0.point[0]", "L0.point[1]"))
    assert check_legal(found.scop, found.dependences, found.tree) is None
    wide = Tile("L0", (5,)).rewrite(schedule.tree, scop)
    tree = Interchange("L0.point[0]", "L0.point[1]").rewrite(wide, scop)
    violation = check_legal(scop, schedule.dependences, tree)
    assert violation is not None
    tile = find_band(tree, "L0.tile").members[0]
    same = violation.pairs.eq_at_multi_union_pw_aff(tile.function)
    assert violation.pairs.is_equal(same)
