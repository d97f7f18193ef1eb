"""Scalar temporaries: forwarded, expanded, or left alone where neither is sound."""

from __future__ import annotations

import pytest

from polyopt.ir.showing import show
from polyopt.schedule import source_schedule
from polyopt.schedule.privatize import cost, loop_iterators, privatize, shared_loops
from polyopt.schedule.tree import bands
from polyopt.transforms import Parallelize
from tests import scops
from tests.checks import assert_computes, assert_illegal
from tests.reading import read


def rules(scop):
    return [f"{show(s.target)} = {show(s.value)}" for s in privatize(scop).statements]


def temps(scop):
    found = privatize(scop).arrays
    return {a.name: tuple(map(show, a.shape)) for a in found if a.role.value == "temp"}


def test_a_cheap_value_is_forwarded():
    scop = read(
        """
        for i in range(N):
            t = A[i] + 1
            B[i] = t * t
        """,
        "A[N]; B[N]; temp t",
    )
    assert rules(scop) == ["B[i] = (A[i] + 1.0) * (A[i] + 1.0)"]
    assert temps(scop) == {}
    assert_computes(scop, Parallelize("i"))


def test_chains_are_forwarded():
    scop = read(
        """
        for i in range(N):
            s = A[i] + 1
            t = s * 2
            B[i] = t - s
        """,
        "A[N]; B[N]; temp s; temp t",
    )
    assert rules(scop) == ["B[i] = (A[i] + 1.0) * 2.0 - (A[i] + 1.0)"]
    assert_computes(scop, Parallelize("i"))


def test_an_expensive_value_is_expanded():
    scop = read(
        """
        for i in range(N):
            t = sqrt(A[i]) + exp(A[i])
            B[i] = t * t
        """,
        "A[N]; B[N]; temp t",
    )
    assert rules(scop) == ["t[i] = sqrt(A[i]) + exp(A[i])", "B[i] = t[i] * t[i]"]
    assert temps(scop) == {"t": ("N",)}
    assert_computes(scop, Parallelize("i"))


def test_an_accumulator_is_expanded_over_the_loop_it_lives_in():
    assert rules(scops.dot()) == [
        "s[i] = 0.0",
        "s[i] = s[i] + A[i, k] * x[k]",
        "y[i] = s[i]",
    ]
    assert temps(scops.dot()) == {"s": ("N",)}
    assert_computes(scops.dot(), Parallelize("i"))


def test_the_context_counts():
    """With M possibly negative the inner loop and its producers are the same: nothing is lost."""
    assert temps(scops.dot()) == {"s": ("N",)}
    without = read(
        """
        for i in range(N):
            for k in range(M):
                s = A[i, k] + s
            y[i] = s
        """,
        "temp s; A[N, M]; y[N]",
        "N M",
    )
    assert temps(without) == {"s": ()}


def test_two_loops_deep():
    scop = read(
        """
        for i in range(N):
            for j in range(i, M):
                t = 0
                for k in range(i):
                    t = t + A[i, k] * A[j, k]
                B[i, j] = t
        """,
        "A[N + M, N]; B[N, M]; temp t",
        "N M",
    )
    assert len(temps(scop)["t"]) == 2
    assert_computes(scop, Parallelize("i"))


def test_loops_that_count_down():
    scop = read(
        """
        for i in range(N - 1, -1, -1):
            t = A[i] * 2
            B[i] = t
            C[i] = t * t + sqrt(t)
        """,
        "A[N]; B[N]; C[N]; temp t",
    )
    assert temps(scop) == {}
    assert_computes(scop, Parallelize("i"))


UNSOUND = {
    "carried to the next iteration": (
        """
        for i in range(N):
            B[i] = t
            t = A[i]
        """,
        "A[N]; B[N]; temp t",
    ),
    "read before written": (
        """
        for i in range(N):
            B[i] = t * 2
            t = 1
        """,
        "B[N]; temp t",
    ),
    "guarded write": (
        """
        t = 0
        for i in range(N):
            if A[i] > 0:
                t = A[i]
            B[i] = t
        """,
        "A[N]; B[N]; temp t",
    ),
    "read after the loop": (
        """
        for i in range(N):
            t = A[i]
            B[i] = t
        C[0] = t
        """,
        "A[N]; B[N]; C[1]; temp t",
    ),
    "written in some iterations": (
        """
        t = 5
        for i in range(N):
            if i > 2:
                t = A[i]
            B[i] = t
        """,
        "A[N]; B[N]; temp t",
    ),
}


