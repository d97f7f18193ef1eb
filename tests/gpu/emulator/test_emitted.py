"""Emitted kernels on the emulator: each barrier in them is needed, and its loss is found."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import numpy as np
import pytest

import polyopt as po
import polyopt.emulator
from polyopt.emulator import DeviceFault, EmulatedProvider
from polyopt.hosting.devices import provider_for
from polyopt.runtime.device.provider import (
    Buffer,
    Extent3,
    KernelArgument,
    Log,
    Module,
    Provider,
    no_log,
)

pytestmark = pytest.mark.toolchain
# between blocks one may be too many: what is copied next need not be what was read last
_BARRIER = re.compile(r"__syncthreads\(\);(?!  /\* the next block)")


class Device(EmulatedProvider):
    """A device that loses a barrier of what it compiles, and runs few blocks at a time."""

    lost: int | None = None
    barriers = 0

    def compile(
        self, text: str, entries: Sequence[str], flags: tuple[str, ...] = (), log: Log = no_log
    ) -> Module:
        found = list(_BARRIER.finditer(text))
        Device.barriers = len(found)
        if Device.lost is not None:
            start, end = found[Device.lost].span()
            text = text[:start] + text[end:]
        return super().compile(text, entries, flags, log)

    def launch(
        self,
        module: Module,
        entry: str,
        grid: Extent3,
        block: Extent3,
        args: Sequence[KernelArgument],
        shared: int = 0,
    ) -> None:
        # loops over the grid's second dimension go round again for blocks that are not there
        super().launch(module, entry, (grid[0], min(grid[1], 1), grid[2]), block, args, shared)


@pytest.fixture(autouse=True)
def device(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(polyopt.emulator, "EmulatedProvider", Device)
    monkeypatch.setattr(Device, "lost", None)
    provider_for.cache_clear()
    yield
    provider_for.cache_clear()


def multiply(A, B):
    return A @ B


def product(device: str = "emulated") -> np.ndarray:
    """Return a product of ragged matrices, of several tiles each."""
    rng = np.random.default_rng(1)
    A, B = (rng.integers(-9, 9, shape).astype(np.float32) for shape in ((133, 37), (37, 70)))
    kernel = po.kernel(target="cuda", device=device)(multiply)
    result = kernel(A, B)
    assert np.array_equal(result, A @ B)
    return result


def test_no_barrier_can_be_lost() -> None:
    product()
    assert Device.barriers >= 1
    for number in range(Device.barriers):
        Device.lost = number
        with pytest.raises(DeviceFault) as caught:
            product()
        kinds = {finding.kind for finding in caught.value.findings}
        assert any(kind.is_race for kind in kinds), str(caught.value)


def test_without_checks() -> None:
    assert provider_for("cuda", "emulated-fast").name != provider_for("cuda", "emulated").name
    assert np.array_equal(product("emulated-fast"), product())


def test_the_emulator_is_a_provider() -> None:
    provider: Provider = EmulatedProvider()
    buffer = provider.alloc(0)
    assert isinstance(buffer, Buffer)
    provider.free(buffer)
