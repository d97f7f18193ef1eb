"""bit-reversal: an array put into bit-reversed order, as before a fast Fourier transform."""

from __future__ import annotations

import polyopt as po
from workloads.data import normal

SIZES = {
    "MINI": {"LOG": 3},
    "SMALL": {"LOG": 6},
    "MEDIUM": {"LOG": 10},
    "LARGE": {"LOG": 18},
    "EXTRALARGE": {"LOG": 20},
}
OUTPUTS = ("x",)


def bit_reversal(x: po.f64["N"]):
    n = len(x)
    j = 0
    for i in range(1, n):
        bit = n >> 1
        while j & bit:
            j ^= bit
            bit >>= 1
        j ^= bit
        if i < j:
            kept = x[i]
            x[i] = x[j]
            x[j] = kept


def make(LOG, dtype):
    return {"x": normal(1, 2**LOG, dtype)}
