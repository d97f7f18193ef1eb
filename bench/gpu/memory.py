"""Arrays in the GPU's memory, seen by polyopt and by other libraries without copies.

In: NumPy arrays.  Out: `DeviceArray`s, and how polyopt is called on them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import polyopt as po
from bench.gpu.programs import Arrays, Program
from polyopt.ir.types import DType
from polyopt.runtime.device.arrays import DeviceArray, new_array
from polyopt.runtime.device.choose import DeviceTarget, choose_provider
from polyopt.runtime.device.provider import Provider
from polyopt.runtime.store import open_store


def provider() -> Provider:
    """Return the GPU."""
    return choose_provider(DeviceTarget.CUDA, store=open_store())


def place(device: Provider, arrays: Arrays) -> dict[str, DeviceArray]:
    """Copy arrays to the GPU."""
    found: dict[str, DeviceArray] = {}
    for name, array in arrays.items():
        buffer = device.alloc(array.nbytes)
        device.upload(buffer, array)
        found[name] = new_array(device, buffer, array.shape, DType(array.dtype.name))
    return found


@dataclass(frozen=True, slots=True)
class Ours:
    """polyopt's kernel as it is called: on arrays of the GPU, or with `transfers` of NumPy's."""

    call: Callable[[], object]
    transfers: bool
    result: Callable[[], NDArray[Any]]


def ours(program: Program, arrays: Arrays, placed: dict[str, DeviceArray]) -> Ours:
    """Return polyopt's kernel of a program, ready to be called."""
    kernel = po.kernel(target="cuda", fp=program.fp)(program.function)
    output = program.output[0]
    try:
        kernel(**placed)
    except po.ArgumentError:
        own = {name: array.copy() for name, array in arrays.items()}
        kernel(**own)
        return Ours(lambda: kernel(**own), True, lambda: own[output])
    return Ours(lambda: kernel(**placed), False, lambda: np.asarray(placed[output].numpy()))
