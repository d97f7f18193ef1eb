"""Which arguments need not be copied to a device."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polyopt as po
from polyopt.frontend import build
from polyopt.frontend.syntax.type_inference import infer_types
from polyopt.schedule.liveness import overwritten

MATRIX, VECTOR = po.f64["N,M"], po.i64["N"]


def doubled(A: MATRIX, B: MATRIX):
    B[:] = A * 2.0


def inner(A: MATRIX, B: MATRIX):
    B[1:-1, 1:-1] = A[1:-1, 1:-1]


def added(A: MATRIX, B: MATRIX):
    B += A


def chosen(A: MATRIX, B: MATRIX):
    B[A > 0.5] = 1.0


def in_turn(A: MATRIX, B: MATRIX):
    for i in range(B.shape[0]):
        for j in range(B.shape[1]):
            B[i, j] = A[i, j]
        for j in range(B.shape[1]):
            B[i, j] += B[0, j]


def too_early(A: MATRIX, B: MATRIX):
    for i in range(B.shape[0]):
        for j in range(B.shape[1]):
            B[i, j] = A[i, j] + B[B.shape[0] - 1, j]


def gathered(A: MATRIX, B: MATRIX, index: VECTOR):
    for i in range(B.shape[0]):
        for j in range(B.shape[1]):
            B[i, j] = A[index[i], j]


@pytest.mark.parametrize(
    "function, names",
    [
        (doubled, {"B"}),
        (in_turn, {"B"}),
        (inner, set()),
        (added, set()),
        (chosen, set()),
        (too_early, set()),
        (gathered, set()),
    ],
    ids=lambda v: getattr(v, "__name__", ""),
)
def test_arguments_that_are_overwritten(function: Any, names: set[str]) -> None:
    assert overwritten(build(function, infer_types(function))) == names


@pytest.mark.toolchain
def test_what_is_overwritten_is_not_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyopencl")
    from polyopt.hosting.kernel import Mirror
    from tests.gpu.runtime.needs import opencl_or_skip

    opencl_or_skip()
    copied = []
    put = Mirror.put

    def noted(self: Mirror, array: np.ndarray) -> None:
        copied.append(array[0, 0])
        put(self, array)

    monkeypatch.setattr(Mirror, "put", noted)
    A, B = np.full((5, 6), 7.0), np.full((5, 6), 9.0)
    po.kernel(target="opencl")(doubled)(A, B)
    assert copied == [7.0]
    assert np.array_equal(B, A * 2.0)
    po.kernel(target="opencl")(inner)(A, B)
    assert copied == [7.0, 7.0, 14.0]
    assert B[0, 0] == 14.0
    assert B[1, 1] == 7.0
