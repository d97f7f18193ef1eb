"""Dependences of small programs: exact maps, per kind, array and pair of statements."""

from __future__ import annotations

import islpy as isl
import pytest

from polyopt.ir.interp import points
from polyopt.schedule import DependenceKind, compute_dependences
from polyopt.schedule.dependences import last_writers
from tests import scops
from tests.checks import assert_same, sizes_of
from tests.oracle import pairs_of
from tests.reading import read

FLOW, ANTI, OUTPUT = DependenceKind.FLOW, DependenceKind.ANTI, DependenceKind.OUTPUT


def test_prefix_sum():
    found = compute_dependences(scops.prefix())
    assert_same(found.flow, "[N] -> { S0[i] -> S0[i + 1] : 1 <= i < N - 1 }")
    assert found.anti.is_empty()
    assert found.output.is_empty()
    (only,) = found.memory
    assert (only.kind, only.array, only.source, only.target) == (FLOW, "A", "S0", "S0")
    assert (only.reduction, only.exact) == (False, True)


def test_stencil_in_place():
    found = compute_dependences(scops.seidel())
    assert_same(
        found.flow,
        "[N] -> { S0[i, j] -> S0[i + 1, j] : 1 <= i < N - 1 and 1 <= j < N;"
        " S0[i, j] -> S0[i, j + 1] : 1 <= i < N and 1 <= j < N - 1 }",
    )
    assert found.anti.is_empty()


def test_all_three_kinds():
    scop = read(
        """
        for i in range(N - 1):
            A[0] = A[i + 1] + B[i]
            B[i + 1] = A[0]
        """,
        "A[N]; B[N]",
    )
    found = compute_dependences(scop)
    assert_same(found.output, "[N] -> { S0[i] -> S0[i'] : 0 <= i < i' < N - 1 }")
    assert_same(
        found.flow,
        "[N] -> { S0[i] -> S1[i'] : 0 <= i <= i' < N - 1; S1[i] -> S0[i + 1] : 0 <= i < N - 2 }",
    )
    assert_same(found.anti, "[N] -> { S1[i] -> S0[i'] : 0 <= i < i' < N - 1 }")


def test_an_instance_does_not_depend_on_itself():
    scop = read("for i in range(N):\n    A[i] = A[i] + 1", "A[N]")
    found = compute_dependences(scop)
    assert found.memory == ()
    assert found.all.is_empty()


def test_each_pair_of_statements_and_each_array():
    found = compute_dependences(scops.chain())
    kinds = [(d.kind, d.array, d.source, d.target) for d in found.memory]
    assert kinds == [(FLOW, "B", "S0", "S1")]
    assert_same(
        found.memory[0].relation,
        "[N] -> { S0[i] -> S1[i] : 1 <= i < N; S0[i] -> S1[i + 1] : 0 <= i < N - 1 }",
    )


def test_memory_based_and_last_writer():
    """Memory-based dependences keep overwritten values, flow analysis drops them."""
    scop = read(
        """
        for i in range(N):
            t[0] = A[i]
            A[i] = t[0]
        """,
        "A[N]; t[1]",
    )
    found = compute_dependences(scop)
    assert_same(found.flow, "[N] -> { S0[i] -> S1[i'] : 0 <= i <= i' < N }")
    assert_same(found.direct_flow, "[N] -> { S0[i] -> S1[i] : 0 <= i < N }")
    assert_same(last_writers(scop, "t"), "[N] -> { S0[i] -> S1[i] : 0 <= i < N }")
    assert last_writers(scop, "A").is_empty()


def test_last_writers_of_a_guarded_write():
    """A may-write does not hide the write before it."""
    scop = read(
        """
        for i in range(N):
            t[0] = 0
            if A[i] > 0:
                t[0] = A[i]
            B[i] = t[0]
        """,
        "A[N]; B[N]; t[1]",
    )
    assert_same(
        last_writers(scop, "t"),
        "[N] -> { S0[i] -> S2[i] : 0 <= i < N; S1[i] -> S2[i] : 0 <= i < N }",
    )


def test_last_writers_of_an_accumulator():
    assert_same(
        last_writers(scops.dot(), "s"),
        "[N, M] -> { S0[i] -> S2[i, 0] : 0 <= i < N and M > 0;"
        " S2[i, k] -> S2[i, k + 1] : 0 <= i < N and 0 <= k < M - 1;"
        " S2[i, M - 1] -> S3[i] : 0 <= i < N and M > 0; S0[i] -> S3[i] : 0 <= i < N and M = 0 }",
    )


