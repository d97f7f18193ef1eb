"""Where a temporary's values stay, in the source's order and after steps."""

from __future__ import annotations

from dataclasses import replace

from polyopt.ir.expr import Iter, integer, rewrite
from polyopt.schedule import source_schedule
from polyopt.schedule.contraction import contraction_loops, contraction_nests, keep_lives
from polyopt.transforms import Contract, Distribute, Fuse, Interchange, Tile
from tests import scops
from tests.reading import read


def homes(scop, *steps):
    schedule = source_schedule(scop).apply(*steps)
    return contraction_loops(schedule.scop, schedule.tree)


def two_stage():
    return read(
        """
        for i in range(N):
            for j in range(M):
                T[i, j] = A[i, j] * 2
        for i in range(N):
            for j in range(M):
                B[i, j] = T[i, j] + 1
        """,
        "A[N, M]; B[N, M]; temp T[N, M]",
        "N M",
    )


def test_values_that_stay_in_one_iteration():
    assert homes(two_stage(), Fuse("L0", "L1")) == {"T": "L0[1]"}
    assert homes(two_stage(), Fuse("L0", "L1", 1)) == {"T": "L0[0]"}


def test_values_that_cross_nests_are_not_contracted():
    assert homes(two_stage()) == {}


def test_contraction_loops_of_tiles():
    steps = (Fuse("L0", "L1"), Tile("L0", (2, 3)), Distribute("L0.point"))
    assert homes(two_stage(), *steps) == {"T": "L0.tile[1]"}


def test_scalars():
    assert homes(scops.dot()) == {"s": "L0[0]"}
    assert homes(scops.dot(), Distribute("L0")) == {}


def test_values_that_cross_iterations():
    scop = read(
        """
        for i in range(1, N):
            T[i] = A[i]
            B[i] = T[i] + T[i - 1]
        """,
        "A[N]; B[N]; temp T[N]",
    )
    assert homes(scop) == {}


def test_an_uninitialised_read_keeps_the_array():
    scop = read(
        """
        for i in range(1, N):
            T[i] = A[i]
            C[i] = T[i]
            B[i] = T[0]
        """,
        "A[N]; B[N]; C[N]; temp T[N]",
    )
    assert homes(scop) == {}


def test_only_temporaries():
    scop = read(
        """
        for i in range(N):
            T[i] = A[i]
            B[i] = T[i]
        """,
        "A[N]; B[N]; T[N]",
    )
    assert homes(scop) == {}


def test_the_order_of_loops_decides():
    scop = read(
        """
        for i in range(N):
            for j in range(M):
                for k in range(K):
                    T[j] = A[i, j, k]
                    B[i, j, k] = T[j]
        """,
        "A[N, M, K]; B[N, M, K]; temp T[M]",
        "N M K",
    )
    assert homes(scop) == {"T": "L0[2]"}
    moved = read(
        """
        for i in range(N):
            for j in range(M):
                T[j] = 0
            for j in range(M):
                for k in range(K):
                    T[j] = T[j] + A[i, j, k]
            for j in range(M):
                B[i, j] = T[j]
        """,
        "A[N, M, K]; B[N, M]; temp T[M]",
        "N M K",
    )
    assert homes(moved) == {"T": "L0[0]"}
    assert homes(moved, Interchange("L2[0]", "L2[1]")) == {"T": "L0[0]"}


def test_a_may_write_keeps_what_was_there():
    scop = read(
        """
        for i in range(N):
            T[0] = 0
            if A[i] > 0:
                T[0] = A[i]
            B[i] = T[0]
        """,
        "A[N]; B[N]; temp T[1]",
    )
    assert homes(scop) == {"T": "L0[0]"}
    without = read(
        """
        for i in range(N):
            if A[i] > 0:
                T[0] = A[i]
            B[i] = T[0]
        """,
        "A[N]; B[N]; temp T[1]",
    )
    assert homes(without) == {}


def row_chain():
    return read(
        """
        for i in range(N):
            for j in range(M):
                T[i, j] = A[i, j] * 2
            for j in range(M):
                U[i, j] = T[i, j] + 1
            for j in range(M):
                V[i, j] = U[i, M - 1 - j] + T[i, j]
            for j in range(M):
                B[i, j] = V[i, j] + U[i, j]
        """,
        "A[N, M]; B[N, M]; temp T[N, M]; temp U[N, M]; temp V[N, M]",
        "N M",
    )


def same_as_read_anew(schedule):
    fresh = replace(schedule.scop)
    found = contraction_nests(schedule.scop, schedule.tree)
    return found == contraction_nests(fresh, schedule.tree)


def test_lives_are_carried_over_steps_that_move_data():
    schedule = source_schedule(row_chain())
    assert contraction_nests(schedule.scop, schedule.tree).keys() == {"T", "U", "V"}
    schedule = schedule.apply(Contract("U", (1, 0)))
    assert same_as_read_anew(schedule)
    assert same_as_read_anew(schedule.apply(Contract("V", (1, 0)), Tile("L2", (4,))))


def test_a_life_that_a_step_changes_is_not_carried_over():
    old = source_schedule(row_chain())
    assert contraction_nests(old.scop, old.tree)["U"] == ("L0[0]",)
    last = old.scop.statements[-1]
    first_row = rewrite(last.value, lambda e: integer(0) if e == Iter("i") else None)
    statements = (*old.scop.statements[:-1], replace(last, value=first_row))
    new = replace(old.scop, statements=statements)
    keep_lives(old.scop, new, frozenset({"U", "V"}))
    assert contraction_nests(new, old.tree) == {"T": ("L0[0]",)}


def test_the_life_of_a_lost_write_is_not_carried_over():
    old = source_schedule(row_chain())
    contraction_nests(old.scop, old.tree)
    new = replace(old.scop, statements=tuple(s for s in old.scop.statements if s.name != "S1"))
    keep_lives(old.scop, new, frozenset())
    assert contraction_nests(new, old.tree).keys() == {"T", "V"}
