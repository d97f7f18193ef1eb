"""Separate: full tiles and the rest."""

from __future__ import annotations

import pytest

from polyopt.emit.lower import lower
from polyopt.errors import IllegalSchedule
from polyopt.ir.expr import Const, sub
from polyopt.ir.linear import linear
from polyopt.ir.loops import Body, For, LoopKind
from polyopt.ir.nodes import bodies
from polyopt.schedule import source_schedule
from polyopt.schedule.legality import Fault, check_legal
from polyopt.schedule.tree import Filter, Sequence, bands, find_band
from polyopt.transforms import Interchange, Parallelize, Separate, Tile, Unroll, Vectorize
from polyopt.transforms.separate import full_tiles
from tests import scops
from tests.checks import assert_computes, assert_round_trip, assert_same, story
from tests.oracle.program import as_program
from tests.reading import read
from tests.unit.transforms.refusing import refused

TILED = (Tile("L0", (3, 4)), Separate("L0.tile", "L0.point", (3, 4)))


def test_golden(golden):
    golden("schedule/separate_transposed.tree", story(scops.transposed(), *TILED))


def test_golden_inside_tile_loops(golden):
    steps = (Tile("L0", (3, 4)), Separate("L0.point", "L0.point", (3, 4)))
    golden("schedule/separate_points.tree", story(scops.transposed(), *steps))


@pytest.mark.parametrize("scop", [scops.transposed, scops.seidel, scops.backward])
def test_same_results(scop):
    found = scop()
    if scop is scops.transposed:
        assert_computes(found, *TILED)
    points = (Tile("L0", (3, 2)), Separate("L0.point", "L0.point", (3, 2)))
    assert_computes(found, *points)


def test_untiled_loops_have_size_zero():
    steps = (
        Tile("L0", (2, 3)),
        Interchange("L0.point[1]", "L0.point[2]"),
        Unroll("L0.point[0]"),
        Vectorize("L0.point[2]"),
        Separate("L0.tile", "L0.point", (2, 0, 3)),
        Parallelize("L0.tile[0]"),
    )
    assert_computes(scops.gemm(), *steps)


def trips(body: Body) -> list[tuple[str, object]]:
    """Return every loop's label and trip count, None where it is not a constant."""
    found = []
    for node in body:
        if isinstance(node, For):
            trip = linear(sub(node.upper, node.lower))
            found.append((node.label, None if trip.terms else trip.constant))
        for inner in bodies(node):
            found += trips(inner)
    return found


def test_full_tiles_have_constant_trip_counts():
    schedule = source_schedule(scops.transposed()).apply(*TILED)
    loops = trips(lower(schedule, as_program(scops.transposed())).body)
    assert [trip for label, trip in loops if label == "L0.point[0]"] == [3]
    assert [trip for label, trip in loops if label == "L0.point[1]"] == [4]
    rests = [trip for label, trip in loops if label.startswith("L0.point.rest")]
    assert len(rests) == 4
    assert 4 not in rests


def test_the_rest_is_plain():
    """The copy keeps parallel loops and drops lanes and unrolling."""
    marks = (Parallelize("L0.tile[0]"), Unroll("L0.point[0]"), Vectorize("L0.point[1]"))
    steps = (Tile("L0", (3, 4)), *marks, Separate("L0.tile", "L0.point", (3, 4)))
    tree = assert_computes(scops.transposed(), *steps).tree
    kinds = {b.label: [m.kind for m in b.members] for b in bands(tree)}
    assert kinds["L0.tile.rest"] == [LoopKind.PARALLEL, LoopKind.SEQUENTIAL]
    assert kinds["L0.point"] == [LoopKind.UNROLL, LoopKind.VECTOR]
    assert kinds["L0.point.rest"] == [LoopKind.SEQUENTIAL, LoopKind.SEQUENTIAL]


def test_twice():
    steps = (*TILED, Separate("L0.tile.rest", "L0.point.rest", (3, 0)))
    schedule = assert_computes(scops.transposed(), *steps)
    found = [b.label for b in bands(schedule.tree)]
    assert len(found) == len(set(found))


