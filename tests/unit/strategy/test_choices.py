"""The parts of the automatic schedule: order, fusion, lanes, threads."""

from __future__ import annotations

import numpy as np
import pytest

import polyopt as po
from polyopt.ir.loops import LoopKind
from polyopt.machine import Machine
from polyopt.schedule import source_schedule
from polyopt.schedule.tree import bands, find_band
from polyopt.strategy import tiling
from polyopt.strategy.extents import count_similar_loops
from polyopt.strategy.fusion import adjacent, fuse_neighbours, fuse_nests, share_data
from polyopt.strategy.order import contiguous_innermost, contiguous_last
from polyopt.strategy.tiling import outer_bands, parallelize_outer, tile_wavefront
from polyopt.strategy.vector import is_innermost, ranked_positions, vector_gain, vectorize_innermost
from polyopt.transforms import Parallelize, Vectorize
from tests import scops
from tests.checks import assert_computes
from tests.reading import read
from tests.unit.proof.edits import program_of

# ruff: noqa: F821, UP037 - sizes are named by strings


def kinds(schedule):
    """Return name and kind of every marked loop."""
    return {
        (m.name, m.kind.value)
        for b in bands(schedule.tree)
        for m in b.members
        if m.kind is not LoopKind.SEQUENTIAL
    }


def names(schedule, label="L0"):
    return [m.name for m in find_band(schedule.tree, label).members]


def test_gain_prefers_contiguous_loops():
    schedule = source_schedule(scops.gemm())
    gains = [vector_gain(schedule, "L0", p) for p in range(3)]
    assert gains[1] == max(gains) > 0
    assert gains[0] < 0
    assert ranked_positions(schedule, "L0")[0] == 1
    assert contiguous_last(schedule, "L0") != []


def test_no_gain_without_a_contiguous_access():
    scop = read("for i in range(N):\n    A[2 * i] = B[2 * i]", "A[2 * N]; B[2 * N]")
    assert vector_gain(source_schedule(scop), "L0", 0) < 0
    assert kinds(vectorize_innermost(source_schedule(scop))) == set()


def test_a_row_read_backwards_has_lanes():
    """It is turned in a register; a loop that reads all rows forwards has more of it."""
    scop = read(
        """
        for i in range(N):
            for k in range(M):
                y[i] += h[k] * x[i - k + M - 1]
        """,
        "y[N]; h[M]; x[N + M - 1]",
        "N M",
    )
    source = source_schedule(scop)
    assert 0 < vector_gain(source, "L0", 1) < vector_gain(source, "L0", 0)


def test_rows_of_one_element_lie_next_to_each_other():
    scop = read("for i in range(N):\n  s[0, 0] += x[i, 0] * x[i, 0]", "s[1, 1]; x[N, 1]")
    assert vector_gain(source_schedule(scop), "L0", 0) > 0
    apart = read("for i in range(N):\n  s[0, 0] += x[i, 0] * x[i, 0]", "s[1, 1]; x[N, 2]")
    assert vector_gain(source_schedule(apart), "L0", 0) < 0


def test_order_of_a_matrix_product():
    assert names(contiguous_innermost(source_schedule(scops.gemm()))) == ["i", "k", "j"]


def test_order_respects_dependences():
    """The rows of a stencil with a negative distance are no permutable band: nothing moves."""
    assert names(contiguous_innermost(source_schedule(scops.diagonal()))) == ["i", "j"]


def test_columns_first_becomes_rows_first():
    scop = read(
        "for j in range(M):\n    for i in range(N):\n        A[i, j] = A[i, j] + 1",
        "A[N, M]",
        "N M",
    )
    assert names(contiguous_innermost(source_schedule(scop))) == ["i", "j"]


def test_lanes():
    assert kinds(vectorize_innermost(source_schedule(scops.gemm()))) == {("j", "vector")}
    assert kinds(vectorize_innermost(source_schedule(scops.prefix()))) == set()
    assert kinds(vectorize_innermost(source_schedule(scops.jacobi()))) == {("j", "vector")}
    assert kinds(vectorize_innermost(source_schedule(scops.diagonal()))) == {("j", "vector")}


