"""Arrays that a program puts into the memory of a device.

In: an array, a target, a device.  Out: a `DeviceArray`.
Refuses: what is no array (PO0206, PO0202), targets without a device (PO0222).
"""

from __future__ import annotations

import numpy as np

from polyopt.errors import UsageError, boundary
from polyopt.hosting.devices import provider_for
from polyopt.runtime.device.arrays import DeviceArray, new_array
from polyopt.runtime.values import dtype_known, native_array
from polyopt.targets import Options


@boundary
def to_device(
    array: object, target: object = "cuda", device: int | str | None = None
) -> DeviceArray:
    """Return a copy of `array` in the memory of a device, for kernels of that target and device.

    Kernels take it without a copy, and a call that has one leaves new arrays on the device, too.
    `.numpy()` copies it back.  Raises `ArgumentError` PO0206, PO0202 for what is no array,
    `ToolchainError` where there is no such device.
    """
    options = Options().changed({"target": target, "device": device})
    if options.target.is_host:
        raise UsageError(
            "PO0222", 'option `target` is "c", which has no device', hint='use "cuda" or "opencl"'
        )
    host = np.ascontiguousarray(native_array("array", array, None))
    dtype = dtype_known("array", host.dtype, None)
    provider = provider_for(options.target.value, options.device)
    buffer = provider.alloc(host.nbytes)
    if host.size:
        provider.upload(buffer, host)
    return new_array(provider, buffer, host.shape, dtype)
