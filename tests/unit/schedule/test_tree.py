"""Trees: source trees, labels, references, times, printing."""

from __future__ import annotations

import pytest

from polyopt.errors import ScheduleError
from polyopt.ir.interp import run_scop
from polyopt.schedule import source_schedule
from polyopt.schedule.source import merge_perfect, relabel, source_tree
from polyopt.schedule.tree import (
    Band,
    Filter,
    Leaf,
    LoopRef,
    Sequence,
    bands,
    children,
    depth,
    find_band,
    fresh_label,
    map_bands,
    path_to,
    replace_band,
    resolve,
    show_tree,
    statements_of,
    time_of,
    with_children,
)
from polyopt.transforms import Cut, Distribute, Fuse, Tile
from tests import scops
from tests.checks import assert_same, sizes_of
from tests.oracle import random_arrays
from tests.reading import read

EVERY = [
    scops.gemm,
    scops.ordered_gemm,
    scops.jacobi,
    scops.seidel,
    scops.dot,
    scops.solve,
    scops.backward,
    scops.nowhere,
    scops.chain,
]


def shape(tree):
    """Return a tree's structure as nested tuples of loop names."""
    match tree:
        case Leaf():
            return ()
        case Filter():
            return shape(tree.child)
        case Sequence():
            return [shape(part) for part in tree.parts]
        case Band():
            return (*(m.name for m in tree.members), shape(tree.child))


def test_source_trees():
    assert shape(source_tree(scops.gemm())) == ("i", "j", "k", ())
    assert shape(source_tree(scops.solve())) == ("i", [("j", ()), ()])
    assert shape(source_tree(scops.jacobi())) == ("t", [("i", "j", ()), ("i", "j", ())])
    assert shape(source_tree(scops.dot())) == ("i", [(), ("k", [(), ()]), ()])
    assert shape(source_tree(read("", "A[N]"))) == ()
    assert shape(source_tree(read("A[0] = 1", "A[N]"))) == ()


def test_labels_count_from_outside_in_and_top_down():
    assert [b.label for b in bands(source_tree(scops.jacobi()))] == ["L0", "L1", "L2"]
    tree = source_schedule(scops.jacobi()).apply(Tile("L1", (2, 2))).tree
    assert [b.label for b in bands(tree)] == ["L0", "L1.tile", "L1.point", "L2"]
    assert [b.label for b in bands(relabel(tree))] == ["L0", "L1", "L2", "L3"]
    assert [len(b.members) for b in bands(merge_perfect(tree))] == [1, 4, 2]


@pytest.mark.parametrize("make", EVERY)
def test_time_maps_keep_the_source_s_order(make):
    """The tree's times order instances as the source's own times do."""
    scop = make()
    times = time_of(source_tree(scop), scop.domain)
    for params in sizes_of(scop):
        one, two = [], []
        arrays = random_arrays(scop.arrays, params, 3)
        run_scop(scop, {n: a.copy() for n, a in arrays.items()}, params, trace=one)
        run_scop(scop, arrays, params, order=times, trace=two)
        assert one == two


def test_time_map_of_a_sequence():
    scop = scops.chain()
    assert_same(
        time_of(source_tree(scop), scop.domain),
        "[N] -> { S0[i] -> [0, i] : 0 <= i < N; S1[j] -> [1, j] : 1 <= j < N }",
    )
    assert depth(source_tree(scops.dot())) == 4
    assert depth(source_tree(scops.gemm())) == 3
    assert depth(Leaf()) == 0


def test_references():
    tree = source_schedule(scops.jacobi()).tree
    assert resolve(tree, "t") == LoopRef("L0", 0)
    assert resolve(tree, "L1") == LoopRef("L1")
    assert resolve(tree, "L1[1]") == LoopRef("L1", 1)
    assert [str(LoopRef("L1")), str(LoopRef("L1", 1))] == ["L1", "L1[1]"]
    for name, code in (("i", "PO0302"), ("z", "PO0301"), ("L1[2]", "PO0301"), ("L3[0]", "PO0301")):
        with pytest.raises(ScheduleError) as refused:
            resolve(tree, name)
        assert refused.value.code == code
    with pytest.raises(ScheduleError):
        find_band(tree, "t")


def test_fresh_labels():
    tree = source_tree(scops.jacobi())
    assert fresh_label(tree, "L9") == "L9"
    assert fresh_label(tree, "L1") == "L12"
    assert fresh_label(
        replace_band(tree, "L2", lambda b: Band("L12", b.members, b.child)), "L1"
    ) == ("L13")


def test_rebuilding_keeps_the_tree():
    tree = source_tree(scops.jacobi())
    assert shape(with_children(tree, children(tree))) == shape(tree)
    assert shape(map_bands(tree, lambda band: band)) == shape(tree)
    assert children(Leaf()) == ()
    assert shape(replace_band(tree, "nothing", lambda band: Leaf())) == shape(tree)
    assert shape(replace_band(tree, "L1", lambda band: Leaf())) == ("t", [(), ("i", "j", ())])


def test_paths():
    schedule = source_schedule(scops.dot())
    members, domain = path_to(schedule.tree, schedule.scop, "L1")
    assert [m.name for m in members] == ["i"]
    assert statements_of(schedule.scop, domain) == ["S2"]
    tiled = source_schedule(scops.gemm()).apply(Tile("L0", (2, 2)), Cut("L0.point", 1))
    members, _ = path_to(tiled.tree, tiled.scop, "L0.point.inner")
    assert [m.name for m in members] == ["i_tile", "j_tile", "i"]


def test_statements_in_textual_order():
    scop = scops.dot()
    assert statements_of(scop, scop.domain) == ["S0", "S1", "S2", "S3"]


def test_printing_of_loops(golden):
    steps = {
        "a loop that nothing reaches": (scops.nowhere, ()),
        "tiles of tiles": (scops.transposed, (Tile("L0", (4, 4)), Tile("L0.tile", (2,)))),
        "one loop for two": (scops.planes, (Fuse("L0", "L1"),)),
        "two loops for one": (scops.ordered_gemm, (Distribute("L0", 1),)),
        "down": (scops.backward, ()),
    }
    lines = []
    for title, (make, transforms) in steps.items():
        schedule = source_schedule(make()).apply(*transforms)
        lines += [f"-- {title}", *show_tree(schedule.tree, schedule.scop), ""]
    golden("schedule/printing.tree", "\n".join(lines))


def test_rules_have_balanced_parentheses():
    for make in (scops.transposed, scops.backward, scops.gemm, scops.diagonal):
        schedule = source_schedule(make()).attempt(Tile("L0", (4,)), Tile("L0.point", (2,)))
        assert schedule is not None
        text = str(schedule)
        assert text.count("(") == text.count(")")
        assert "floor((" not in text
