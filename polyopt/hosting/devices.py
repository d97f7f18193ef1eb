"""The devices that programs run on, each opened once.

In: a target and a device, as the options name them.  Out: a `Provider`.
Refuses: what `choose_provider` refuses.
"""

from __future__ import annotations

from functools import cache

from polyopt.ir.target import TARGETS
from polyopt.runtime.device.choose import DeviceTarget, choose_provider
from polyopt.runtime.device.provider import Provider
from polyopt.runtime.store import open_store

EMULATED = "emulated"
"""The name of the device that runs CUDA text on the host and checks it."""

EMULATED_FAST = "emulated-fast"
"""The name of the one that runs it on the host and checks nothing."""


@cache
def provider_for(target: str, device: int | str | None) -> Provider:
    """Return the device for a language."""
    provider: Provider = TARGETS[target].open_device(device)
    return provider


def open_cuda(device: int | str | None) -> Provider:
    """Return a GPU, or one that the host emulates."""
    emulated = {EMULATED: _emulated, EMULATED_FAST: _emulated_fast}
    return choose_provider(DeviceTarget.CUDA, device, store=open_store(), elsewhere=emulated)


def open_opencl(device: int | str | None) -> Provider:
    """Return a device of OpenCL's."""
    return choose_provider(DeviceTarget.OPENCL, device, store=open_store())


def _emulated() -> Provider:
    from polyopt.emulator import EmulatedProvider

    return EmulatedProvider()


def _emulated_fast() -> Provider:
    from polyopt.emulator import EmulatedProvider, Rules

    return EmulatedProvider(Rules(checks=False))
