"""What tests of devices need, and the reason they are skipped where it is missing."""

from __future__ import annotations

import shutil

import pytest

from polyopt.errors import PolyoptError
from polyopt.runtime.device.choose import DeviceTarget, choose_provider
from polyopt.runtime.device.nvrtc import find_nvrtc
from polyopt.runtime.device.opencl import POCL, opencl_devices
from polyopt.runtime.device.provider import Provider

needs_nvcc = pytest.mark.skipif(shutil.which("nvcc") is None, reason="no nvcc")
needs_nvrtc = pytest.mark.skipif(find_nvrtc() is None, reason="no NVRTC")


def _missing_pocl() -> str:
    """Return why OpenCL does not run on the processor, or ''."""
    try:
        usable = any(d.platform == POCL and not d.fault for d in opencl_devices())
    except PolyoptError as error:
        return error.message
    return "" if usable else "no PoCL that works here"


needs_pocl = pytest.mark.skipif(bool(_missing_pocl()), reason=_missing_pocl())


def opencl_or_skip() -> Provider:
    """Return an OpenCL device."""
    try:
        return choose_provider(DeviceTarget.OPENCL)
    except PolyoptError as error:
        pytest.skip(error.message)
