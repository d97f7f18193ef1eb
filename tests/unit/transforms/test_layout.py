"""Layout: dimensions permuted, tiled, padded."""

from __future__ import annotations

import pytest

from polyopt.ir.showing import show
from polyopt.schedule import source_schedule
from polyopt.transforms import Dimension, Fuse, LayOut, Pack, Tile, parse_steps
from polyopt.transforms.layout import Part
from tests import scops
from tests.checks import assert_computes, assert_round_trip
from tests.reading import read
from tests.unit.transforms import data_programs
from tests.unit.transforms.refusing import refused

ZERO, ONE = Dimension(0), Dimension(1)
TILES = (Dimension(1, Part.TILE, 4), ZERO, Dimension(1, Part.POINT, 4))


@pytest.mark.parametrize(
    ("dimensions", "shape"),
    [
        ((ONE, ZERO), ["M", "N"]),
        ((Dimension(0, Part.PADDED, 3), ONE), ["N + 3", "M"]),
        (TILES, ["(M + 3) // 4", "N", "4"]),
        ((Dimension(1, Part.SKEWED, 2, 0), ZERO), ["M + 2 * N - 2", "N"]),
    ],
)
def test_same_results(dimensions, shape):
    schedule = assert_computes(data_programs.blur(), LayOut("T", dimensions))
    assert [show(e) for e in schedule.scop.array("T").shape] == shape


def test_a_packed_copy_is_transposed():
    steps = (Tile("L0", (4, 4, 4)), Pack("B", "k_tile"))
    dimensions = tuple(Dimension(d) for d in (0, 1, 2, 4, 3))
    assert_computes(scops.gemm(), *steps, LayOut("B_pack", dimensions))


def test_other_steps_follow():
    assert_computes(data_programs.pipeline(), LayOut("T", (ONE, ZERO)), Fuse("L0", "L1"))


def test_round_trip():
    step = LayOut("T", TILES)
    assert str(step) == "layout(T, 1/4, 0, 1%4)"
    assert_round_trip(step, LayOut("T", (ONE, Dimension(0, Part.PADDED, 8))))
    assert parse_steps("layout(T, 1 / 4, 0, 1 % 4)") == (step,)
    skewed = LayOut("T", (Dimension(1, Part.SKEWED, 2, 0), ZERO))
    assert str(skewed) == "layout(T, 1+2*0, 0)"
    assert_round_trip(skewed)


@pytest.mark.parametrize(
    "dimensions",
    [
        (),
        (ZERO,),
        (ZERO, ZERO),
        (ZERO, ONE, ONE),
        (ZERO, TILES[0]),
        (ZERO, ONE, Dimension(2)),
        (Dimension(1, Part.SKEWED, 2, 0), Dimension(0, Part.SKEWED, 1, 1)),
        (Dimension(1, Part.SKEWED, 1, 1), ZERO),
        (Dimension(1, Part.SKEWED, 1, 2), ZERO),
    ],
)
def test_incomplete(dimensions):
    assert refused(data_programs.blur(), LayOut("T", dimensions))[0] == "PO0335"


def test_a_tile_and_a_point_of_two_sizes():
    odd = (TILES[0], ZERO, Dimension(1, Part.POINT, 8))
    assert refused(data_programs.blur(), LayOut("T", odd))[0] == "PO0335"


def test_an_argument():
    code, _, hint = refused(data_programs.blur(), LayOut("A", (ONE, ZERO)))
    assert code == "PO0331"
    assert "pack(A, LOOP)" in hint


def test_elements_that_data_find_keep_their_subscripts():
    """Padding changes no subscript; the certificate cannot follow one from memory elsewhere."""
    scop = read(
        """
        for i in range(N):
            for j in range(N):
                T[i, j] = A[i, j]
        for i in range(N):
            for j in range(N):
                B[i, j] = T[min(max(P[i], 0), N - 1), j]
        """,
        "A[N, N]; B[N, N]; temp T[N, N]; int64 P[N]",
        "N",
        least=1,
    )
    padded = LayOut("T", (ZERO, Dimension(1, Part.PADDED, 8)))
    assert source_schedule(scop).apply(padded).scop.array("T").shape[1] != scop.array("T").shape[1]
    for dimensions in (
        (ONE, ZERO),
        (ZERO, Dimension(1, Part.TILE, 2), Dimension(1, Part.POINT, 2)),
    ):
        code, message, _ = refused(scop, LayOut("T", dimensions))
        assert code == "PO0332"
        assert message.endswith("subscripts that depend on data find elements of T")
