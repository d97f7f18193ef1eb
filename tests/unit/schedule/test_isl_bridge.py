"""isl schedule trees from and to our own."""

from __future__ import annotations

import islpy as isl
import pytest

from polyopt.schedule import compute_dependences, source_schedule
from polyopt.schedule.isl_bridge import coefficients, from_isl, loop_names, to_isl
from polyopt.schedule.source import relabel, source_tree
from polyopt.schedule.tree import Sequence, bands, path_to, statements_of, time_of
from polyopt.transforms import Fuse, Separate, Skew, Tile
from tests import scops

EVERY = [
    scops.gemm,
    scops.ordered_gemm,
    scops.jacobi,
    scops.solve,
    scops.backward,
    scops.chain,
    scops.dot,
]


@pytest.mark.parametrize("make", EVERY)
def test_to_isl_and_back_keeps_the_order(make):
    scop = make()
    tree = source_tree(scop)
    marked = to_isl(tree, scop)
    flat = marked.schedule.get_map().intersect_domain(scop.domain)
    ours = time_of(tree, scop.domain)
    before = ours.lex_lt_union_map(ours)
    assert before.is_equal(flat.lex_lt_union_map(flat))


@pytest.mark.parametrize("make", EVERY)
def test_every_band_has_a_mark(make):
    scop = make()
    tree = source_tree(scop)
    marked = to_isl(tree, scop)
    want = [(b.label, len(path_to(tree, scop, b.label)[0])) for b in bands(tree)]
    assert sorted((b.label, above) for b, above in marked.bands.values()) == sorted(want)
    text = marked.schedule.to_str()
    assert all(f'mark: "{name}"' in text for name in marked.bands)


def scheduled(scop):
    order = compute_dependences(scop).scheduling
    constraints = isl.ScheduleConstraints.on_domain(scop.domain).set_validity(order)
    return constraints.set_proximity(order).compute_schedule()


@pytest.mark.parametrize("make", EVERY[:-1])
def test_from_isl_keeps_the_order(make):
    scop = make()
    schedule = scheduled(scop)
    assert "set:" not in schedule.to_str(), "isl leaves the order of a set open"
    flat = schedule.get_map().intersect_domain(scop.domain)
    ours = time_of(relabel(from_isl(schedule, scop)), scop.domain)
    assert flat.lex_lt_union_map(flat).is_equal(ours.lex_lt_union_map(ours))


def test_sets_become_sequences_in_textual_order():
    scop = scops.chain()
    text = (
        '{ domain: "[N] -> { S0[i] : 0 <= i < N; S1[j] : 1 <= j < N }", '
        'child: { set: [ { filter: "[N] -> { S1[j] }" }, { filter: "[N] -> { S0[i] }" } ] } }'
    )
    tree = from_isl(isl.Schedule(text), scop)
    assert isinstance(tree, Sequence)
    assert [statements_of(scop, p.domain) for p in tree.parts] == [["S0"], ["S1"]]


def test_loops_are_named_after_what_they_add():
    scop = scops.diagonal()
    skewed = [
        isl.UnionPwAff("[N] -> { S0[i, j] -> [(i + j)] }"),
        isl.UnionPwAff("[N] -> { S0[i, j] -> [(i)] }"),
        isl.UnionPwAff("[N] -> { S0[i, j] -> [(j)] }"),
    ]
    assert loop_names(skewed[:1], scop, scop.domain) == ["i"]
    assert loop_names(skewed[::-1][:2], scop, scop.domain) == ["j", "i"]
    assert len(set(loop_names(skewed, scop, scop.domain))) == 3


def test_coefficients():
    schedule = source_schedule(scops.diagonal()).apply(Skew("j", "i", 2))
    first, second = next(bands(schedule.tree)).members
    assert coefficients(first, schedule.scop, "S0") == {"i": 1, "j": 0}
    assert coefficients(second, schedule.scop, "S0") == {"i": 2, "j": 1}
    tiled = source_schedule(scops.gemm()).apply(Tile("L0", (4,)))
    tile = next(bands(tiled.tree)).members[0]
    assert coefficients(tile, tiled.scop, "S0") == {"i": 0, "j": 0, "k": 0}
    down = next(bands(source_schedule(scops.backward()).tree)).members[0]
    assert coefficients(down, scops.backward(), "S0") == {"i": -1, "j": 0}


def test_joint_loops_reach_isl_as_one_band():
    scop = scops.planes()
    schedule = source_schedule(scop).apply(Fuse("L0", "L1"))
    marked = to_isl(schedule.tree, scop)
    assert [(b.label, above) for b, above in marked.bands.values()] == [("L0", 0)]
    assert marked.schedule.to_str().count("sequence:") == 1


def test_loops_above_parts_of_one_statement_stay_one():
    """Of different statements isl may still pull the loops apart."""
    split = source_schedule(scops.gemm()).apply(Tile("L0", (4, 4, 4)))
    split = split.apply(Separate("L0.point", "L0.point", (4, 4, 4)))
    joint = source_schedule(scops.planes()).apply(Fuse("L0", "L1"))
    for schedule, count in ((split, 1), (joint, 0)):
        marked = to_isl(schedule.tree, schedule.scop)
        assert marked.schedule.to_str().count("atomic") == count
