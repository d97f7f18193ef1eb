"""Arrays on a device as NumPy arrays, for everything that judges a call without reading elements.

In: `DeviceArray`.  Out: `DeviceView`: its shape, strides, type and address; no host memory.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from polyopt.runtime.device.arrays import DeviceArray, device_array_of
from polyopt.runtime.values import array_at


class DeviceView(np.ndarray[Any, Any]):
    """A NumPy array whose memory is on a device: nobody may touch its elements."""

    on_device: DeviceArray

    def __repr__(self) -> str:
        return f"<{self.dtype} array of shape {self.shape} on a device>"

    __str__ = __repr__


def view_of(array: DeviceArray) -> DeviceView:
    """Return a view with what is known of `array`."""
    known = array_at(
        array.pointer or 1 << 62,
        array.dtype.numpy,
        array.shape,
        array.strides,
        writable=array.writable,
    )
    view = known.view(DeviceView)
    view.on_device = array
    return view


def viewed(name: str, value: object) -> object:
    """Return argument `name` as a view where it is on a device, and as it is elsewhere.

    Raises `ArgumentError` PO0216 for elements that kernels do not have.
    """
    array = device_array_of(name, value)
    return value if array is None else view_of(array)


def array_on_device(value: object) -> DeviceArray | None:
    """Return what a view was made of; None for other values."""
    return value.on_device if isinstance(value, DeviceView) else None
