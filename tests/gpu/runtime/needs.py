"""What tests of devices need, and the reason they are skipped where it is missing."""

from __future__ import annotations

import os
import shutil

import pytest

from polyopt.errors import PolyoptError
from polyopt.runtime.device.choose import DeviceTarget, choose_provider
from polyopt.runtime.device.nvrtc import find_nvrtc
from polyopt.runtime.device.provider import Provider

needs_nvcc = pytest.mark.skipif(shutil.which("nvcc") is None, reason="no nvcc")
needs_nvrtc = pytest.mark.skipif(find_nvrtc() is None, reason="no NVRTC")


def opencl_or_skip() -> Provider:
    """Return an OpenCL device."""
    try:
        return choose_provider(DeviceTarget.OPENCL)
    except PolyoptError as error:
        if os.environ.get("POLYOPT_REQUIRE_TOOLS") == "1":
            raise
        pytest.skip(error.message)
