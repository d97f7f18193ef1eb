"""Witnesses: the smallest example of what a refused step would break, and how it is told."""

from __future__ import annotations

from dataclasses import replace

import islpy as isl
import pytest

from polyopt.errors import IllegalSchedule
from polyopt.schedule import Witness, source_schedule
from polyopt.schedule.legality import Fault
from polyopt.schedule.witness import smallest_pair
from polyopt.transforms import Distribute, Fuse, Parallelize, Tile, Vectorize
from tests import scops
from tests.checks import assert_illegal
from tests.reading import read


def test_rendered_whole():
    error, _ = assert_illegal(scops.prefix(), "PO0312", Parallelize("i"))
    assert str(error) == (
        "error[PO0312]: parallelize(i) is not legal: the loop `i` carries a dependence\n"
        "  --> demo.py:3:5\n"
        "   = note: example: N=3: iteration (i=1) writes A[1], then iteration (i=2) reads it; "
        "the two would run at the same time\n"
        "   = note: values: A[2] is 12.0 in the source's order, 11.0 if the two run in the other "
        "order\n"
        "   = note: kind: flow dependence on A, S0 -> S0\n"
        "   = note: demo.py:3:5: A[i] = A[i] + A[i - 1]\n"
        "   = help: keep `i` in order: no step that was tried makes it parallel"
    )


def test_both_lines_are_named():
    error, witness = assert_illegal(scops.ahead(), "PO0311", Fuse("L0", "L1"))
    assert error.notes == (
        "example: N=2: iteration (i=1) writes B[1], then iteration (j=0) reads it; "
        "the second would run before the first",
        "values: C[0] is 4.0 in the source's order, 9.0 after fuse(L0, L1)",
        "kind: flow dependence on B, S0 -> S1",
        "demo.py:3:5: B[i] = A[i]",
        "demo.py:5:5: C[j] = B[j + 1]",
    )
    assert error.loc is not None
    assert error.loc.line == 5
    assert witness.fault is Fault.REVERSED


def test_sizes_hold_what_both_iterations_access():
    scop = read(
        """
        for i in range(N):
            for j in range(i):
                x[i] = x[i] - A[i, j] * x[j]
        """,
        "A[N, N]; x[M]",
        params="N M",
    )
    _, witness = assert_illegal(scop, "PO0312", Parallelize("j"))
    assert dict(witness.params) == {"N": 3, "M": 3}
    assert (witness.source, witness.target) == (("S0", (2, 0)), ("S0", (2, 1)))


def test_the_smallest_sizes():
    scop = read(
        """
        for i in range(10, N):
            A[i] = A[i - 7]
        """,
        "A[N]",
    )
    _, witness = assert_illegal(scop, "PO0312", Vectorize("i"))
    assert dict(witness.params) == {"N": 18}
    assert (witness.source, witness.target) == (("S0", (10,)), ("S0", (17,)))
    assert witness.cell == (10,)


def test_the_context_bounds_the_sizes():
    scop = read("for i in range(1, N):\n    A[i] = A[i - 1]", "A[N]", least=50)
    _, witness = assert_illegal(scop, "PO0312", Parallelize("i"))
    assert dict(witness.params) == {"N": 50}


def test_sizes_that_may_be_negative_stay_small():
    """An offset has no least value: the example shows one near zero."""
    scop = read("for i in range(10):\n    A[i + 100 + K] = A[i + 100]", "A[200 + K]", "K", None)
    with pytest.raises(IllegalSchedule) as refused:
        source_schedule(scop).apply(Parallelize("i"))
    witness = refused.value.witness
    assert isinstance(witness, Witness)
    assert dict(witness.params) == {"K": 1}
    first = read("for i in range(N):\n    A[i + 100 + K] = A[i + 100]", "A[200 + K]", "K N", None)
    with pytest.raises(IllegalSchedule) as refused:
        source_schedule(first).apply(Parallelize("i"))
    witness = refused.value.witness
    assert isinstance(witness, Witness)
    assert dict(witness.params) == {"K": 1, "N": 2}
    below = read("for i in range(K, K + 9):\n    A[0 - i] = A[1 - i]", "A[200]", "K", None)
    ends = replace(below, context=isl.Set("[K] -> { : K < -3 }"))
    with pytest.raises(IllegalSchedule) as refused:
        source_schedule(ends).apply(Parallelize("i"))
    witness = refused.value.witness
    assert isinstance(witness, Witness)
    assert dict(witness.params) == {"K": -4}


def test_zero_dimensional_arrays_and_statements():
    scop = read(
        """
        for i in range(N):
            s = s + A[i]
        """,
        "s; A[N]",
    )
    error, witness = assert_illegal(scop, "PO0312", Parallelize("i"))
    assert witness.cell == ()
    assert "writes s, then" in error.notes[0]
    outside = read("for i in range(N):\n    s = A[i]\nB[0] = s", "s; A[N]; B[1]")
    error, witness = assert_illegal(outside, "PO0312", Parallelize("i"))
    assert witness.kind == "output"


def test_kinds():
    anti = read("for i in range(N - 1):\n    A[i] = A[i + 1]", "A[N]")
    error, witness = assert_illegal(anti, "PO0312", Parallelize("i"))
    assert witness.kind == "anti"
    assert "reads A[1], then iteration (i=1) writes it" in error.notes[0]
    output = read("for i in range(N):\n    A[0] = B[i]", "A[1]; B[N]")
    error, witness = assert_illegal(output, "PO0312", Parallelize("i"))
    assert witness.kind == "output"
    assert "writes A[0], then iteration (i=1) writes it" in error.notes[0]


@pytest.mark.parametrize(
    ("make", "code", "step"),
    [
        (scops.jacobi, "PO0311", Distribute("L0")),
        (scops.jacobi, "PO0312", Parallelize("t")),
        (scops.jacobi, "PO0311", Fuse("L1", "L2")),
        (scops.solve, "PO0312", Parallelize("j")),
        (scops.solve, "PO0312", Parallelize("i")),
        (scops.seidel, "PO0312", Vectorize("j")),
        (scops.backward, "PO0312", Parallelize("i")),
        (scops.diagonal, "PO0311", Tile("L0", (3, 5))),
        (scops.ordered_gemm, "PO0312", Vectorize("k")),
    ],
)
def test_real(make, code, step):
    assert_illegal(make(), code, step)


def test_smallest_pair_is_lexicographic():
    scop = scops.seidel()
    pairs = isl.Map(
        "[N] -> { S0[i, j] -> S0[i', j'] : 2*floor((i + j)/2) = i + j and i' = i + 1"
        " and 3 <= j < N and j' >= j and j' < N and 2 <= i < N and N > 5 }"
    )
    params, source, target = smallest_pair(pairs, scop)
    assert params == {"N": 6}
    assert (source, target) == ((2, 4), (3, 4))


def test_the_smallest_of_all_dependences():
    """Two arrays break the step; the example is the one that needs the smaller size."""
    far, near = "A[i] = A[i - 5]", "B[i] = B[i - 1]"
    for first, second in ((far, near), (near, far)):
        scop = read(f"for i in range(5, N):\n    {first}\n    {second}", "A[N]; B[N]")
        _, witness = assert_illegal(scop, "PO0312", Parallelize("i"))
        assert (witness.array, dict(witness.params)) == ("B", {"N": 7})
