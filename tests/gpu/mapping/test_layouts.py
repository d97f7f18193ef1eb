"""How copies lie: turned, padded, and stored a vector at a time."""

from __future__ import annotations

import numpy as np
import pytest

import polyopt as po
from polyopt.emit.lower import lower
from polyopt.errors import ScheduleError
from polyopt.ir.loops import DeclareArray
from polyopt.ir.nodes import all_nodes
from polyopt.ir.showing import show
from polyopt.schedule import source_schedule
from polyopt.transforms import Dimension, Pack, Tile, parse_steps
from polyopt.transforms.layout import Part
from tests import scops
from tests.checks import assert_computes, assert_round_trip
from tests.oracle.program import as_program
from tests.texts import bare

TRANSPOSED = Pack("A", "k_tile", (Dimension(1), Dimension(0, Part.PADDED, 3)))
TILED = Tile("L0", (4, 3, 2))

PRODUCT = """
tile(L0, 16, 16, 8)
threads(L0.point[0], L0.point[1])
pack(A, L0.tile[2], 1, 0+4)
strip(A_in[1], 4)
threads(A_in[0], A_in[1])
grid(L0.tile[0], L0.tile[1])
"""


def multiply(A, B, C):
    for i in range(A.shape[0]):
        for j in range(B.shape[1]):
            for k in range(A.shape[1]):
                C[i, j] += A[i, k] * B[k, j]


def test_same_results():
    assert_computes(scops.gemm(), TILED, TRANSPOSED)
    tiles = (Dimension(0, Part.TILE, 2), Dimension(1), Dimension(0, Part.POINT, 2))
    assert_computes(scops.gemm(), TILED, Pack("A", "k_tile", tiles))
    assert_round_trip(TRANSPOSED, Pack("A", "k_tile", tiles), Pack("A", "k_tile"))


def test_padding_stays_where_the_copy_is_small():
    scop = scops.gemm()
    loops = lower(source_schedule(scop).apply(TILED, TRANSPOSED), as_program(scop))
    (copy,) = (n for n in all_nodes(loops.body) if isinstance(n, DeclareArray))
    assert [show(extent) for extent in copy.array.shape] == ["2", "7"]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("pack(A, k_tile, 1)", "PO0335"),
        ("pack(A, k_tile, 0, 0)", "PO0335"),
        ("pack(A, k_tile, 0, 1+x)", "PO0323"),
        ("pack(A)", "PO0323"),
    ],
)
def test_refusals(text: str, code: str):
    with pytest.raises(ScheduleError) as refused:
        source_schedule(scops.gemm()).apply(TILED, *parse_steps(text))
    assert refused.value.code == code


@pytest.mark.toolchain
def test_vectors_are_loaded_whole_and_stored_by_elements():
    kernel = po.kernel(target="cuda", device="emulated", schedule=PRODUCT)(multiply)
    rng = np.random.default_rng(3)
    for n, m, k in ((33, 18, 20), (16, 16, 7), (1, 2, 3)):
        A, B = (rng.integers(-4, 5, shape).astype(np.float32) for shape in ((n, k), (k, m)))
        C = np.zeros((n, m), np.float32)
        kernel(A, B, C)
        assert np.array_equal(C, A @ B)
    source = bare(kernel.compile(A, B, C).source)
    assert "const float4 wide = *(const float4 *)&A[" in source
    assert "= wide.w;" in source
    assert "float A_pack[8][20];" in source
