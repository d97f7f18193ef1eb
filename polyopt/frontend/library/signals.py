"""Convolution and correlation, windows, numbers evenly spaced on a logarithmic scale.

In: vectors, or how many elements.  Out: vectors.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from polyopt.frontend.library.asking import refused


def convolve(a: Any, v: Any, mode: str = "full") -> Any:
    """The convolution of two vectors."""
    return _part(a, v, mode, (min(a.shape[0], v.shape[0]) - 1) // 2)


def correlate(a: Any, v: Any, mode: str = "valid") -> Any:
    """The sums of products of `a` and of `v` moved along it."""
    start = (v.shape[0] - 1) // 2 if a.shape[0] >= v.shape[0] else a.shape[0] // 2
    return _part(a, np.conjugate(v)[::-1], mode, start)


def _part(a: Any, v: Any, mode: str, start: Any) -> Any:
    n = a.shape[0]
    m = v.shape[0]
    if n == 0 or m == 0:
        raise ValueError("np.convolve and np.correlate take vectors that are not empty")
    full = np.zeros(n + m - 1, dtype=np.result_type(a.dtype, v.dtype))
    for i in range(n):
        for j in range(m):
            full[i + j] += a[i] * v[j]
    return (
        full
        if mode == "full"
        else full[min(n, m) - 1 : max(n, m)]
        if mode == "valid"
        else full[start : start + max(n, m)]
        if mode == "same"
        else refused("this mode", 'use "full", "same" or "valid"')
    )


def hanning(M: Any) -> Any:
    """The Hann window."""
    return 0.5 + 0.5 * np.cos(_phase(M))


def hamming(M: Any) -> Any:
    """The Hamming window."""
    return 0.54 + 0.46 * np.cos(_phase(M))


def blackman(M: Any) -> Any:
    """The Blackman window."""
    phase = _phase(M)
    return 0.42 + 0.5 * np.cos(phase) + 0.08 * np.cos(2.0 * phase)


def _phase(M: Any) -> Any:
    return np.pi * np.arange(1 - M, M, 2) / max(M - 1, 1)


def bartlett(M: Any) -> Any:
    """The triangular window."""
    n = np.arange(1 - M, M, 2)
    slope = n / max(M - 1, 1)
    return np.where(n <= 0, 1 + slope, 1 - slope)


def logspace(
    start: Any,
    stop: Any,
    num: Any = 50,
    endpoint: bool = True,
    base: Any = 10.0,
    dtype: Any = None,
) -> Any:
    """Powers of `base` with evenly spaced exponents."""
    powers = np.power(base, np.linspace(start, stop, num=num, endpoint=endpoint))
    return powers if dtype is None else powers.astype(dtype)


def geomspace(
    start: Any, stop: Any, num: Any = 50, endpoint: bool = True, dtype: Any = None
) -> Any:
    """Numbers of equal ratio between two bounds of one sign."""
    sign = np.sign(start)
    exponents = np.linspace(
        np.log10(np.abs(start)), np.log10(np.abs(stop)), num=num, endpoint=endpoint
    )
    n = np.arange(num)
    inner = np.where(n == 0, start, sign * np.power(10.0, exponents))
    found = np.where((n == num - 1) & (n > 0), stop, inner) if endpoint else inner
    return found if dtype is None else found.astype(dtype)
