"""What tests of devices need is named where it is missing: a skip here, a failure with
POLYOPT_REQUIRE_TOOLS=1.
"""

from __future__ import annotations

import os
from collections.abc import Generator

import pytest

from polyopt.errors import ToolchainError

NO_EMULATOR = "PO0520"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Generator[None, None, None]:
    """Skip what the emulator cannot be built for."""
    try:
        return (yield)
    except ToolchainError as error:
        if error.code == NO_EMULATOR and os.environ.get("POLYOPT_REQUIRE_TOOLS") != "1":
            pytest.skip(error.message)
        raise
