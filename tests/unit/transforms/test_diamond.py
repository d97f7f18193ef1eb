"""Diamond: structure, legality, results, concurrent start, refusals."""

from __future__ import annotations

import pytest

from polyopt.ir.interp import points
from polyopt.schedule import source_schedule
from polyopt.schedule.sizes import Named
from polyopt.schedule.tree import find_band, statement_function
from polyopt.transforms import Affine, Diamond, Fusion, Parallelize, Tile, Vectorize, parse_steps
from tests import scops
from tests.checks import assert_computes, assert_illegal, assert_round_trip, story
from tests.reading import read
from tests.unit.transforms.refusing import refused


def jacobi_1d():
    return read(
        """
        for t in range(T):
            for i in range(1, N - 1):
                B[i] = A[i - 1] + A[i] + A[i + 1]
            for i in range(1, N - 1):
                A[i] = B[i - 1] + B[i] + B[i + 1]
        """,
        "A[N]; B[N]",
        "T N",
    )


def heat(left=1, right=1):
    return read(
        f"""
        for t in range(T):
            for i in range({left}, N - {right}):
                A[t + 1, i] = A[t, i - {left}] + A[t, i] + A[t, i + {right}]
        """,
        "A[T + 1, N]",
        "T N",
    )


def test_golden(golden):
    steps = (Diamond("L0", (8,)), Parallelize("L0.tile[1]"), Vectorize("L1"))
    golden("schedule/diamond_jacobi.tree", story(jacobi_1d(), *steps))


@pytest.mark.parametrize("size", [1, 2, 3, 8, 100])
def test_same_results(size):
    assert_computes(jacobi_1d(), Diamond("L0", (size,)), Parallelize("L0.tile[1]"))
    assert_computes(heat(), Diamond("L0", (size,)), Parallelize("L0.tile[1]"))


@pytest.mark.parametrize("reach", [(1, 0), (0, 1), (2, 1), (1, 3)])
def test_lopsided_stencils(reach):
    assert_computes(heat(*reach), Diamond("L0", (4,)), Parallelize("L0.tile[1]"))


def test_two_dimensions():
    steps = (Diamond("L0", (4, 3)), Parallelize("L0.tile[1]"), Tile("L1", (2, 2)))
    assert_computes(scops.jacobi(), *steps)
    assert_computes(scops.jacobi(), Diamond("L0", (4,)), Parallelize("L0.tile[1]"))


def test_after_the_affine_scheduler():
    steps = (Affine(Fusion.MIN), Diamond("L0", (4,)), Parallelize("L0.tile[1]"))
    assert_computes(jacobi_1d(), *steps)


def test_the_first_front_is_as_wide_as_the_others():
    """A wavefront of parallelograms begins with one tile; a front of diamonds spans all space."""
    schedule = source_schedule(heat()).apply(Diamond("L0", (8,)))
    front, tile = find_band(schedule.tree, "L0.tile").members
    sizes = {"T": 64, "N": 160}
    found: dict[int, set[int]] = {}
    statement = schedule.scop.statement("S0")
    functions = [statement_function(m, schedule.scop, "S0") for m in (front, tile)]
    for _, t, i in ((0, *p) for p in points(statement.domain, sizes)):
        one, two = (t + i) // 8, (t - i) // 8
        found.setdefault(one + two, set()).add(one)
    assert [str(f).count("floor") for f in functions] == [2, 1]
    counts = [len(found[number]) for number in sorted(found)]
    assert min(counts) >= 20
    assert max(counts) <= 21


def test_without_the_front_nothing_is_parallel():
    assert_illegal(heat(), "PO0312", Diamond("L0", (8,)), Parallelize("L0.tile[0]"))


def test_round_trip():
    assert_round_trip(Diamond("L0", (32,)), Diamond("L0.point", (8, 16, 512)))
    assert str(Diamond("L0", (Named("T", 8), 9))) == "diamond(L0, T, 9)"


def test_refusals():
    code, message, hint = refused(scops.seidel(), Diamond("L0", (4,)))
    assert code == "PO0328"
    assert message == "diamond(L0, 4): dependences along `j` are faster than 16 per step of time"
    assert hint is not None
    assert_computes(scops.seidel(), *parse_steps(hint.partition(": ")[2]))
    in_place = read(
        """
        for t in range(T):
            for i in range(1, N - 1):
                A[i] = A[i - 1] + A[i + 1]
        """,
        "A[N]",
        "T N",
    )
    code, _, hint = refused(in_place, Diamond("L0", (4,)))
    assert hint is not None
    assert_computes(in_place, *parse_steps(hint.partition(": ")[2]))
    assert refused(scops.backward(), Diamond("L0", (4,)))[0] == "PO0328"
    code, _, hint = refused(scops.gemm(), Diamond("L0", (4,)))
    assert (code, hint) == ("PO0328", "leave `i` alone and parallelize(j)")
    assert refused(scops.prefix(), Diamond("L0", (4,)))[0] == "PO0306"
    assert refused(scops.solve(), Diamond("L0", (4,)))[0] == "PO0306"
    assert refused(heat(), Diamond("L0", (4, 4)))[0] == "PO0303"
    assert refused(heat(), Diamond("L0", (0,)))[0] == "PO0303"
    assert refused(heat(), Diamond("L7", (4,)))[0] == "PO0301"
