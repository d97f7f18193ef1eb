"""stockham-fft: the fast Fourier transform of powers of two without bit reversal."""

from __future__ import annotations

import math

import numpy as np

import polyopt as po
from workloads.data import normal

SIZES = {
    "MINI": {"LOG": 4},
    "SMALL": {"LOG": 6},
    "MEDIUM": {"LOG": 10},
    "LARGE": {"LOG": 18},
    "EXTRALARGE": {"LOG": 20},
}
OUTPUTS = ("return",)
EXACT = False
DTYPE = np.complex128


def stockham_fft(x: po.c128["N"]):
    N = len(x)
    a = x.copy()
    b = np.empty_like(a)
    half = N // 2
    stride = 1
    while half >= 1:
        for p in range(half):
            angle = -math.pi * p / half
            w = complex(math.cos(angle), math.sin(angle))
            for q in range(stride):
                u = a[q + stride * p]
                v = a[q + stride * (p + half)]
                b[q + stride * 2 * p] = u + v
                b[q + stride * (2 * p + 1)] = (u - v) * w
        for i in range(N):
            a[i] = b[i]
        half //= 2
        stride *= 2
    return a


def make(LOG, dtype):
    N = 2**LOG
    return {"x": (normal(1, N, float) + 1j * normal(2, N, float)).astype(dtype)}


def reference(x):
    return {"return": np.fft.fft(x)}


def flops(LOG):
    return 3 * LOG * 2 ** (LOG - 1)  # of complex numbers


def chain(LOG):
    return 200 * (LOG + 1)
