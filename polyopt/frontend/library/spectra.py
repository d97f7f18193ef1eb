"""Companions of Fourier transforms: the frequencies, and zero frequency in the middle.

In: lengths and arrays.  Out: arrays.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def fftfreq(n: Any, d: Any = 1.0, device: Any = None) -> Any:
    """Frequencies in the order of the transform."""
    k = np.arange(n)
    return np.where(k < (n - 1) // 2 + 1, k, k - n) * (1.0 / (n * d))


def rfftfreq(n: Any, d: Any = 1.0, device: Any = None) -> Any:
    """Frequencies of the transform of real numbers."""
    return np.arange(n // 2 + 1) * (1.0 / (n * d))


def fftshift(x: Any, axes: Any = None) -> Any:
    """Zero frequency in the middle."""
    y = x
    for axis in _axes(x, axes):
        y = np.roll(y, x.shape[axis] // 2, axis)
    return y


def ifftshift(x: Any, axes: Any = None) -> Any:
    """The opposite of fftshift."""
    y = x
    for axis in _axes(x, axes):
        y = np.roll(y, -(x.shape[axis] // 2), axis)
    return y


def _axes(x: Any, axes: Any) -> Any:
    whole = tuple(range(x.ndim))
    return whole if axes is None else (axes,) if isinstance(axes, int) else axes
