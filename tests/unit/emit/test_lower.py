"""Lowering: every instance once and in order, in loops a person can read."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from polyopt.emit import lower_scop
from polyopt.emit.lower import lower
from polyopt.emit.lower_scop import simplified, tidy
from polyopt.ir.expr import Iter, Load, Param, add, integer, mul, sub
from polyopt.ir.interp import run_loops, run_scop
from polyopt.ir.loops import For, If, LoopKind, show_body
from polyopt.ir.names import fresh_name
from polyopt.ir.nodes import bodies
from polyopt.ir.showing import show
from polyopt.ir.types import DType
from polyopt.machine import Machine
from polyopt.schedule import source_schedule
from polyopt.schedule.isl_bridge import unseparated
from polyopt.strategy import auto_schedule
from polyopt.transforms import (
    Distribute,
    Fuse,
    Interchange,
    Parallelize,
    Skew,
    Tile,
    Unroll,
    Vectorize,
    parse_steps,
)
from tests import scops
from tests.checks import assert_computes, sizes_of
from tests.oracle import random_arrays
from tests.oracle.program import as_program
from tests.reading import read


def lowered(scop, *steps):
    return lower(source_schedule(scop).apply(*steps), as_program(scop))


def text(scop, *steps):
    return "\n".join(show_body(lowered(scop, *steps).body))


def loops_of(body):
    for node in body:
        if isinstance(node, For):
            yield node
        for inner in bodies(node):
            yield from loops_of(inner)


def test_the_source_as_written():
    assert text(scops.solve()) == (
        "for i in range(0, N):\n"
        "    for j in range(0, i):\n"
        "        x[i] = x[i] - L[i, j] * x[j]\n"
        "    x[i] = x[i] / L[i, i]"
    )


def test_loops_that_count_down():
    assert text(scops.backward()) == (
        "for i in range(-N + 2, 1):\n"
        "    for j in range(-M + 1, 1, 2):\n"
        "        A[-i, -j] = A[-i + 1, -j] + B[-i, -j]"
    )


def test_empty_domains_leave_nothing():
    assert text(scops.nowhere()) == (
        "for i in range(0, N):\n    A[i] = 1.0\nfor i in range(0, N):\n    B[i] = A[i]"
    )
    assert text(read("", "A[N]")) == ""


def test_single_iterations_become_values():
    scop = read(
        """
        for i in range(N, N + 1):
            for j in range(3, 4):
                A[i, j] = B[i + j]
        """,
        "A[N + 1, 4]; B[N + 5]",
    )
    assert text(scop) == "A[N, 3] = B[N + 3]"
    assert_computes(scop)


def test_guards_become_conditions():
    scop = read(
        """
        for i in range(N):
            if A[i] > 0:
                B[i] = A[i]
        """,
        "A[N]; B[N]",
    )
    (loop,) = lowered(scop).body
    assert isinstance(loop, For)
    (guard,) = loop.body
    assert isinstance(guard, If)
    assert show(guard.condition) == "A[i] > 0.0"
    assert_computes(scop, Parallelize("i"))


def test_affine_conditions_shape_the_loops():
    scop = read(
        """
        for i in range(N):
            if i != 3:
                A[i] = 1
            if i % 2 == 0 and i > 4:
                B[i] = A[i]
        """,
        "A[N]; B[N]",
    )
    assert_computes(scop)
    assert_computes(scop, Distribute("L0"), Parallelize("L0.0"), Vectorize("L0.1"))


def test_alternatives():
    scop = read(
        """
        for i in range(N):
            if i < M:
                A[i] = 1
            if i >= M:
                A[i] = 2
        """,
        "A[N]",
        "N M",
    )
    assert_computes(scop)


@pytest.mark.parametrize(
    ("condition", "other"), [("i % 3 == 1", "i % 3 != 1"), ("i > M or i == 2", "i <= M")]
)
def test_conditions_that_isl_cannot_turn_into_bounds(condition, other):
    scop = read(
        f"""
        for i in range(N):
            if {condition}:
                A[i] = A[i] + 1
            if {other}:
                A[i] = A[i] * B[i]
        """,
        "A[N]; B[N]",
        "N M",
    )
    assert_computes(scop)


def test_labels_and_kinds():
    fn = lowered(
        scops.gemm(), Tile("L0", (4, 8)), Parallelize("L0.tile[0]"), Vectorize("L0.point[1]")
    )
    found = [(loop.iter, loop.label, loop.kind) for loop in loops_of(fn.body)]
    assert found == [
        ("i_tile", "L0.tile[0]", LoopKind.PARALLEL),
        ("j_tile", "L0.tile[1]", LoopKind.SEQUENTIAL),
        ("i", "L0.point[0]", LoopKind.SEQUENTIAL),
        ("j", "L0.point[1]", LoopKind.VECTOR),
        ("k", "L0.point[2]", LoopKind.SEQUENTIAL),
    ]
    assert fn.trace == ("tile(L0, 4, 8)", "parallelize(L0.tile[0])", "vectorize(L0.point[1])")
    assert fn.params == ("N", "M", "K")
    assert fn.reassociable == frozenset({"S0"})
    assert lowered(scops.ordered_gemm()).reassociable == frozenset()


def test_iterators_are_unique_along_a_path():
    scop = read("for i in range(N):\n    for j in range(N):\n        A[i, j] = i", "A[N, N]")
    fn = lowered(scop, Tile("L0", (8,)), Tile("L0.tile", (2,)), Tile("L0.point", (4, 4)))
    names = [loop.iter for loop in loops_of(fn.body)]
    assert len(names) == len(set(names)), names
    assert names == ["i_tile_tile", "i_tile", "i_tile2", "j_tile", "i", "j"]


def test_names_of_arrays_and_sizes_are_taken():
    """A program may call an array `i_tile` or a size `j`: loops get other names."""
    scop = read(
        "for i in range(j):\n    for k in range(j):\n        i_tile[i, k] = i_tile[i, k] + 1",
        "i_tile[j, j]",
        "j",
    )
    fn = lowered(scop, Tile("L0", (4,)))
    assert [loop.iter for loop in loops_of(fn.body)] == ["i_tile2", "i", "k"]
    assert_computes(scop, Tile("L0", (4,)))


@pytest.mark.parametrize("name", ["c0", "c1", "c3"])
def test_names_that_isl_would_choose(name):
    """isl calls its iterators c0, c1, …; sizes and loops of that name stay apart from them."""
    scop = read(
        f"for i in range({name}):\n    for c1 in range(i, {name}):\n        A[i, c1] = c1"
        if name != "c1"
        else "for c0 in range(c1):\n    for j in range(c0, c1):\n        A[c0, j] = j",
        f"A[{name}, {name}]",
        name,
    )
    assert_computes(scop, Interchange("L0[0]", "L0[1]"))


def test_tidy_and_simplified():
    i, n = Iter("i"), Param("N")
    nested_load = Load("A", (sub(add(i, n), Load("P", (sub(i, i),), DType.INT64)),), DType.INT64)
    assert show(tidy(nested_load)) == "A[i + N - P[0]]"
    twice = mul(integer(2), add(i, i))
    assert show(simplified(twice, {"i": add(Iter("j"), integer(1))})) == "4 * j + 4"
    assert fresh_name("i", {"j"}) == "i"
    assert fresh_name("i", {"i", "i2"}) == "i3"


CASES = [
    (scops.gemm, (Tile("L0", (3, 4, 2)), Interchange("L0.tile[1]", "L0.tile[2]"))),
    (scops.gemm, (Tile("L0", (3, 4)), Tile("L0.point", (2, 2)), Unroll("L0.point.point[0]"))),
    (scops.seidel, (Skew("i", "j"), Parallelize("j"))),
    (scops.jacobi, (Parallelize("L1[0]"), Parallelize("L2[0]"), Vectorize("L1[1]"))),
    (scops.planes, (Fuse("L0", "L1"), Tile("L0", (3, 3)), Parallelize("L0.tile[0]"))),
    (scops.dot, (Parallelize("i"),)),
    (scops.dot, (Distribute("L0"),)),
    (scops.solve, ()),
]


@pytest.mark.parametrize(("make", "steps"), CASES)
def test_same_results_in_floating_point(make, steps):
    """With the program's own values, bit for bit: what is not an open reduction keeps its order."""
    scop = make()
    fn = lowered(scop, *steps)
    for params in sizes_of(scop):
        want = random_arrays(scop.arrays, params, 11)
        got = {name: array.copy() for name, array in want.items()}
        run_scop(scop, want, params)
        run_loops(fn, got, params, shuffle=Random(2))
        for name, array in want.items():
            assert got[name].tobytes() == array.tobytes(), name


