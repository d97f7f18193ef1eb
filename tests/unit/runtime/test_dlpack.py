"""Arrays of other libraries in host memory, exchanged by DLPack."""

from __future__ import annotations

import numpy as np
import pytest

import polyopt as po
from polyopt.errors import ArgumentError
from polyopt.runtime.values import array_of


class Foreign:
    """An array of another library: it has only what DLPack asks for."""

    def __init__(self, array: np.ndarray, device: int = 1, error: Exception | None = None) -> None:
        self.array, self.device, self.error = array, device, error

    def __dlpack__(self, **options: object) -> object:
        if self.error is not None:
            raise self.error
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device, 0


def scaled(a, b, k):
    for i in range(a.shape[0]):
        b[i] = k * a[i]


def total(a):
    return np.sum(a)


def test_it_is_the_same_memory():
    array = np.arange(12.0).reshape(3, 4)[:, ::2]
    found = array_of(Foreign(array))
    assert found.shape == (3, 2)
    assert found.strides == array.strides
    assert np.shares_memory(found, array)
    assert array_of(Foreign(np.zeros((0, 3)))).shape == (0, 3)


@pytest.mark.parametrize("error", [BufferError("no"), TypeError("no"), RuntimeError("no")])
def test_what_its_library_does_not_export(error):
    assert array_of(Foreign(np.zeros(3), error=error)) is None
    with pytest.raises(ArgumentError) as refused:
        po.kernel(scaled)(Foreign(np.zeros(3), error=error), np.zeros(3), 2.0)
    assert refused.value.code == "PO0206"
    assert "pass a NumPy array of its values" in str(refused.value.hint)


def test_memory_of_a_device_is_not_taken():
    assert array_of(Foreign(np.zeros(3), device=2)) is None


@pytest.mark.toolchain
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int32, np.complex128, np.bool_])
def test_results_are_right(dtype):
    a = np.arange(5).astype(dtype)
    b, expected = np.zeros(5, dtype), np.zeros(5, dtype)
    kernel = po.kernel(scaled, threads=1)
    kernel(Foreign(a), Foreign(b), dtype(1))
    scaled(a, expected, dtype(1))
    assert np.array_equal(b, expected)


@pytest.mark.toolchain
def test_memory_that_may_not_be_written():
    array = np.zeros(3)
    array.flags.writeable = False
    with pytest.raises(ArgumentError) as refused:
        po.kernel(scaled)(np.ones(3), Foreign(array), 2.0)
    assert refused.value.code == "PO0204"


@pytest.mark.toolchain
def test_arrays_of_the_strict_array_api():
    strict = pytest.importorskip("array_api_strict")
    assert po.kernel(total, threads=1)(strict.asarray([1.0, 2.0, 4.0])) == 7.0
