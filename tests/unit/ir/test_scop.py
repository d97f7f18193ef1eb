"""Scops: accesses, order, printing."""

from __future__ import annotations

import pytest

from polyopt.ir.scop import AccessKind
from tests import scops
from tests.checks import assert_same
from tests.reading import read


def test_accesses_in_source_order():
    (statement,) = scops.gemm().statements
    found = [(a.ref, a.array, a.kind, a.exact) for a in (statement.write, *statement.reads)]
    assert found == [
        ("S0_0", "C", AccessKind.MUST_WRITE, True),
        ("S0_1", "C", AccessKind.READ, True),
        ("S0_2", "A", AccessKind.READ, True),
        ("S0_3", "B", AccessKind.READ, True),
    ]
    assert_same(
        statement.reads[2].relation,
        "[N, M, K] -> { S0[i, j, k] -> B[k, j] : 0 <= i < N and 0 <= j < M and 0 <= k < K }",
    )


def test_guarded_writes_are_may_writes_and_guards_are_reads():
    scop = read("for i in range(N):\n    if B[i] > 0:\n        A[i] = 1", "A[N]; B[N]")
    (statement,) = scop.statements
    assert statement.write.kind is AccessKind.MAY_WRITE
    assert [a.array for a in statement.reads] == ["B"]


def test_subscripts_of_the_target_are_reads():
    (statement,) = scops.scatter().statements
    assert [a.array for a in statement.reads] == ["B", "P"]
    assert statement.write.kind is AccessKind.MAY_WRITE
    assert not statement.write.exact
    assert_same(statement.write.relation, "[N, M] -> { S0[i] -> A[e] : 0 <= i < N }")


def test_order_is_padded_to_one_length():
    assert_same(
        scops.solve().order,
        "[N] -> { S0[i, j] -> [0, i, 0, j, 0] : 0 <= i < N and 0 <= j < i;"
        " S1[i] -> [0, i, 1, 0, 0] : 0 <= i < N }",
    )
    assert_same(
        scops.backward().order,
        "[N, M] -> { S0[i, j] -> [0, -i, 0, -j, 0] : 0 <= i <= N - 2 and 0 <= j < M"
        " and (M - 1 - j) mod 2 = 0 }",
    )


def test_domains():
    assert_same(scops.chain().domain, "[N] -> { S0[i] : 0 <= i < N; S1[j] : 1 <= j < N }")
    assert read("", "A[N]").domain.is_empty()
    assert read("", "A[N]").order.is_empty()


def test_names():
    scop = scops.dot()
    assert scop.array("y").name == "y"
    assert scop.statement("S3").name == "S3"
    for look in (scop.array, scop.statement):
        with pytest.raises(KeyError):
            look("nothing")


def test_printing(golden):
    lines = [str(scops.dot()), "", str(scops.scatter()), ""]
    golden("schedule/scop.txt", "\n".join(lines))
