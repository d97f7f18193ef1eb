"""Parallelize, Vectorize, Unroll: which marks are sound."""

from __future__ import annotations

import pytest

from polyopt.ir.loops import LoopKind
from polyopt.schedule.tree import bands
from polyopt.transforms import Interchange, Parallelize, Tile, Unroll, Vectorize
from tests import scops
from tests.checks import assert_computes, assert_illegal, assert_round_trip, story
from tests.reading import read
from tests.unit.transforms.refusing import refused


def test_golden(golden):
    steps = (Parallelize("i"), Interchange("j", "k"), Vectorize("j"), Unroll("k"))
    golden("schedule/marks_gemm.tree", story(scops.gemm(), *steps))


def test_each_mark_sets_its_kind():
    steps = (Parallelize("L0[0]"), Vectorize("L0[1]"), Unroll("L0[2]"))
    (band,) = bands(assert_computes(scops.gemm(), *steps).tree)
    assert [m.kind for m in band.members] == [LoopKind.PARALLEL, LoopKind.VECTOR, LoopKind.UNROLL]


@pytest.mark.parametrize("loop", ["i", "j"])
def test_parallel(loop):
    assert_computes(scops.gemm(), Parallelize(loop))


def test_an_open_reduction_may_fill_lanes_but_not_threads():
    """Threads would race for the accumulator; lanes get accumulators of their own."""
    assert_computes(scops.gemm(), Vectorize("k"))
    error, witness = assert_illegal(scops.gemm(), "PO0312", Parallelize("k"))
    assert witness.array == "C"
    assert (witness.source, witness.target) == (("S0", (0, 0, 0)), ("S0", (0, 0, 1)))
    assert error.message == "parallelize(k) is not legal: the loop `k` carries a dependence"
    assert error.hint == "another loop is legal: parallelize(i)"


def test_a_sum_whose_order_counts_fills_neither():
    for step in (Parallelize("k"), Vectorize("k")):
        error, witness = assert_illegal(scops.ordered_gemm(), "PO0312", step)
        assert witness.array == "C"
    assert_computes(scops.ordered_gemm(), Unroll("k"))


def test_lanes_need_independent_iterations():
    _, witness = assert_illegal(scops.prefix(), "PO0312", Vectorize("i"))
    assert (witness.kind, witness.source, witness.target) == ("flow", ("S0", (1,)), ("S0", (2,)))


def test_a_use_of_the_accumulator_closes_the_reduction():
    scop = read(
        """
        for i in range(N):
            s[0] += A[i]
            B[i] = s[0]
        """,
        "A[N]; B[N]; s[1]",
    )
    assert_illegal(scop, "PO0312", Vectorize("i"))
    assert_illegal(scop, "PO0312", Parallelize("i"))


def test_no_loop_is_free():
    error, _ = assert_illegal(scops.seidel(), "PO0312", Parallelize("i"))
    assert error.hint is not None


def test_inner_parallel_loop_behind_a_barrier():
    """What the outer loop orders is done before the inner one starts."""
    assert_computes(scops.diagonal(), Parallelize("j"))
    assert_illegal(scops.diagonal(), "PO0312", Parallelize("i"))


def test_tiles_in_parallel():
    assert_computes(scops.transposed(), Tile("L0", (3, 4)), Parallelize("L0.tile[1]"))


def test_unrolling_is_always_legal():
    for scop in (scops.seidel(), scops.prefix(), scops.solve()):
        for band in bands(assert_computes(scop, Unroll("i")).tree):
            assert band.members[0].kind in (LoopKind.UNROLL, LoopKind.SEQUENTIAL)


def test_a_band_with_one_loop_stands_for_it():
    assert_computes(scops.chain(), Parallelize("L0"), Vectorize("L1"))


def test_may_writes_are_dependences():
    error, witness = assert_illegal_scatter()
    assert witness.kind == "output"
    assert not witness.exact
    assert witness.cell is None
    assert any("may-dependence" in note for note in error.notes)


def assert_illegal_scatter():
    """The brute-force oracle cannot read index arrays; the witness is checked by hand."""
    from polyopt.errors import IllegalSchedule
    from polyopt.schedule import Witness, source_schedule

    with pytest.raises(IllegalSchedule) as refusal:
        source_schedule(scops.scatter()).apply(Parallelize("i"))
    witness = refusal.value.witness
    assert isinstance(witness, Witness)
    assert (witness.source, witness.target) == (("S0", (0,)), ("S0", (1,)))
    return refusal.value, witness


def test_round_trip():
    assert_round_trip(Parallelize("L0.tile[0]"), Vectorize("j"), Unroll("L0.point.point[1]"))


@pytest.mark.parametrize("kind", [Parallelize, Vectorize, Unroll])
def test_refusals(kind):
    name = str(kind("x")).partition("(")[0]
    assert refused(scops.gemm(), kind("x"))[0] == "PO0301"
    code, message, _ = refused(scops.gemm(), kind("L0"))
    assert (code, message) == ("PO0303", f"{name}(L0): band L0 has 3 loops, one is needed")
    assert refused(scops.jacobi(), kind("i"))[0] == "PO0302"
