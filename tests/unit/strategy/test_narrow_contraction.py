"""Contractions with few rows or one column: their versions, their forms, their results."""

from __future__ import annotations

import numpy as np
import pytest

import polyopt as po
from polyopt.ir.expr import integer
from polyopt.ir.loops import LoopKind
from polyopt.machine import Machine
from polyopt.model.contraction import few_rows, few_sums
from polyopt.schedule import source_schedule
from polyopt.schedule.tree import bands
from polyopt.strategy import auto_schedule
from polyopt.strategy.narrow_contraction import add_versions, narrow_contraction
from tests import scops
from tests.checks import assert_computes
from tests.reading import read
from tests.unit.strategy.test_contraction import BATCH, MATVEC, NN, NT, TN, product

SMALL = Machine(vector_bytes=8, vector_registers=8, l1=128, l2=512)
WIDE = Machine(vector_bytes=64, vector_registers=32, l1=1024, l2=8192)


def labels(schedule):
    return [band.label for band in bands(schedule.tree)]


def test_machines():
    """Wide vectors take long to load again: packing pays with fewer rows."""
    assert few_rows(Machine(vector_bytes=64)) < few_rows(Machine(vector_bytes=32)) <= 16
    assert few_rows(Machine(vector_bytes=16)) == 16
    assert few_sums(Machine(vector_bytes=64)) < few_sums(Machine(vector_bytes=32)) < 6


@pytest.mark.parametrize(
    ("case", "machine", "bounds"),
    [
        (NN, SMALL, "M <= 1, N <= 16"),
        (TN, SMALL, "N <= 16, M <= 1"),
        (NT, SMALL, f"M <= 1, N <= {few_sums(SMALL)}"),
        (NT, WIDE, f"M <= 1, N <= {few_sums(WIDE)}"),
        (TN, WIDE, f"N <= {few_rows(WIDE)}, M <= 3"),
        (NN, WIDE, f"M <= 1, N <= {few_rows(WIDE)}"),
    ],
)
def test_versions(case, machine, bounds):
    """Lanes run across rows that lie next to each other where columns do not fill a vector."""
    schedule = add_versions(source_schedule(product(*case)), machine)
    assert schedule.text.endswith(f"version({bounds})")


def test_few_columns():
    """Results of a strip are in a transposed copy, for which nothing is copied in."""
    begun = read(
        "for i in range(N):\n    for j in range(M):\n        C[i, j] = 0.0\n"
        "for i in range(N):\n    for j in range(M):\n        for k in range(K):\n"
        "            C[i, j] += A[k, i] * B[k, j]",
        "C[N, M]; A[K, N]; B[K, M]",
        "N M K",
    )
    schedule = auto_schedule(begun, WIDE)
    (copied,) = [a for a in schedule.scop.arrays if a.name == "C_pack"]
    assert copied.shape[-2:] == (integer(3), integer(64))
    assert not [s for s in schedule.scop.statements if s.name.startswith("C_in")]
    assert [s for s in schedule.scop.statements if s.name.startswith("C_out")]


@pytest.mark.parametrize("case", [NN, TN, NT])
def test_forms(case):
    """Each version but the last has a form of its own, and computes the same."""
    schedule = add_versions(source_schedule(product(*case)), SMALL)
    count = len(schedule.tree.parts)
    for number in range(count):
        found = narrow_contraction(schedule, f"L0.v{number}", SMALL)
        assert (found is None) == (number == count - 1)
        schedule = found or schedule
    kinds = {m.kind for b in bands(schedule.tree) for m in b.members}
    assert kinds >= {LoopKind.PARALLEL, LoopKind.VECTOR, LoopKind.UNROLL}
    assert_computes(product(*case), *schedule.trace)


def test_known_rows():
    """Where the source says how many rows there are, no version is needed."""
    few = read(
        "for i in range(3):\n    for j in range(M):\n        for k in range(K):\n"
        "            C[i, j] += A[i, k] * B[k, j]",
        "C[3, M]; A[3, K]; B[K, M]",
        "M K",
    )
    schedule = source_schedule(few)
    assert add_versions(schedule, SMALL) is schedule
    found = narrow_contraction(schedule, "L0", SMALL)
    assert found is not None
    assert_computes(few, *found.trace)


@pytest.mark.parametrize("make", [scops.seidel, scops.chain, lambda: product(*MATVEC)])
def test_others_have_no_versions(make):
    schedule = source_schedule(make())
    assert add_versions(schedule, SMALL) is schedule


def test_batches_have_no_versions():
    schedule = source_schedule(product(*BATCH))
    assert add_versions(schedule, SMALL) is schedule


def test_contractions_with_different_rows_have_no_versions():
    two = read(
        "for i in range(N):\n    for j in range(M):\n        for k in range(K):\n"
        "            C[i, j] += A[i, k] * B[k, j]\n"
        "for i in range(M):\n    for j in range(N):\n        for k in range(K):\n"
        "            D[i, j] += E[i, k] * F[k, j]",
        "C[N, M]; A[N, K]; B[K, M]; D[M, N]; E[M, K]; F[K, N]",
        "N M K",
    )
    assert "version" not in auto_schedule(two, SMALL).text


@pytest.mark.toolchain
@pytest.mark.parametrize(
    ("form", "dtype"),
    [
        ("A @ B", np.float64),
        ("A @ B", np.float32),
        ("A.T @ B", np.float64),
        ("A @ B.T", np.float32),
    ],
)
def test_sizes_on_both_sides(form, dtype):
    name = f"product_{form.count('A.T')}{form.count('B.T')}"
    source = {"A @ B": _plain, "A.T @ B": _left, "A @ B.T": _right}[form]
    kernel = po.kernel(source, threads=2)
    rng = np.random.default_rng(7)
    for n in (0, 1, 2, 5, 6, 16, 17, 70):
        for m in (0, 1, 2, 7, 9, 70):
            for k in (0, 1, 7, 8, 9, 33):
                A = rng.random((k, n) if form == "A.T @ B" else (n, k)).astype(dtype)
                B = rng.random((m, k) if form == "A @ B.T" else (k, m)).astype(dtype)
                C, expected = np.full((n, m), 3, dtype), np.full((n, m), 3, dtype)
                kernel(C, A, B)
                source(expected, A, B)
                assert np.allclose(C, expected, rtol=1e-4), (name, n, m, k)


def _plain(C, A, B):
    C[:] = A @ B


def _left(C, A, B):
    C[:] = A.T @ B


def _right(C, A, B):
    C[:] = A @ B.T
