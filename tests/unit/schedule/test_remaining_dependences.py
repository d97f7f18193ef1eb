"""Pairs that loops leave equal: what tiles leave equal is worked out late, and exactly."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import polyopt as po
from polyopt.frontend import build
from polyopt.frontend.syntax.type_inference import infer_types
from polyopt.schedule import legality, source_schedule
from polyopt.schedule.demo import demo
from polyopt.schedule.legality import check_legal
from polyopt.schedule.remaining_dependences import remaining_dependences, union
from polyopt.schedule.tree import find_band
from polyopt.transforms import Contract, Fuse, Interchange, Skew, Tile
from tests import scops
from tests.reading import read

# ruff: noqa: F821, UP037 - sizes are named by strings


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
    pending = remaining_dependences(schedule.dependences)
    after = pending.equal(member)
    assert any(pairs.tiles for pairs in after)
    want = union(pairs.relation for pairs in pending).eq_at_multi_union_pw_aff(member.function)
    assert after.left.is_equal(want)


def test_what_was_found_of_two_statements_holds_in_a_larger_nest():
    """Fusing a third nest asks nothing again of the first two: the answers are the same objects."""
    schedule = demo(3)
    (pairs,) = (p for p in remaining_dependences(schedule.dependences) if p.source == "S0")
    fused = schedule.apply(Fuse("L0", "L1"))
    wide = fused.apply(Fuse("L0", "L2"))
    for one, two in zip(_outer(fused), _outer(wide), strict=True):
        assert one.schedule is not two.schedule
        assert pairs.backwards(one)[1] is pairs.backwards(two)[1]
        assert pairs.equal(one) is pairs.equal(two)
        assert pairs.separated(one) is pairs.separated(two)


def test_a_tree_that_was_judged_is_not_judged_again(monkeypatch):
    """A verdict on a subtree holds for the very same pairs; other pairs are looked at anew."""
    schedule = demo(3).apply(Fuse("L0", "L1"))
    assert check_legal(schedule.scop, schedule.dependences, schedule.tree) is None
    looked: list[object] = []
    judged = legality._violation

    def counted(tree, *rest):
        looked.append(tree)
        return judged(tree, *rest)

    monkeypatch.setattr(legality, "_violation", counted)
    assert check_legal(schedule.scop, schedule.dependences, schedule.tree) is None
    assert not looked
    fresh = replace(schedule.dependences, known={})
    assert check_legal(schedule.scop, fresh, schedule.tree) is None
    assert schedule.tree in looked


def _outer(schedule):
    return find_band(schedule.tree, "L0").members


def test_pairs_of_arrays_that_a_step_leaves_alone_are_kept():
    scop = build(two_temporaries, infer_types(two_temporaries)).scop
    schedule = source_schedule(scop).apply(Fuse("L0", "L1"), Fuse("L0", "L2"))
    after = schedule.apply(Contract("t"))
    arrays = {d.array for d in schedule.dependences.memory}
    assert {"t", "u"} <= arrays
    before = set(remaining_dependences(schedule.dependences))
    kept = [pairs for pairs in remaining_dependences(after.dependences) if pairs in before]
    assert [(pairs.source, pairs.target) for pairs in kept] == [("S1", "S2")]


def two_temporaries(a: po.f64["N"], b: po.f64["N"]):
    t = a + 1.0
    u = t * b
    return np.sqrt(u)


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
