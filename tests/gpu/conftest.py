"""What tests of devices need is named where it is missing: a skip here, a failure with
POLYOPT_REQUIRE_TOOLS=1.
"""

from __future__ import annotations

import os
from collections.abc import Generator

import pytest

from polyopt.errors import ToolchainError

MISSING = frozenset({"PO0511", "PO0520"})
"""Codes that say: there is no OpenCL device, the emulator cannot be built."""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Generator[None, None, None]:
    """Skip tests of what this machine lacks."""
    try:
        return (yield)
    except ToolchainError as error:
        if error.code in MISSING and os.environ.get("POLYOPT_REQUIRE_TOOLS") != "1":
            pytest.skip(error.message)
        raise
