"""Pack: footprints, copies in and out, results, refusals."""

from __future__ import annotations

from random import Random

import pytest

from polyopt.emit.lower import lower
from polyopt.ir.loops import show_body
from polyopt.proof import certify
from polyopt.schedule import source_schedule
from polyopt.transforms import Interchange, Pack, Parallelize, Tile, Vectorize, parse_steps
from tests import scops
from tests.checks import assert_computes, assert_round_trip, story
from tests.oracle.hashed import hashed
from tests.oracle.program import as_program
from tests.properties.schedules import check_schedule
from tests.reading import read
from tests.unit.transforms import data_programs
from tests.unit.transforms.refusing import refused


def loops_of(scop, *steps):
    return "\n".join(show_body(lower(source_schedule(scop).apply(*steps), as_program(scop)).body))


def test_golden(golden):
    steps = (Tile("L0", (4, 4, 4)), Pack("B", "k_tile"), Pack("C", "j_tile"))
    golden("schedule/pack_gemm.tree", story(scops.gemm(), *steps))


def test_same_results():
    tiled = Tile("L0", (4, 3, 2))
    assert_computes(scops.gemm(), tiled, Pack("B", "k_tile"), Pack("A", "k_tile"))
    assert_computes(scops.gemm(), tiled, Pack("C", "j_tile"), Parallelize("i_tile"))
    assert_computes(scops.gemm(), Pack("B", "j"), Parallelize("j"))
    steps = (tiled, Pack("B", "k_tile"), Interchange("j", "k"), Vectorize("j"))
    assert_computes(scops.gemm(), *steps)


@pytest.mark.parametrize("loop", ["t", "L1[0]", "L2[1]"])
def test_stencils(loop):
    assert_computes(scops.jacobi(), Pack("A", loop), Pack("B", loop))


@pytest.mark.parametrize("loop", ["k", "L1", "L2[0]", "L2[1]"])
def test_an_array_that_is_written_in_place(loop):
    assert_computes(data_programs.triangle(), Pack("A", loop))


def test_skewed_and_tiled():
    scop = scops.seidel()
    assert_computes(scop, Tile("L0", (2,)), Pack("A", "L0.tile[0]"))


def test_packed_twice():
    steps = (Tile("L0", (4, 4, 4)), Pack("B", "k_tile"), Pack("B_pack", "L0.point[0]"))
    assert_computes(scops.gemm(), *steps)


def test_elements_under_a_condition():
    """What is perhaps not written is copied in, so that it can be copied out."""
    text = loops_of(data_programs.histogram(), Pack("c", "i"))
    assert "c_pack[c0] = c[c0]" in text
    assert_computes(data_programs.histogram(), Pack("c", "i"))
    assert_computes(data_programs.histogram(), Pack("c", "L1"))


def test_only_what_is_read_first_is_copied_in():
    text = loops_of(data_programs.rows(), Pack("w", "i"))
    assert "w_in" not in str(source_schedule(data_programs.rows()).apply(Pack("w", "i")))
    assert "w[w0] = w_pack[w0]" in text


def test_subscripts_from_data():
    scop = read(
        """
        for i in range(N):
            for j in range(M):
                B[i, j] = A[min(max(P[j], 0), M - 1)]
        """,
        "A[M]; B[N, M]; int64 P[M]",
        "N M",
        least=1,
    )
    plain = source_schedule(scop).apply(Pack("P", "i"))
    text = "\n".join(show_body(lower(plain, as_program(scop)).body))
    assert "A[max(P_pack[j], 0)" in text or "A[min(max(P_pack[j], 0), M - 1)]" in text
    code, message, hint = refused(scop, Pack("A", "i"))
    assert code == "PO0332"
    assert message == "pack(A, i): subscripts that depend on data find elements of A"
    assert hint == "leave the step out: A stays where it is"


def test_loops_of_one_iteration():
    scop = read(
        """
        for i in range(1):
            for j in range(N):
                A[j] = A[j + 1]
        """,
        "A[N + 1]",
        "N",
    )
    assert_computes(scop, Pack("A", "i"))
    assert_computes(scop, Tile("L0", (1, 4)), Pack("A", "L0.tile[0]"))


def test_loops_with_steps():
    """isl's flow analysis leaves out last writes here."""
    scop = read(
        """
        for i in range(0, M, 3):
            for j in range(M - 1, i, -1):
                B[i] = 1 + B[N + M - i + 9]
                B[i + 1] = 1 + A[0]
        """,
        "A[1]; B[2 * N + 2 * M + 20]",
        "N M",
        least=3,
    )
    mixed = hashed(scop)
    schedule = source_schedule(mixed).apply(Pack("B", "j"))
    check_schedule(mixed, schedule, [{"N": 3, "M": 5}, {"N": 4, "M": 8}], Random(5))


def test_iterations_share_memory_unless_they_run_together():
    """The copy has the shape of what one iteration uses, times the iterations that overlap."""
    scop = scops.gemm()
    alone = lower(source_schedule(scop).apply(Pack("B", "i")), as_program(scop))
    together = lower(
        source_schedule(scop).apply(Pack("B", "i"), Parallelize("i")), as_program(scop)
    )
    shapes = [
        next(len(a.shape) for a in fn.arrays if a.name == "B_pack") for fn in (alone, together)
    ]
    assert shapes == [2, 3]


def test_round_trip():
    assert_round_trip(Pack("B", "L0.tile[1]"))


def test_refusals():
    gemm = scops.gemm()
    assert refused(gemm, Pack("Z", "k"))[0] == "PO0331"
    assert refused(gemm, Pack("B", "q"))[0] == "PO0301"
    code, message, _ = refused(scops.chain(), Pack("A", "L1"))
    assert code == "PO0331"
    assert "nothing inside the loop touches A" in message


def test_a_copy_of_a_copy_that_later_iterations_add_to():
    """The inner copy is read and written back: two arrays fill the outer one."""
    scop = read(
        """
        for i in range(N):
            for j in range(M):
                B[i, j] = A[i, j] + A[i, j] * C[i, j]
        """,
        "A[N, M]; B[N, M]; C[N, M]",
        "N M",
    )
    steps = parse_steps("pack(A, L0[1]); shift(L0[1], S0, 1); pack(A_pack, L0[1])")
    schedule = assert_computes(scop, *steps)
    program = as_program(scop)
    assert certify(program, lower(schedule, program)).is_proven
