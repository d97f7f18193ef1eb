"""Arrays that live on a device: taken and given without a copy."""

from __future__ import annotations

import gc
import weakref
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from polyopt.errors import ArgumentError
from polyopt.ir.types import DType
from polyopt.runtime.device.arrays import (
    CPU,
    CUDA,
    DeviceArray,
    Tensor,
    device_array_of,
    give,
    new_array,
    take,
)
from polyopt.runtime.device.provider import Buffer
from tests.dtypes import DTYPES

FACTS: dict[str, Any] = {
    "shape": (4, 6),
    "typestr": "<f4",
    "data": (4096, False),
    "strides": None,
    "version": 3,
}


def _foreign(**facts: object) -> SimpleNamespace:
    return SimpleNamespace(__cuda_array_interface__={**FACTS, **facts})


def test_the_interface_is_read() -> None:
    value = _foreign(stream=7)
    array = device_array_of("a", value)
    assert array is not None
    assert (array.pointer, array.shape, array.strides) == (4096, (4, 6), (24, 4))
    assert (array.dtype, array.writable, array.stream) == (DType.FLOAT32, True, 7)
    assert array.owner is value
    assert array.is_contiguous
    assert array.buffer.nbytes == 96
    assert device_array_of("a", array) is array


def test_views_and_read_only_arrays() -> None:
    array = device_array_of("a", _foreign(strides=(48, 8), data=(64, True)))
    assert array is not None
    assert not array.is_contiguous
    assert not array.writable
    assert array.buffer.nbytes == 3 * 48 + 5 * 8 + 4
    assert array.__cuda_array_interface__["strides"] == (48, 8)
    assert array.__cuda_array_interface__["data"] == (64, True)


def test_complex_numbers_are_aligned_as_a_whole() -> None:
    assert device_array_of("z", _foreign(typestr="<c16")) is not None
    with pytest.raises(ArgumentError, match="no multiple of 16") as caught:
        device_array_of("z", _foreign(typestr="<c16", data=(4104, False)))
    assert caught.value.code == "PO0216"


@pytest.mark.parametrize("shape, strides", [((1, 6), (999, 4)), ((0, 6), (1, 1))])
def test_strides_of_what_is_not_there_do_not_count(
    shape: tuple[int, ...], strides: tuple[int, ...]
) -> None:
    array = device_array_of("a", _foreign(shape=shape, strides=strides))
    assert array is not None
    assert array.is_contiguous


@pytest.mark.parametrize("value", [np.zeros(3), np.float32(1), 3, "a", None])
def test_other_things_are_not_on_a_device(value: object) -> None:
    assert device_array_of("a", value) is None


@pytest.mark.parametrize("facts", [{"typestr": "<V2"}, {"typestr": "<M8[s]"}, {"mask": object()}])
def test_what_kernels_do_not_know_is_refused(facts: dict[str, object]) -> None:
    with pytest.raises(ArgumentError, match=r"PO0216.*`a`"):
        device_array_of("a", _foreign(**facts))


class _Tensor:
    """What another library gives by DLPack."""

    def __init__(self, kind: int, dtype: DType = DType.INT16) -> None:
        self._tensor = Tensor(4096, (3, 2), (8, 2), dtype, kind, 1)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._tensor.kind, 1

    def __dlpack__(self, *, stream: int | None = None) -> object:
        return give(self._tensor, self)


@pytest.mark.parametrize("dtype", DTYPES)
def test_capsules_are_read(dtype: DType) -> None:
    array = device_array_of("a", _Tensor(CUDA, dtype))
    assert array is not None
    assert (array.pointer, array.shape, array.dtype) == (4096, (3, 2), dtype)
    assert array.strides == (8 // dtype.size * dtype.size, 2 // dtype.size * dtype.size)
    assert array.device == 1


def test_capsules_of_the_host_are_not_on_a_device() -> None:
    assert device_array_of("a", _Tensor(CPU)) is None


def test_our_arrays_are_given_both_ways() -> None:
    ours = DeviceArray(64, (2, 3), (12, 4), DType.INT32, 1, True, owner=None)
    taken = take(ours.__dlpack__())
    assert taken == Tensor(64, (2, 3), (12, 4), DType.INT32, CUDA, 1)
    facts = ours.__cuda_array_interface__
    again = device_array_of("a", _foreign(**facts))
    assert again is not None
    assert (again.pointer, again.shape, again.dtype) == (64, (2, 3), DType.INT32)


def test_a_capsule_keeps_its_owner_until_it_goes() -> None:
    owner = _Tensor(CUDA)
    gone = weakref.ref(owner)
    capsule: object = give(Tensor(64, (2,), (4,), DType.INT32, CUDA, 0), owner)
    del owner
    gc.collect()
    assert gone() is not None
    del capsule
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize("rounds", [1, 3])
def test_numpy_takes_our_capsules(rounds: int) -> None:
    """NumPy as another library: it takes the capsule over and calls its deleter."""
    for _ in range(rounds):
        values = np.arange(6.0)
        gone = weakref.ref(values)

        class Host:
            def __init__(self, array: Any) -> None:
                self.array = array

            def __dlpack_device__(self) -> tuple[int, int]:
                return CPU, 0

            def __dlpack__(self, **_: object) -> object:
                tensor = Tensor(self.array.ctypes.data, (2, 3), (24, 8), DType.FLOAT64, CPU, 0)
                return give(tensor, self.array)

        host: Any = Host(values)
        taken = np.from_dlpack(host)
        del host
        del values
        gc.collect()
        np.testing.assert_array_equal(taken, np.arange(6.0).reshape(2, 3))
        assert gone() is not None
        del taken
        gc.collect()
        assert gone() is None


class _Provider:
    """A device whose memory is a NumPy array."""

    def __init__(self) -> None:
        self.freed: list[Buffer] = []

    def free(self, buffer: Buffer) -> None:
        self.freed.append(buffer)

    def download(self, buffer: Buffer, array: Any) -> None:
        array[...] = 5


def test_new_arrays_are_fetched_and_freed_once() -> None:
    provider: Any = _Provider()
    buffer = Buffer(4096, 24)
    array = new_array(provider, buffer, (2, 3), DType.INT32)
    np.testing.assert_array_equal(array.numpy(), np.full((2, 3), 5, np.int32))
    capsule: object = array.__dlpack__()
    del array
    gc.collect()
    assert provider.freed == []
    del capsule
    gc.collect()
    assert provider.freed == [buffer]


def test_views_of_others_cannot_be_fetched() -> None:
    array = device_array_of("a", _foreign())
    assert array is not None
    with pytest.raises(ArgumentError, match="PO0216"):
        array.numpy()