@pytest.mark.parametrize("name", UNSOUND)
def test_neither_is_sound(name):
    scop = read(*UNSOUND[name])
    assert temps(scop) == {"t": ()}
    assert len(privatize(scop).statements) == len(scop.statements)
    assert_illegal(scop, "PO0312", Parallelize("i"))


def test_a_guarded_write_after_a_sure_one_is_expanded():
    scop = read(
        """
        for i in range(N):
            t = 0
            if A[i] > 0:
                t = A[i]
            B[i] = t
        """,
        "A[N]; B[N]; temp t",
    )
    assert temps(scop) == {"t": ("N",)}
    assert_computes(scop, Parallelize("i"))


def test_an_operand_overwritten_in_between_is_not_forwarded():
    scop = read(
        """
        for i in range(N):
            t = A[i] + 1
            A[i] = 7
            B[i] = t
        """,
        "A[N]; B[N]; temp t",
    )
    assert rules(scop) == ["t[i] = A[i] + 1.0", "A[i] = 7.0", "B[i] = t[i]"]
    assert_computes(scop, Parallelize("i"))


def test_an_operand_overwritten_by_the_reader_itself_is_forwarded():
    """The read happens before the write of the same instance."""
    scop = read(
        """
        for i in range(N):
            t = A[i] + 1
            A[i] = t
        """,
        "A[N]; temp t",
    )
    assert rules(scop) == ["A[i] = A[i] + 1.0"]
    assert_computes(scop, Parallelize("i"))


def test_swap():
    scop = read(
        """
        for i in range(N):
            t = A[i]
            A[i] = B[i]
            B[i] = t
        """,
        "A[N]; B[N]; temp t",
    )
    assert temps(scop) == {"t": ("N",)}
    assert_computes(scop, Parallelize("i"))


def test_a_scalar_used_in_two_loops_of_its_own():
    scop = read(
        """
        for i in range(N):
            t = sqrt(A[i]) / 3
            B[i] = t
        for j in range(N):
            t = B[j] / 5
            C[j] = t * t
        """,
        "A[N]; B[N]; C[N]; temp t",
    )
    assert_computes(scop)


def test_a_scalar_that_is_a_subscript():
    """The reader's own target holds the scalar: it must be replaced there as well."""
    scop = read(
        """
        for i in range(N):
            k = P[i]
            A[k] = A[k] + B[i]
        """,
        "int64 P[N]; A[M]; B[N]; int64 temp k",
        "N M",
    )
    found = privatize(scop)
    names = {array.name for array in found.arrays}
    for statement in found.statements:
        for access in (statement.write, *statement.reads):
            assert access.array in names
    assert rules(scop) == ["A[P[i]] = A[P[i]] + B[i]"]


def test_bounds_that_may_be_negative():
    """Cells are counted from the least value of the iterator."""
    scop = read(
        """
        for i in range(0 - N, N):
            t = sqrt(A[i + N]) / 3
            B[i + N] = t * t
        """,
        "A[2 * N]; B[2 * N]; temp t",
    )
    assert temps(scop) == {"t": ("2 * N",)}
    assert rules(scop)[0].startswith("t[i + N] = ")
    assert_computes(scop, Parallelize("i"))


def test_a_window_around_each_iteration():
    scop = read(
        """
        for i in range(N):
            for k in range(i - M, i + M + 1):
                t = sqrt(A[i]) / (k + 1)
                B[i, k - i + M] = t * t
        """,
        "A[N]; B[N, 2 * M + 1]; temp t",
        "N M",
    )
    assert temps(scop)["t"][0] == "N"
    assert_computes(scop, Parallelize("i"))


def test_loops_around_one_that_begins_anywhere():
    """What cannot be counted is left out: the loops around it have their cells all the same."""
    scop = read(
        """
        for i in range(N):
            for k in range(min(0 - M, 0 - N), M):
                t = sqrt(A[i]) / 3
                B[i, k + M + N] = t * t
        """,
        "A[N]; B[N, 2 * M + N]; temp t",
        "N M",
    )
    assert temps(scop) == {"t": ("N",)}
    assert_computes(scop, Parallelize("i"))