def test_reassociable_reductions_are_marked():
    found = compute_dependences(scops.gemm())
    assert {(d.kind, d.array, d.reduction) for d in found.memory} == {
        (FLOW, "C", True),
        (ANTI, "C", True),
        (OUTPUT, "C", True),
    }
    assert found.ordering.is_empty()
    assert_same(
        found.all,
        "[N, M, K] -> { S0[i, j, k] -> S0[i, j, k'] :"
        " 0 <= i < N and 0 <= j < M and 0 <= k < k' < K }",
    )


def test_a_sum_in_source_order_is_no_reduction():
    found = compute_dependences(scops.ordered_gemm())
    assert not any(d.reduction for d in found.memory)
    assert found.ordering.is_equal(found.all)


def test_two_reductions_into_one_array_are_ordered():
    scop = read(
        """
        for i in range(N):
            s[0] += A[i]
        for i in range(N):
            s[0] *= A[i]
        """,
        "A[N]; s[1]",
    )
    between = [d for d in compute_dependences(scop).memory if d.source != d.target]
    assert between
    assert not any(d.reduction for d in between)


def test_the_other_operand_of_a_reduction_is_a_read_like_any():
    scop = read("for i in range(1, N):\n    A[0] += A[i - 1]", "A[N]")
    found = compute_dependences(scop)
    assert_same(
        found.ordering,
        "[N] -> { S0[1] -> S0[i'] : 1 < i' < N }",
    )


def test_accesses_that_are_not_affine_may_touch_anything():
    found = compute_dependences(scops.scatter())
    (only,) = found.memory
    assert (only.kind, only.exact) == (OUTPUT, False)
    assert_same(only.relation, "[N, M] -> { S0[i] -> S0[i'] : 0 <= i < i' < N and M >= 0 }")


def test_a_gather_reads_what_was_written_before():
    scop = read(
        """
        for i in range(N):
            A[i] = 1
        for i in range(N):
            B[i] = A[P[i]]
        """,
        "A[N]; B[N]; int64 P[N]",
    )
    (only,) = compute_dependences(scop).memory
    assert (only.kind, only.array, only.exact) == (FLOW, "A", False)
    assert_same(only.relation, "[N] -> { S0[i] -> S1[j] : 0 <= i < N and 0 <= j < N }")


def test_loops_that_count_down():
    found = compute_dependences(scops.backward())
    assert found.anti.is_empty()
    assert_same(
        found.flow,
        "[N, M] -> { S0[i, j] -> S0[i - 1, j] : 1 <= i <= N - 2 and 0 <= j < M"
        " and (M - 1 - j) mod 2 = 0 }",
    )


def test_statements_without_instances():
    found = compute_dependences(scops.nowhere())
    assert {(d.source, d.target) for d in found.memory} == {("S0", "S2")}


def test_a_scop_of_nothing():
    found = compute_dependences(read("", "A[N]"))
    assert found.memory == ()
    assert found.scheduling.is_empty()


def test_the_context_is_part_of_every_dependence():
    scop = read("for i in range(N):\n    A[0] = i", "A[1]", least=3)
    assert_same(
        compute_dependences(scop).output, "[N] -> { S0[i] -> S0[i'] : 0 <= i < i' < N and N >= 3 }"
    )


EVERY = [
    scops.gemm,
    scops.ordered_gemm,
    scops.jacobi,
    scops.seidel,
    scops.diagonal,
    scops.dot,
    scops.solve,
    scops.backward,
    scops.nowhere,
    scops.transposed,
    scops.prefix,
    scops.chain,
    scops.ahead,
]


@pytest.mark.parametrize("make", EVERY)
def test_against_enumeration(make):
    """At small sizes: the same pairs, of the same kinds, as two nested loops over all instances."""
    scop = make()
    found = compute_dependences(scop)
    for params in sizes_of(scop)[:3]:
        want = {(p.kind.value, p.cell[0], p.source, p.target) for p in pairs_of(scop, params)}
        got = set()
        for dependence in found.memory:
            ranks = dependence.relation.dim(isl.dim_type.in_)
            for point in points(dependence.relation.wrap().flatten(), params):
                got.add(
                    (
                        dependence.kind.value,
                        dependence.array,
                        (dependence.source, point[:ranks]),
                        (dependence.target, point[ranks:]),
                    )
                )
        assert got == want


@pytest.mark.parametrize("make", EVERY)
def test_the_scheduler_s_pairs_imply_all(make):
    """The transitive closure of the small set holds every pair whose order counts."""
    found = compute_dependences(make())
    closure, exact = found.scheduling.transitive_closure()
    assert found.scheduling.is_subset(found.ordering)
    if exact:
        assert found.ordering.is_subset(closure)
