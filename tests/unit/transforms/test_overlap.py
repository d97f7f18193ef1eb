"""Overlap: several time steps in a tile, what neighbours compute done again, refusals."""

from __future__ import annotations

import pytest

from polyopt.schedule import source_schedule
from polyopt.transforms import Overlap, Parallelize, parse_steps
from polyopt.transforms.halo import NoHalo, halos
from tests.checks import assert_computes, assert_round_trip
from tests.reading import read
from tests.unit.transforms.refusing import refused

LINE = """
for t in range(T):
    for i in range(1, N - 1):
        B[i] = A[i - 1] + A[i] + A[i + 1]
    for i in range(1, N - 1):
        A[i] = B[i - 1] + B[i] + B[i + 1]
"""
PLANE = """
for t in range(T):
    for i in range(1, N - 1):
        for j in range(M - 1):
            B[i, j] = A[i - 1, j] + A[i, j + 1]
    for i in range(1, N - 1):
        for j in range(M - 1):
            A[i, j] = B[i, j]
"""
FIELDS = """
for t in range(T):
    for i in range(1, N):
        E[i] = E[i] - H[i] + H[i - 1]
    for i in range(N - 1):
        H[i] = H[i] - E[i + 1] + E[i]
"""


def line():
    return read(LINE, "A[N]; B[N]", "N T")


@pytest.mark.parametrize(("steps", "size"), [(1, 1), (1, 4), (2, 3), (3, 2)])
def test_ping_pong_arrays(steps: int, size: int) -> None:
    step = Overlap("L0", steps, (size,))
    assert_computes(line(), step, Parallelize("L0.there"), Parallelize("L0.back"))


def test_a_temporary_is_not_copied_out() -> None:
    scop = read(PLANE, "A[N, M]; temp B[N, M]", "N M T")
    schedule = assert_computes(scop, Overlap("t", 2, (2, 3)))
    copies = [s.name for s in schedule.scop.statements if "_in" in s.name or "_out" in s.name]
    assert copies == ["A_in", "A_out", "A_in2", "A_out2"]


def test_arrays_that_are_updated_in_place() -> None:
    scop = read(FIELDS, "E[N]; H[N]", "N T")
    schedule = assert_computes(scop, Overlap("t", 2, (3,)))
    assert {a.name for a in schedule.scop.arrays} >= {"E_next", "H_next"}


def test_loops_around() -> None:
    scop = read(
        """
        for k in range(K):
            for t in range(T):
                for i in range(1, N - 1):
                    B[k, i] = A[k, i - 1] + A[k, i + 1]
                for i in range(1, N - 1):
                    A[k, i] = B[k, i]
        """,
        "A[K, N]; B[K, N]",
        "N T K",
    )
    assert refused(scop, Overlap("t", 2, (2,)))[0] == "PO0344"


def test_halos_grow_with_the_steps_that_are_left() -> None:
    first, second = halos(line().statements, 1)["S0"], halos(line().statements, 1)["S1"]
    assert [first[0].below.at(left) for left in range(3)] == [1, 3, 5]
    assert [second[0].above.at(left) for left in range(3)] == [0, 2, 4]


def test_halos_of_one_side() -> None:
    scop = read(FIELDS, "E[N]; H[N]", "N T")
    found = halos(scop.statements, 1)
    assert (found["S0"][0].above.at(0), found["S0"][0].below.at(0)) == (1, 0)


@pytest.mark.parametrize(
    ("text", "arrays", "sizes", "reason"),
    [
        ("for i in range(1, N):\n        A[i] = A[i - 1]", "A[N]", (2,), "computes itself"),
        ("for i in range(N):\n        A[i] = B[2 * i]", "A[N]; B[2 * N]", (2, 2), "1 dimensions"),
        ("for i in range(N):\n        A[i] = A[N - 1 - i]", "A[N]", (2,), "constant distance"),
        ("for i in range(N):\n        A[t] = B[i]", "A[T]; B[N]", (2,), "in each time step"),
        ("for i in range(t, N):\n        A[i] = A[i] + B[i]", "A[N]; B[N]", (2,), "every time"),
    ],
)
def test_refused(text: str, arrays: str, sizes: tuple[int, ...], reason: str) -> None:
    scop = read(f"for t in range(T):\n    {text}", arrays, "N T")
    code, message = refused(scop, Overlap("t", 2, sizes))[:2]
    assert code == "PO0344"
    assert reason in message


def test_sizes_below_one_are_refused() -> None:
    assert refused(line(), Overlap("t", 0, (2,)))[0] == "PO0303"


def test_too_steep() -> None:
    scop = read(
        "for t in range(T):\n    for i in range(9, N - 9):\n        A[i] = B[i - 9]\n"
        "    for i in range(9, N - 9):\n        B[i] = A[i]",
        "A[N]; B[N]",
        "N T",
    )
    with pytest.raises(NoHalo, match="too fast"):
        halos(scop.statements, 1)


def test_text() -> None:
    assert_round_trip(Overlap("t", 2, (16, 32)))
    assert str(Overlap("t", 2, (16, 32))) == "overlap(t, 2, 16, 32)"
    assert source_schedule(line()).apply(Overlap("t", 2, (4,))).text == "overlap(t, 2, 4)"


def test_a_loop_in_which_nothing_runs_is_refused() -> None:
    """`separate` may leave a copy of a nest without iterations."""
    scop = read(
        "for i in range(N):\n    for j in range(N):\n        C[i + j] += A[i] * B[j]\n",
        "C[2 * N]; A[N]; B[N]",
        "N",
    )
    steps = parse_steps("deal(L0[0], 2); interchange(i_lane, j); separate(L0, L0, 8, 32)")
    tiled = (*steps, *parse_steps("tile(L0, 5, 1, 7)"))
    code, message = refused(scop, *tiled, Overlap("i_tile_tile", 2, (3,)))[:2]
    assert code == "PO0344"
    assert "no iteration runs in" in message
