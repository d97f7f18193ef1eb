"""Which device is chosen, and what is said where there is none."""

from __future__ import annotations

import ctypes
import importlib
import importlib.util
import json
from typing import Any

import numpy as np
import pytest

from polyopt.errors import PolyoptError, ToolchainError, UsageError
from polyopt.runtime.device import choose, driver
from polyopt.runtime.device.choose import (
    DeviceTarget,
    Found,
    Missing,
    Survey,
    choose_provider,
    survey,
)
from polyopt.runtime.device.driver import CudaDevice, cuda_devices
from polyopt.runtime.device.faults import no_package
from polyopt.runtime.device.opencl import OpenCLDevice
from polyopt.runtime.device.provider import Limits, as_argument, check_launch

LIMITS = Limits(1024, 48 * 1024, (2**31 - 1, 65535, 65535), 32, "sm_90", shared_most=227 * 1024)
DEVICES = tuple(
    CudaDevice(number, name, "13.0", 2**30, LIMITS, has_pools=True)
    for number, name in enumerate(("NVIDIA A100", "NVIDIA H200"))
)


def _chosen(target: DeviceTarget, device: int | str | None = None) -> object:
    return choose_provider(target, device)


def _missing_library(_: str) -> object:
    raise OSError("libcuda.so.1: cannot open shared object file: No such file or directory")


class _Driver:
    """A driver's library that refuses."""

    def __init__(self, count: int, status: int) -> None:
        self._count, self._status = count, status

    def cuInit(self, _: int) -> int:
        return self._status

    def cuDriverGetVersion(self, version: object) -> int:
        return 0

    def cuDeviceGetCount(self, count: object) -> int:
        return 0

    def cuGetErrorString(self, status: int, text: object) -> int:
        return 1


def test_no_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ctypes, "CDLL", _missing_library)
    with pytest.raises(ToolchainError, match="PO0510") as caught:
        choose_provider(DeviceTarget.CUDA)
    assert "libcuda.so.1 is not installed" in caught.value.message
    assert "emulated" in (caught.value.hint or "")


def test_a_driver_that_does_not_load(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: str) -> object:
        raise OSError("invalid ELF header")

    monkeypatch.setattr(ctypes, "CDLL", broken)
    with pytest.raises(ToolchainError, match="invalid ELF header"):
        cuda_devices()


@pytest.mark.parametrize("status, words", [(0, "the driver sees none"), (100, "cuInit: 100")])
def test_a_driver_without_devices(status: int, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ctypes, "CDLL", lambda _: _Driver(0, status))
    with pytest.raises(ToolchainError, match="PO0510") as caught:
        cuda_devices()
    assert words in caught.value.message


def test_neither_binding_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choose, "cuda_devices", lambda: DEVICES)
    monkeypatch.setattr(choose, "find_cuda_compiler", lambda: None)
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(ToolchainError, match="PO0512") as caught:
        choose_provider(DeviceTarget.CUDA)
    assert 'pip install "polyopt[cuda]"' in (caught.value.hint or "")


def test_cuda_devices_by_number_and_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choose, "cuda_devices", lambda: DEVICES)
    monkeypatch.setattr(choose, "find_cuda_compiler", lambda: None)
    monkeypatch.setattr(choose, "_loads", lambda: False)
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: object())
    monkeypatch.setattr(choose, "Bindings", lambda device: device)
    monkeypatch.setattr(choose, "CudaProvider", lambda driver, device, *_: driver)
    assert _chosen(DeviceTarget.CUDA) is DEVICES[0]
    assert _chosen(DeviceTarget.CUDA, 1) is DEVICES[1]
    assert _chosen(DeviceTarget.CUDA, "h200") is DEVICES[1]
    for wanted in (2, -1, "B300", "", " "):
        with pytest.raises(UsageError, match="PO0513") as caught:
            choose_provider(DeviceTarget.CUDA, wanted)
        assert caught.value.notes == ("found: 0: NVIDIA A100; 1: NVIDIA H200",)
    monkeypatch.setattr(choose, "_loads", lambda: True)
    monkeypatch.setattr(choose, "Pycuda", lambda device: ("pycuda", device))
    assert _chosen(DeviceTarget.CUDA, 1) == ("pycuda", DEVICES[1])


def test_devices_known_by_name_need_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ctypes, "CDLL", _missing_library)
    chosen: Any = object()
    elsewhere = {"emulated": lambda: chosen}
    assert choose_provider(DeviceTarget.CUDA, "emulated", elsewhere=elsewhere) is chosen


def _opencl(name: str, platform: str, fault: str = "") -> OpenCLDevice:
    return OpenCLDevice(None, platform, name, "OpenCL 3.0", is_cpu=True, fault=fault)