def test_several_scalars_in_order():
    scop = read(
        """
        for i in range(N):
            a = A[i] / 3
            b = a / 7
            B[i] = a + b
        """,
        "A[N]; B[N]; temp a; temp b",
    )
    assert temps(scop).keys() <= {"a", "b"}
    assert_computes(scop, Parallelize("i"))
    assert [m.kind.value for b in bands(source_schedule(scop).tree) for m in b.members]


def test_shared_loops_and_their_iterators():
    s0, s1, s2, s3 = scops.dot().statements
    assert shared_loops([s0, s3]) == 1
    assert shared_loops([s1, s2]) == 2
    assert shared_loops([s0, s1, s2, s3]) == 1
    assert loop_iterators(s1, 2) == ("i", "k")
    first, second = scops.chain().statements
    assert shared_loops([first, second]) == 0
    assert loop_iterators(scops.backward().statements[0], 2) == ("i", "j")


def test_cost_weighs_divisions_and_calls():
    scop = read("A[0] = B[0] * B[0] + 1\nA[1] = sqrt(B[0]) / B[1]", "A[2]; B[2]")
    cheap, dear = (cost(s.value) for s in scop.statements)
    assert (cheap, dear) == (4, 22)


def test_a_value_for_the_next_iteration_is_not_forwarded():
    """Every read has a producer, an iteration earlier."""
    scop = read(
        """
        for i in range(N):
            if i > 0:
                B[i] = t
            t = A[i]
        """,
        "A[N]; B[N]; temp t",
    )
    assert rules(scop) == ["B[i] = t", "t = A[i]"]
    assert_computes(scop)
    assert_illegal(scop, "PO0312", Parallelize("i"))


def test_a_value_for_the_whole_inner_loop_has_a_cell_per_outer_iteration():
    scop = read(
        """
        for i in range(N):
            for j in range(M):
                if j == 0:
                    t = sqrt(A[i]) / 3
                B[i, j] = t
        """,
        "A[N]; B[N, M]; temp t",
        "N M",
    )
    assert temps(scop) == {"t": ("N",)}
    assert_computes(scop, Parallelize("i"))
    assert_illegal(scop, "PO0312", Parallelize("j"))


def test_a_row_temporary_gets_a_row_per_outer_iteration():
    """One iterator in front, whatever the depth: cells are memory."""
    scop = read(
        """
        for i in range(N):
            for j in range(M):
                for k in range(K):
                    T[k] = A[i, k] * B[k, j]
                for k in range(K - 1):
                    C[i, j] = C[i, j] + T[k] * T[k + 1]
        """,
        "A[N, K]; B[K, M]; C[N, M]; temp T[K]",
        "N M K",
    )
    assert temps(scop) == {"T": ("N", "K")}
    assert_computes(scop, Parallelize("i"))


ROW = """
for i in range({first}, N):
    for j in range(M):
        T[j] = {value}
    for j in range(M):
        A[i, j] = T[{use}]
"""


@pytest.mark.parametrize(
    "first, value, use, shape",
    [
        ("0", "A[i, j] * 2", "M - 1 - j", ("N", "M")),
        ("1", "A[i, j] + A[i - 1, j]", "j", ("M",)),
    ],
)
def test_rows_are_expanded_where_that_frees_the_loop(first, value, use, shape):
    scop = read(ROW.format(first=first, value=value, use=use), "A[N, M]; temp T[M]", "N M")
    assert temps(scop) == {"T": shape}
    if len(shape) == 2:
        assert_computes(scop, Parallelize("L0"))
    else:
        assert_illegal(scop, "PO0312", Parallelize("L0"))


def test_rows_that_keep_a_value_are_not_expanded():
    scop = read(
        """
        for i in range(N):
            for j in range(i, M):
                T[j] = A[i, j]
            for j in range(M):
                B[i, j] = T[j]
        """,
        "A[N, M]; B[N, M]; temp T[M]",
        "N M",
    )
    assert temps(scop) == {"T": ("M",)}
    assert_computes(scop)
