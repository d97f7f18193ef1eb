"""Calls on a device that does nothing until somebody waits: who waits, and for what."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import polyopt as po
import polyopt.emulator
from polyopt.errors import ArgumentError
from polyopt.hosting import provider_for
from polyopt.runtime.device.arrays import DeviceArray
from polyopt.runtime.device.provider import Streamed
from polyopt.runtime.device.streams import number_of
from tests.gpu.runtime.late import OWN, LateDevice
from tests.gpu.suite.test_host import above, gather, newton

THEIRS = 7
A = np.random.default_rng(3).random((37, 45))


@pytest.fixture
def device(monkeypatch: pytest.MonkeyPatch) -> Iterator[LateDevice]:
    monkeypatch.setattr(polyopt.emulator, "EmulatedProvider", LateDevice)
    provider_for.cache_clear()
    found = provider_for("cuda", "emulated")
    assert isinstance(found, LateDevice)
    assert isinstance(found, Streamed)
    yield found
    found.streams.run(OWN)
    provider_for.cache_clear()


def scaled(x: Any, y: Any) -> None:
    y[:] = 2.0 * x


def twice(x: Any) -> Any:
    return 2.0 * x


def kernel(function: Callable[..., Any]) -> po.Kernel[Any]:
    return po.kernel(target="cuda", device="emulated")(function)


def placed(array: Any) -> DeviceArray:
    return po.to_device(array, "cuda", "emulated")


@pytest.mark.toolchain
def test_numpy_arrays_are_complete(device: LateDevice) -> None:
    y = np.zeros_like(A)
    kernel(scaled)(A, y)
    assert np.array_equal(y, 2 * A)
    assert np.array_equal(kernel(twice)(A), 2 * A)


@pytest.mark.toolchain
def test_nobody_waits_while_arrays_stay_on_the_device(device: LateDevice) -> None:
    x, y = placed(A), placed(np.zeros_like(A))
    call, new = kernel(scaled), kernel(twice)
    device.waits = 0
    call(x, y)
    call(y, x)
    result = new(x)
    assert device.waits == 0
    assert device.streams.queues[OWN]
    del x
    assert np.array_equal(result.numpy(), 8 * A)
    assert device.waits > 0


@pytest.mark.toolchain
def test_what_the_host_reads_is_there(device: LateDevice) -> None:
    x, tolerance = np.random.default_rng(7).random(70) + 0.5, 1e-9
    roots, rounds = kernel(newton)(placed(x), tolerance)
    function: Any = newton
    want, count = function(x.copy(), tolerance)
    assert rounds == count
    assert np.allclose(roots.numpy() if isinstance(roots, DeviceArray) else roots, want)
    chosen = kernel(above)(placed(x))
    assert np.array_equal(np.asarray(chosen), x[x > 0.5])


@pytest.mark.toolchain
def test_faults_are_raised_by_the_call(device: LateDevice) -> None:
    out, where = np.zeros(3), np.array([0, 9, 1])
    with pytest.raises(IndexError):
        kernel(gather)(placed(A[0, :3]), placed(where), placed(out))


@pytest.mark.toolchain
@pytest.mark.parametrize("told", [True, False])
@pytest.mark.parametrize("hurry", [OWN, THEIRS])
def test_other_streams_are_waited_for_and_wait(
    device: LateDevice, hurry: int, told: bool
) -> None:  # fmt: skip
    x, y = placed(np.zeros_like(A)), placed(np.zeros_like(A))
    call = kernel(scaled)
    call(x, y)
    device.synchronize()
    seen = np.zeros_like(A)
    device.streams.ask(THEIRS, lambda: _write(device, x, A))
    if told:
        call(replace(x, stream=THEIRS), replace(y, stream=THEIRS))
    else:
        with po.on_stream(THEIRS):
            call(x, y)
    if hurry == OWN:
        assert np.array_equal(y.numpy(), 2 * A)
        return
    device.streams.ask(THEIRS, lambda: _read(device, y, seen))
    device.streams.run(THEIRS)
    assert np.array_equal(seen, 2 * A)


def _write(device: LateDevice, array: DeviceArray, source: np.ndarray) -> None:
    super(LateDevice, device).upload(array.buffer, source)


def _read(device: LateDevice, array: DeviceArray, target: np.ndarray) -> None:
    super(LateDevice, device).download(array.buffer, target)


def test_streams_of_libraries_are_known() -> None:
    for stream, number in (
        (5, 5),
        (0, 1),
        (SimpleNamespace(ptr=9), 9),
        (SimpleNamespace(cuda_stream=0), 1),
        (SimpleNamespace(handle=4), 4),
        (SimpleNamespace(__cuda_stream__=lambda: (0, 6), ptr=9), 6),
    ):
        assert number_of(stream) == number
    for wrong in (None, "7", -3, True, 1.5j, SimpleNamespace(ptr=None)):
        with pytest.raises(ArgumentError, match="PO0217"):
            number_of(wrong)