def test_instances_are_those_of_the_scop():
    """Every assignment says which instance it is, in the source's coordinates."""
    scop = scops.diagonal()
    fn = lowered(scop, Skew("j", "i", 2), Tile("L0", (2, 3)))
    trace, want = [], []
    params = {"N": 6}
    run_loops(fn, random_arrays(scop.arrays, params, 1), params, trace=trace)
    run_scop(scop, random_arrays(scop.arrays, params, 1), params, trace=want)
    assert sorted(trace) == sorted(want)
    assert trace != want


def test_index_arrays():
    """Gather and scatter run in the source's order through lowered loops."""
    scop = read(
        """
        for i in range(N):
            k = P[i]
            A[k] = A[k] + B[P[N - 1 - i]]
        """,
        "int64 P[N]; A[N]; B[N]; int64 temp k",
    )
    program = as_program(scop)
    for schedule in (source_schedule(scop), auto_schedule(scop, Machine())):
        fn = lower(schedule, program)
        rng = np.random.default_rng(3)
        start = {"P": rng.integers(0, 9, 9), "A": rng.random(9), "B": rng.random(9)}
        want = {name: array.copy() for name, array in start.items()}
        for i in range(9):
            want["A"][want["P"][i]] += want["B"][want["P"][8 - i]]
        run_loops(fn, start, {"N": 9}, shuffle=Random(1))
        assert np.array_equal(start["A"], want["A"])