def test_which_tiles_are_full():
    """Of a triangle 0 <= j <= i < N in tiles of 2 by 2, those wholly on or below the diagonal."""
    scop = read(
        """
        for i in range(N):
            for j in range(i + 1):
                A[i, j] = 1
        """,
        "A[N, N]",
    )
    members = find_band(source_schedule(scop).tree, "L0").members
    full = full_tiles(members, (2, 2), scop.domain)
    assert_same(
        full,
        "[N] -> { S0[i, j] : 0 <= j and 2*floor(i/2) + 1 < N"
        " and 2*floor(j/2) + 1 <= 2*floor(i/2) and i >= 0 }",
    )
    rows = full_tiles(members, (2, 0), scop.domain)
    assert_same(
        rows, "[N] -> { S0[i, j] : 0 <= j <= 2*floor(i/2) and 2*floor(i/2) + 1 < N and i >= 0 }"
    )
    alone = full_tiles(members, (1, 1), scop.domain)
    assert alone.is_equal(scop.domain)


def test_full_tiles_may_not_come_first():
    """Separating at the tile loops of a stencil reverses what crosses tiles."""
    steps = (Tile("L0", (3, 4)), Separate("L0.tile", "L0.point", (3, 4)))
    schedule = source_schedule(scops.seidel()).apply(steps[0])
    with pytest.raises(IllegalSchedule) as refusal:
        schedule.apply(steps[1])
    assert refusal.value.code == "PO0311"


def test_the_two_nests_hold_every_instance():
    schedule = source_schedule(scops.transposed()).apply(*TILED)
    tree = schedule.tree
    assert isinstance(tree, Sequence)
    full, rest = tree.parts
    assert full.domain.union(rest.domain).is_equal(schedule.scop.domain)
    assert full.domain.intersect(rest.domain).is_empty()
    lost = Sequence((Filter(full.domain, full.child),))
    violation = check_legal(schedule.scop, schedule.dependences, lost)
    assert violation is not None
    assert violation.fault is Fault.LOST


def test_round_trip():
    assert_round_trip(*TILED, Separate("L0", "L0.point.tile", (0, 8, 0, 24)))


@pytest.mark.parametrize(
    ("step", "code", "message"),
    [
        (
            Separate("L0.tile", "L0.point", (1, 2, 3)),
            "PO0303",
            "separate(L0.tile, L0.point, 1, 2, 3): one size per loop of L0.point is needed",
        ),
        (
            Separate("L0.tile", "L0.point", (0, 0)),
            "PO0303",
            "separate(L0.tile, L0.point, 0, 0): one size per loop of L0.point is needed",
        ),
        (
            Separate("L0.tile", "L0.point", (3, -4)),
            "PO0303",
            "separate(L0.tile, L0.point, 3, -4): a tile size must not be negative",
        ),
        (
            Separate("L0.point", "L0.tile", (3, 4)),
            "PO0304",
            "separate(L0.point, L0.tile, 3, 4): L0.tile is not inside L0.point",
        ),
        (Separate("L1", "L0.point", (3,)), "PO0301", "no band is called `L1`"),
        (Separate("L0.tile", "L1", (3,)), "PO0301", "no band is called `L1`"),
    ],
)
def test_refusals(step, code, message):
    assert refused(scops.transposed(), Tile("L0", (3, 4)), step)[:2] == (code, message)


def test_a_constant_number_of_iterations():
    scop = read("for i in range(8):\n    A[i] = 1", "A[8]", "N")
    tree = assert_computes(scop, Tile("L0", (4,)), Separate("L0.tile", "L0.point", (4,))).tree
    assert isinstance(tree, Sequence)
    assert tree.parts[1].domain.is_empty()
    fn = lower(
        source_schedule(scop).apply(Tile("L0", (4,)), Separate("L0.tile", "L0.point", (4,))),
        as_program(scop),
    )
    assert [label for label, _ in trips(fn.body)] == ["L0.tile[0]", "L0.point[0]"]
    (outer,) = fn.body
    assert isinstance(outer, For)
    assert outer.upper == Const(2, outer.upper.dtype)
