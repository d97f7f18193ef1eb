"""Which device to run on, and what there is to choose from.

In: a target, `cuda` or `opencl`, and a device: None, a number, or a part of a name.  Out: a
`Provider`; or `Found` and `Missing`, for people.
Refuses: nothing to run on (PO0510, PO0511, PO0512), a device that is not there (PO0513).
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Mapping, Sequence
from enum import Enum, unique
from importlib.metadata import PackageNotFoundError, version
from typing import TypeVar

from polyopt.dataclass import dataclass
from polyopt.errors import PolyoptError, ToolchainError
from polyopt.never import assert_never
from polyopt.runtime.device.bindings import Bindings
from polyopt.runtime.device.compile import find_cuda_compiler
from polyopt.runtime.device.cuda import CudaProvider
from polyopt.runtime.device.driver import CudaDevice, cuda_devices
from polyopt.runtime.device.faults import no_device, no_package, no_platform
from polyopt.runtime.device.opencl import CHECKER, OpenCLDevice, OpenCLProvider, opencl_devices
from polyopt.runtime.device.provider import Limits, Provider
from polyopt.runtime.device.pycuda import Pycuda
from polyopt.runtime.device.pycuda import load_package as load_pycuda
from polyopt.runtime.store import Store

_Device = TypeVar("_Device", CudaDevice, OpenCLDevice)


@unique
class DeviceTarget(Enum):
    """The language that a device takes."""

    CUDA = "cuda"
    OPENCL = "opencl"


@dataclass(frozen=True, slots=True)
class Found:
    """A device as `polyopt devices` lists it; `fault` says why it cannot be used, or is ''."""

    target: DeviceTarget
    number: int
    name: str
    version: str
    memory: int
    limits: Limits | None
    fault: str = ""


@dataclass(frozen=True, slots=True)
class Missing:
    """What is not there, and how to get it."""

    what: str
    reason: str
    fix: str


def choose_provider(
    target: DeviceTarget,
    device: int | str | None = None,
    *,
    store: Store | None = None,
    elsewhere: Mapping[str, Callable[[], Provider]] | None = None,
) -> Provider:
    """Return the device asked for, or the best there is.

    `elsewhere` are devices that are known by name only, such as an emulator for CUDA text.
    """
    known = elsewhere or {}
    if isinstance(device, str) and device in known:
        return known[device]()
    match target:
        case DeviceTarget.CUDA:
            return _cuda(device, store)
        case DeviceTarget.OPENCL:
            return _opencl(device)
        case _:
            assert_never(target)


def _cuda(device: int | str | None, store: Store | None) -> Provider:
    devices = cuda_devices()
    chosen = _pick(devices, tuple(d.name for d in devices), device)
    compiler = find_cuda_compiler()
    if importlib.util.find_spec("pycuda") is not None and _loads():
        return CudaProvider(Pycuda(chosen), chosen, compiler, store)
    if importlib.util.find_spec("cuda") is None:
        raise no_package("neither cuda-bindings nor pycuda is installed", "cuda")
    return CudaProvider(Bindings(chosen), chosen, compiler, store)


def _loads() -> bool:
    try:
        load_pycuda()
    except ToolchainError:
        return False
    return True


def _opencl(device: int | str | None) -> Provider:
    devices = opencl_devices()
    if device is not None:
        return OpenCLProvider(_pick(devices, tuple(d.describe() for d in devices), device))
    able = [d for d in devices if not d.fault and d.platform != CHECKER]
    if not able:
        faults = [d.fault for d in devices if d.fault]
        raise no_platform(faults[0] if faults else "no platform has a device")
    return OpenCLProvider(able[0])


def _pick(
    devices: Sequence[_Device], names: tuple[str, ...], wanted: int | str | None
) -> _Device:  # fmt: skip
    if wanted is None and devices:
        return devices[0]
    if isinstance(wanted, int) and 0 <= wanted < len(devices):
        return devices[wanted]
    if isinstance(wanted, str):
        for device, name in zip(devices, names, strict=True):
            if wanted.strip() and wanted.strip().lower() in name.lower():
                return device
    raise no_device(wanted, names)


@dataclass(frozen=True, slots=True)
class Survey:
    """All devices, by the numbers that choose them; compilers and packages; what is missing."""

    devices: tuple[Found, ...]
    tools: tuple[str, ...]
    missing: tuple[Missing, ...]


def survey() -> Survey:
    """Look for all that kernels can run on."""
    found: list[Found] = []
    tools: list[str] = []
    missing: list[Missing] = []
    _try("CUDA device", lambda: found.extend(_found_cuda()), missing)
    _try("CUDA compiler", lambda: tools.append(find_cuda_compiler().identity), missing)
    packages = [_versioned(name) for name in ("cuda-bindings", "pycuda")]
    if not any(packages):
        fix = 'pip install "polyopt[cuda]"'
        missing.append(Missing("CUDA bindings", "neither cuda-bindings nor pycuda is there", fix))
    _try("OpenCL device", lambda: found.extend(_found_opencl()), missing)
    tools += [package for package in (*packages, _versioned("pyopencl")) if package]
    return Survey(tuple(found), tuple(tools), tuple(missing))


def _versioned(package: str) -> str:
    try:
        return f"{package} {version(package)}"
    except PackageNotFoundError:
        return ""


def _try(what: str, action: Callable[[], object], missing: list[Missing]) -> None:
    try:
        action()
    except PolyoptError as error:
        missing.append(Missing(what, error.message, error.hint or ""))


def _found_cuda() -> list[Found]:
    return [
        Found(DeviceTarget.CUDA, d.number, d.name, f"CUDA {d.version}", d.memory, d.limits)
        for d in cuda_devices()
    ]


def _found_opencl() -> list[Found]:
    found: list[Found] = []
    for number, device in enumerate(opencl_devices()):
        limits = None if device.fault else OpenCLProvider(device).limits
        memory = int(device.device.global_mem_size)
        name, version = device.describe(), device.version
        found.append(
            Found(DeviceTarget.OPENCL, number, name, version, memory, limits, device.fault)
        )
    return found
