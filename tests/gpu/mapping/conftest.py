"""Fixtures of tests that look at kernels and change them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import polyopt.emulator
from polyopt.hosting.devices import provider_for
from tests.gpu.mapping.changed import Device


@pytest.fixture
def changed_device(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let the emulated device be `Device`, which changes nothing until it is told to."""
    monkeypatch.setattr(polyopt.emulator, "EmulatedProvider", Device)
    monkeypatch.setattr(Device, "change", ("", ""))
    provider_for.cache_clear()
    yield
    provider_for.cache_clear()
