"""fdtd-2d: electric field (ex, ey) and magnetic field hz of a wave, driven by one value a step."""

from __future__ import annotations

import numpy as np

import polyopt as po

SIZES = {
    "MINI": {"TMAX": 20, "NX": 20, "NY": 30},
    "SMALL": {"TMAX": 40, "NX": 60, "NY": 80},
    "MEDIUM": {"TMAX": 100, "NX": 200, "NY": 240},
    "LARGE": {"TMAX": 500, "NX": 1000, "NY": 1200},
    "EXTRALARGE": {"TMAX": 1000, "NX": 2000, "NY": 2600},
}
OUTPUTS = ("ex", "ey", "hz")
LEAST = {"NX": 1}
STEPS = "TMAX"
WHOLE_REFERENCE = False


def fdtd_2d(
    ex: po.f64["NX,NY"],
    ey: po.f64["NX,NY"],
    hz: po.f64["NX,NY"],
    fict: po.f64["TMAX"],
):
    NX, NY = ex.shape
    for t in range(fict.shape[0]):
        for j in range(NY):
            ey[0, j] = fict[t]
        for i in range(1, NX):
            for j in range(NY):
                ey[i, j] -= 0.5 * (hz[i, j] - hz[i - 1, j])
        for i in range(NX):
            for j in range(1, NY):
                ex[i, j] -= 0.5 * (hz[i, j] - hz[i, j - 1])
        for i in range(NX - 1):
            for j in range(NY - 1):
                hz[i, j] -= 0.7 * (ex[i, j + 1] - ex[i, j] + ey[i + 1, j] - ey[i, j])


def fdtd_2d_numpy(
    ex: po.f64["NX,NY"],
    ey: po.f64["NX,NY"],
    hz: po.f64["NX,NY"],
    fict: po.f64["TMAX"],
):
    for t in range(fict.shape[0]):
        ey[0, :] = fict[t]
        ey[1:, :] -= 0.5 * (hz[1:, :] - hz[:-1, :])
        ex[:, 1:] -= 0.5 * (hz[:, 1:] - hz[:, :-1])
        hz[:-1, :-1] -= 0.7 * (ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1])


def make(TMAX, NX, NY, dtype):
    i, j = np.ogrid[:NX, :NY]
    return {
        "ex": (i * (j + 1) / max(NX, 1)).astype(dtype),
        "ey": (i * (j + 2) / max(NY, 1)).astype(dtype),
        "hz": (i * (j + 3) / max(NX, 1)).astype(dtype),
        "fict": np.arange(TMAX).astype(dtype),
    }


def reference(ex, ey, hz, fict):
    ex, ey, hz = ex.copy(), ey.copy(), hz.copy()
    for value in fict:
        ey[0] = value
        ey[1:] -= 0.5 * np.diff(hz, axis=0)
        ex[:, 1:] -= 0.5 * np.diff(hz, axis=1)
        curl = np.diff(ex[:-1], axis=1)
        curl += np.diff(ey[:, :-1], axis=0)
        curl *= 0.7
        hz[:-1, :-1] -= curl
    return {"ex": ex, "ey": ey, "hz": hz}


def flops(TMAX, NX, NY):
    return TMAX * (
        3 * max(NX - 1, 0) * NY + 3 * NX * max(NY - 1, 0) + 5 * max(NX - 1, 0) * max(NY - 1, 0)
    )


def chain(TMAX, NX, NY):
    return 11 * TMAX