def test_devices_that_only_check_or_fail_are_not_the_default(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    devices = [
        _opencl("simulator", "Oclgrind"),
        _opencl("old", "Portable Computing Language", "it is too old"),
    ]
    monkeypatch.setattr(choose, "opencl_devices", lambda: tuple(devices))
    monkeypatch.setattr(choose, "OpenCLProvider", lambda device: device)
    with pytest.raises(ToolchainError, match=r"PO0511.*it is too old"):
        choose_provider(DeviceTarget.OPENCL)
    assert _chosen(DeviceTarget.OPENCL, "oclgrind") is devices[0]
    devices.append(_opencl("new", "Portable Computing Language"))
    assert _chosen(DeviceTarget.OPENCL) is devices[2]
    assert _chosen(DeviceTarget.OPENCL, 1) is devices[1]
    devices.clear()
    with pytest.raises(ToolchainError, match="no platform has a device"):
        choose_provider(DeviceTarget.OPENCL)


def test_no_pyopencl(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(_: str) -> object:
        raise ImportError("No module named 'pyopencl'")

    monkeypatch.setattr(importlib, "import_module", absent)
    with pytest.raises(ToolchainError, match="PO0512") as caught:
        choose_provider(DeviceTarget.OPENCL)
    assert 'pip install "polyopt[opencl]"' in (caught.value.hint or "")


def test_the_survey_tells_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ctypes, "CDLL", _missing_library)
    monkeypatch.setattr(choose, "_versioned", lambda _: "")

    def absent() -> object:
        raise no_package("pyopencl does not load", "opencl")

    monkeypatch.setattr(choose, "opencl_devices", absent)
    known = survey()
    assert known.devices == ()
    missing = known.missing
    assert [thing.what for thing in missing if thing.what != "CUDA compiler"] == [
        "CUDA device",
        "CUDA bindings",
        "OpenCL device",
    ]
    assert all(thing.fix for thing in missing)


def test_the_survey_lists_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choose, "cuda_devices", lambda: DEVICES)
    assert [device.name for device in survey().devices if device.target is DeviceTarget.CUDA] == [
        "NVIDIA A100",
        "NVIDIA H200",
    ]


def test_the_command_lists_both(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from polyopt.cli import cmd_devices
    from polyopt.cli.app import run

    found = (
        Found(DeviceTarget.CUDA, 0, "NVIDIA H200", "CUDA 13.0", 2**37, LIMITS),
        Found(DeviceTarget.OPENCL, 0, "PoCL, cpu", "OpenCL 3.0", 2**33, None, "it is too old"),
    )
    missing = (Missing("CUDA compiler", "there is no CUDA compiler", "install one"),)
    monkeypatch.setattr(cmd_devices, "survey", lambda: Survey(found, ("nvcc 13.0",), missing))
    assert run(["devices"]) == 0
    text = capsys.readouterr().out
    assert 'target="cuda", device=0: NVIDIA H200' in text
    assert "blocks of 1024 threads, 227.0 kB shared memory" in text
    assert "cannot be used: it is too old" in text
    assert "found: nvcc 13.0" in text
    assert "missing: there is no CUDA compiler" in text
    assert run(["devices", "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["devices"][0]["limits"]["arch"] == "sm_90"
    assert record["missing"][0]["fix"] == "install one"


@pytest.mark.parametrize(
    "grid, block, shared, code",
    [
        ((1, 1, 1), (1025, 1, 1), 0, "PO0516"),
        ((1, 1, 1), (1, 1, 65), 0, "PO0516"),
        ((1, 1, 1), (32, 33, 1), 0, "PO0516"),
        ((1, 1, 1), (32, 1, 1), 227 * 1024, "PO0517"),
        ((1, 65536, 1), (32, 1, 1), 0, "PO0518"),
    ],
)
def test_launches_that_do_not_fit(
    grid: tuple[int, int, int], block: tuple[int, int, int], shared: int, code: str
) -> None:
    with pytest.raises(PolyoptError, match=code):
        check_launch(LIMITS, "k", grid, block, shared, static=4)


def test_launches_that_fit() -> None:
    assert check_launch(LIMITS, "k", (2**31 - 1, 65535, 1), (32, 32, 1), 227 * 1024 - 4, 4)
    assert not check_launch(LIMITS, "k", (0, 1, 1), (32, 1, 1), 0)
    assert not check_launch(LIMITS, "k", (-1, 1, 1), (32, 1, 1), 0)


def test_truth_values_are_bytes() -> None:
    assert as_argument(np.bool_(True)).dtype == np.uint8
    assert as_argument(np.int64(7)).dtype == np.int64


def test_the_library_is_the_drivers() -> None:
    assert driver.LIBRARY == "libcuda.so.1"