WAVES = """
for t in range(T):
    for i in range(N):
        for j in range(N):
            B[i, j] = A[i, j]
    for i in range(1, N - 1):
        for j in range(1, N - 1):
            A[i, j] = B[i - 1, j] + B[i + 1, j] + B[i, j - 1] + B[i, j + 1]
    for i in range(N):
        A[0, i] = 1
    for i in range(N):
        A[N - 1, i] = 1
    for i in range(N):
        A[i, 0] = 1
    for i in range(N):
        A[i, N - 1] = 1
"""


def test_loops_that_isl_fails_to_pull_apart(monkeypatch):
    calls = []

    def counted(schedule, **how):
        calls.append(schedule)
        return unseparated(schedule, **how)

    monkeypatch.setattr(lower_scop, "unseparated", counted)
    steps = "affine(max); skew(L0[0], L0[1], 1); skew(L0[0], L0[2], 1); cut(L0, 1)"
    scop = read(WAVES, "A[N, N]; B[N, N]", "N T", 1)
    fn = lowered(scop, *parse_steps(f"{steps}; tile(L0.inner, 8, 32)"))
    assert calls
    for params in ({"N": 1, "T": 1}, {"N": 5, "T": 3}):
        want = random_arrays(scop.arrays, params, 11)
        got = {name: array.copy() for name, array in want.items()}
        run_scop(scop, want, params)
        run_loops(fn, got, params)
        assert all(np.array_equal(got[name], want[name]) for name in want)