def test_bodies_are_split_for_lanes():
    """The sum stays a loop of its own, the rest runs in lanes."""
    scop = read(
        """
        for i in range(1, N):
            B[i] = A[i] * 2
            C[i] = C[i - 1] + B[i]
        """,
        "A[N]; B[N]; C[N]",
    )
    schedule = vectorize_innermost(source_schedule(scop))
    assert [(b.label, b.members[0].kind.value) for b in bands(schedule.tree)] == [
        ("L0.0", "vector"),
        ("L0.1", "sequential"),
    ]
    assert_computes(scop, *schedule.trace)


def test_no_lane_has_fewer_statements_than_others():
    """A border that only some statements run would cost each vector a choice."""
    scop = read(
        """
for i in range(N):
    for j in range(N):
        B[i, j] = 0.0
for i in range(N):
    for j in range(1, N - 1):
        B[i, j] = A[i, j - 1] + A[i, j + 1]
""",
        "A[N, N]; B[N, N]",
    )
    fused = fuse_nests(source_schedule(scop), frozenset())
    found = vectorize_innermost(fused)
    assert [band.label for band in bands(found.tree)] == ["L0", "L0.0", "L0.1"]
    assert kinds(found) == {("j", "vector")}


def test_marked_loops_are_left_alone():
    schedule = source_schedule(scops.transposed()).apply(Vectorize("i"))
    assert str(vectorize_innermost(schedule)) == str(schedule)
    outer = source_schedule(scops.gemm()).apply(Parallelize("j"))
    assert parallelize_outer(outer, Machine()) is outer


def test_innermost():
    found = {b.label: is_innermost(b) for b in bands(source_schedule(scops.jacobi()).tree)}
    assert found == {"L0": False, "L1": True, "L2": True}


def test_adjacent_nests():
    assert adjacent(source_schedule(scops.planes()).tree) == [("L0", "L1")]
    assert adjacent(source_schedule(scops.jacobi()).tree) == [("L1", "L2")]
    assert adjacent(source_schedule(scops.nowhere()).tree) == [("L0", "L1"), ("L1", "L2")]
    assert adjacent(source_schedule(scops.gemm()).tree) == []


def test_nests_that_share_data_are_fused():
    schedule = fuse_neighbours(source_schedule(scops.planes()), frozenset())
    assert [b.label for b in bands(schedule.tree)] == ["L0"]
    assert all(m.coincident for m in find_band(schedule.tree, "L0").members)
    assert_computes(scops.planes(), *schedule.trace)


def test_fusion_keeps_a_parallel_loop():
    """Joined, the two loops would carry the dependence on the left neighbour."""
    schedule = source_schedule(scops.chain())
    assert fuse_neighbours(schedule, frozenset()) is schedule


def test_fusion_is_not_forced():
    apart = read("for i in range(N):\n    A[i] = 1\nfor i in range(N):\n    B[i] = 2", "A[N]; B[N]")
    schedule = source_schedule(apart)
    assert not share_data(schedule, "L0", "L1")
    assert fuse_neighbours(schedule, frozenset()) is schedule
    illegal = source_schedule(scops.ahead())
    assert share_data(illegal, "L0", "L1")
    assert fuse_neighbours(illegal, frozenset()) is illegal
    named = source_schedule(scops.planes())
    assert fuse_neighbours(named, frozenset({"L1"})) is named


BETWEEN = """
for i in range(N):
    B[i] = A[i] + 1
for k in range(M):
    D[k] = {read} + 1
for j in range(N):
    C[j] = B[j] + 1
"""


def test_a_nest_is_brought_to_what_it_reads():
    """The nest between has loops of its own extent: it stays alone, behind the other two."""
    scop = read(BETWEEN.format(read="D[k]"), "A[N]; B[N]; C[N]; D[M]", "N M")
    fused = fuse_nests(source_schedule(scop), frozenset())
    assert [str(step) for step in fused.trace] == ["move(L2, L1)", "fuse(L0, L2, 1)"]
    assert_computes(scop, *fused.trace)
    named = source_schedule(scop)
    assert fuse_nests(named, frozenset({"L2"})) is named


