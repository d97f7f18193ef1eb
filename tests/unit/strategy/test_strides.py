"""How accesses move with loops."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from polyopt.ir.source import Layout
from polyopt.schedule import source_schedule
from polyopt.schedule.tree import find_band, path_to
from polyopt.strategy.strides import Stride, accesses, directions, stride_of
from polyopt.transforms import Fuse, Skew, Tile
from tests import scops
from tests.reading import read


def moves(scop, label="L0", steps=(), statement=0):
    """Return per loop of the band what one step does to each access, in order."""
    schedule = source_schedule(scop).apply(*steps)
    found = schedule.scop.statements[statement]
    path, _ = path_to(schedule.tree, schedule.scop, label)
    band = find_band(schedule.tree, label)
    vectors = directions((*path, *band.members), schedule.scop, found)[len(path) :]
    return [
        [stride_of(a, schedule.scop, found, vector).value for a in accesses(found)]
        for vector in vectors
    ]


def test_matrix_product():
    """C[i, j], A[i, k], B[k, j]."""
    assert moves(scops.gemm()) == [
        ["strided", "strided", "invariant"],
        ["contiguous", "invariant", "contiguous"],
        ["invariant", "contiguous", "strided"],
    ]


def test_loops_that_count_down_walk_backwards():
    assert moves(scops.backward()) == [["strided"] * 3, ["strided"] * 3]


def test_strided_layouts_have_no_contiguous_loop():
    scop = scops.transposed()
    arrays = tuple(replace(a, layout=Layout.STRIDED) for a in scop.arrays)
    assert moves(replace(scop, arrays=arrays)) == [["strided", "strided"]] * 2
    rows = tuple(replace(a, layout=Layout.ROWS) for a in scop.arrays)
    assert moves(replace(scop, arrays=rows)) == moves(scop)
    assert moves(scop) == [["contiguous", "strided"], ["strided", "contiguous"]]


def test_steps_over_several_elements():
    scop = read("for i in range(N):\n    A[2 * i] = A[2 * i + 1] + B[i]", "A[2 * N]; B[N]")
    assert moves(scop) == [["strided", "strided", "contiguous"]]


def test_a_subscript_that_the_loop_leaves_alone():
    """Arrays that take turns by `t % 3` are walked like any other along j."""
    text = "for t in range(N):\n    for j in range(N):\n        A[(t + 1) % 3, j] = B[t % 2, j]"
    scop = read(text, "A[3, N]; B[2, N]")
    assert moves(scop) == [["strided", "strided"], ["contiguous", "contiguous"]]


def test_subscripts_that_are_not_linear():
    scop = read(
        "for i in range(N):\n    A[i // 2] = B[i % 3] + C[P[i]] + B[0]",
        "A[N]; B[3]; C[N]; int64 P[N]",
    )
    assert moves(scop) == [["strided", "strided", "strided", "contiguous", "invariant"]]


def test_a_skewed_loop_moves_along_its_own_iterator():
    assert moves(scops.diagonal(), steps=(Skew("j", "i", 2),))[1] == ["contiguous", "contiguous"]
    wave = moves(scops.seidel(), steps=(Skew("i", "j"),))
    assert wave[1] == ["strided"] * 3, "along a diagonal"


def test_tile_loops_do_not_decide():
    point = moves(scops.gemm(), "L0.point", (Tile("L0", (4, 4, 4)),))
    assert point == moves(scops.gemm())


def test_directions():
    scop = scops.diagonal()
    schedule = source_schedule(scop).apply(Skew("j", "i", 2))
    members = find_band(schedule.tree, "L0").members
    assert directions(members, scop, scop.statements[0]) == (
        (Fraction(1), Fraction(-2)),
        (Fraction(0), Fraction(1)),
    )
    twice = (members[0], members[0])
    assert directions(twice, scop, scop.statements[0]) == (None, None)


def test_a_loop_another_statement_has():
    """`j` of the second nest does not move a statement that lies in the outer loop alone."""
    scop = read(
        """
        for i in range(N):
            y[i] = 0
        for i in range(N):
            for j in range(N):
                y[i] = y[i] + A[i, j]
        """,
        "y[N]; A[N, N]",
    )
    assert moves(scop, "L0", (Fuse("L0", "L1"),)) == [["contiguous"]]


@pytest.mark.parametrize("step", list(Stride))
def test_every_step_is_shown(step):
    assert step.value in str([moves(scops.gemm()), moves(scops.transposed())])


def test_accesses_are_distinct():
    scop = read("for i in range(N):\n    A[i] = A[i] + B[i] * B[i] + B[0]", "A[N]; B[N]")
    found = [(a.array, len(a.index)) for a in accesses(scop.statements[0])]
    assert found == [("A", 1), ("B", 1), ("B", 1)]


def test_rows_of_arrays_of_one_element():
    scop = read("for i in range(N):\n    A[i, 0] = B[i]", "A[1, 1]; B[1]")
    assert moves(scop) == [["contiguous", "contiguous"]]
