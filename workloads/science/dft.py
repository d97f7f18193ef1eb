"""dft: the discrete Fourier transform as a product with its matrix."""

from __future__ import annotations

import math

import numpy as np

import polyopt as po
from workloads.data import normal

SIZES = {
    "MINI": {"N": 16},
    "SMALL": {"N": 64},
    "MEDIUM": {"N": 200},
    "LARGE": {"N": 1000},
    "EXTRALARGE": {"N": 2000},
}
OUTPUTS = ("return",)
EXACT = False
DTYPE = np.complex128


def dft(x: po.c128["N"]):
    N = len(x)
    X = np.zeros(N, dtype=np.complex128)
    for k in range(N):
        for n in range(N):
            angle = -2.0 * math.pi * ((k * n) % N) / N
            X[k] += x[n] * (math.cos(angle) + 1j * math.sin(angle))
    return X


def dft_numpy(x: po.c128["N"]):
    N = x.shape[0]
    n = np.arange(N)
    k = n.reshape((N, 1))
    M = np.exp(-2j * np.pi * k * n / N)
    return M @ x


def make(N, dtype):
    return {"x": (normal(1, N, float) + 1j * normal(2, N, float)).astype(dtype)}


def reference(x):
    return {"return": np.fft.fft(x) if len(x) else x}


def chain(N):
    return 40 * N