WAITING = BETWEEN.replace("B[j] + 1", "B[j] + D[M - 1]")


def test_what_a_nest_reads_is_brought_to_it_where_it_waits():
    scop = read(WAITING.format(read="D[k]"), "A[N]; B[N]; C[N]; D[M]", "N M")
    fused = fuse_nests(source_schedule(scop), frozenset())
    assert [str(step) for step in fused.trace] == ["move(L0, L2)", "fuse(L0, L2, 1)"]
    assert_computes(scop, *fused.trace)


def test_a_nest_stays_behind_what_it_waits_for():
    scop = read(WAITING.format(read="B[N - 1]"), "A[N]; B[N]; C[N]; D[M]", "N M")
    schedule = source_schedule(scop)
    assert fuse_nests(schedule, frozenset()) is schedule


def test_a_statement_between_nests_does_not_prevent_fusion():
    text = BETWEEN.replace("for k in range(M):\n    D[k] = {read} + 1", "D[0] = 1")
    scop = read(text, "A[N]; B[N]; C[N]; D[M]", "N M")
    fused = fuse_nests(source_schedule(scop), frozenset())
    assert [str(step) for step in fused.trace] == ["move(L0, L1)", "fuse(L0, L1, 1)"]


def test_scalars_are_no_reason_to_fuse():
    text = "for i in range(N):\n    A[i] = s\nfor i in range(N):\n    B[i] = s + 1"
    schedule = source_schedule(read(text, "A[N]; B[N]; s", "N"))
    assert not share_data(schedule, "L0", "L1")


def test_loops_of_unrelated_extents_are_not_fused():
    """Both nests read A, which is no reason to run `i` to N and `j` to M in one loop."""
    text = "for i in range(N):\n    B[i] = A[i]\nfor j in range({end}):\n    C[j] = A[j]"
    apart = source_schedule(read(text.format(end="M"), "A[N]; B[N]; C[M]", "N M"))
    assert count_similar_loops(apart.scop.domain, *bands(apart.tree)) == 0
    assert fuse_nests(apart, frozenset()) is apart
    shorter = source_schedule(read(text.format(end="N - 2"), "A[N]; B[N]; C[N]", "N M"))
    assert count_similar_loops(shorter.scop.domain, *bands(shorter.tree)) == 1
    assert [str(s) for s in fuse_nests(shorter, frozenset()).trace] == ["fuse(L0, L1, 1)"]


def test_outer_bands():
    assert outer_bands(source_schedule(scops.chain()).tree) == ["L0", "L1"]
    assert outer_bands(source_schedule(scops.jacobi()).tree) == ["L0"]
    assert outer_bands(source_schedule(read("A[0] = 1", "A[1]")).tree) == []


def test_threads():
    assert kinds(parallelize_outer(source_schedule(scops.gemm()), Machine())) == {("i", "parallel")}
    assert kinds(parallelize_outer(source_schedule(scops.prefix()), Machine())) == set()
    inner = parallelize_outer(source_schedule(scops.jacobi()), Machine())
    assert kinds(inner) == {("i", "parallel")}, "the time loop stays outside"
    assert kinds(parallelize_outer(source_schedule(scops.solve()), Machine())) == set()


@pytest.mark.parametrize("make", [scops.seidel, scops.backward, scops.transposed])
def test_wavefronts_and_strips_at_small_sizes(make, monkeypatch):
    """The same steps as for large arrays, with tiles that several tests' sizes fill."""
    monkeypatch.setattr(tiling, "STRIP", 3)
    monkeypatch.setattr(tiling, "wavefront_tile_sizes", lambda *_: (2, 3))
    schedule = parallelize_outer(source_schedule(make()), Machine())
    assert any(kind == "parallel" for _, kind in kinds(schedule))
    assert_computes(make(), *schedule.trace)


@pytest.mark.parametrize(
    ("machine", "strip"),
    [
        (Machine(cores=1, l2=1 << 20), 8192),
        (Machine(cores=1, l2=1 << 15), 256),
        (Machine(cores=2, l2=1 << 20), 512),
        (Machine(cores=64, l2=1 << 20), 256),
    ],
)
def test_strips_fit_the_second_cache_and_are_enough_for_all_threads(machine, strip):
    scop = read(
        """
        for t in range(N):
            for s in range(M):
                state[s] = 0.5 * state[s] + price[t, s]
                out[t, s] = 2.0 * state[s]
        """,
        "price[N, M]; state[M]; out[N, M]",
        "N M",
    )
    steps = parallelize_outer(source_schedule(scop), machine).text
    assert f"tile(L0, {strip})" in steps


def test_a_wavefront_of_tiles():
    schedule = tile_wavefront(source_schedule(scops.seidel()), "L0", Machine())
    assert schedule is not None
    assert kinds(schedule) == {("j_tile", "parallel")}
    assert tile_wavefront(source_schedule(scops.diagonal()), "L0", Machine()) is None


def warped(x, y, cost):
    for i in range(1, cost.shape[0]):
        for j in range(1, cost.shape[1]):
            best = min(cost[i - 1, j], cost[i, j - 1], cost[i - 1, j - 1])
            cost[i, j] = abs(x[i - 1] - y[j - 1]) + best


@pytest.mark.toolchain
@pytest.mark.parametrize("fp", ["strict", "reassociate"])
def test_values_of_a_wavefront(fp):
    kernel = po.kernel(warped, fp=fp, threads=2)
    rng = np.random.default_rng(5)
    for n, m in ((1, 1), (3, 2), (12, 13), (33, 40), (40, 33), (70, 530)):
        cost, x, y = rng.random((n, m)), rng.random(n), rng.random(m)
        want = cost.copy()
        kernel(x, y, cost)
        warped(x, y, want)
        np.testing.assert_array_equal(cost, want)


STEPS_BY_COLUMNS = """
    for i in range(1, N):
        for j in range(M):
            A[i, j] = 0.5 * A[i - 1, j]
    for i in range(1, N):
        for j in range(M):
            B[i, j] = A[i, j] + C[i, j]
    """


def test_a_nest_joins_the_steps_of_the_one_before_where_columns_stay_independent():
    scop = read(STEPS_BY_COLUMNS, "A[N, M]; B[N, M]; C[N, M]", "N M")
    fused = fuse_nests(source_schedule(scop), frozenset())
    (band,) = bands(fused.tree)
    assert [member.coincident for member in band.members] == [False, True]
    assert_computes(scop, *fused.trace)


def test_a_nest_keeps_its_rows_where_columns_depend_on_each_other():
    text = STEPS_BY_COLUMNS.replace("A[i - 1, j]", "A[i - 1, j + 1]")
    text = text.replace("A[i, j] + C", "A[i, j] + B[i, j - 1] + C").replace("(M)", "(1, M - 1)")
    scop = read(text, "A[N, M]; B[N, M]; C[N, M]", "N M")
    fused = fuse_nests(source_schedule(scop), frozenset())
    assert len(list(bands(fused.tree))) == 2


def test_a_loop_that_cannot_go_further_out_is_parallel_where_it_is():
    """Two colours in turns: rows of one colour are independent, steps and colours are not."""
    scop = read(
        """
        for t in range(N):
            for c in range(2):
                for i in range(1, N - 1):
                    for j in range(N):
                        A[c, i, j] = A[1 - c, i - 1, j] + A[1 - c, i + 1, j]
        """,
        "A[2, N, N]",
    )
    source = source_schedule(scop)
    assert ("i", "parallel") in kinds(parallelize_outer(source, Machine()))


def long_rows(a: po.f64["N,M"], out: po.f64["N,M"]):
    out[:] = a / np.sqrt(np.sum(a * a, axis=1))[:, None]


def short_rows(a: po.f64["N,3"], out: po.f64["N,3"]):
    out[:] = a / np.sqrt(np.sum(a * a, axis=1))[:, None]


@pytest.mark.parametrize(("function", "nests"), [(long_rows, 1), (short_rows, 3)])
def test_a_function_beside_long_rows(function, nests):
    """A square root a row stays out of lanes when the row is worth more than it."""
    schedule = fuse_neighbours(source_schedule(program_of(function).scop), frozenset())
    assert len(outer_bands(schedule.tree)) == nests
