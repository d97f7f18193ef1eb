"""arc-distance: great-circle distances between pairs of points by haversines."""

from __future__ import annotations

import math

import numpy as np

import polyopt as po
from workloads.data import normal

SIZES = {
    "MINI": {"N": 30},
    "SMALL": {"N": 300},
    "MEDIUM": {"N": 5000},
    "LARGE": {"N": 1000000},
    "EXTRALARGE": {"N": 4000000},
}
OUTPUTS = ("return",)
EXACT = False


def arc_distance(
    theta_1: po.f64["N"], phi_1: po.f64["N"], theta_2: po.f64["N"], phi_2: po.f64["N"]
):
    out = np.empty(len(theta_1))
    for i in range(len(theta_1)):
        s = math.sin((theta_2[i] - theta_1[i]) / 2)
        t = math.sin((phi_2[i] - phi_1[i]) / 2)
        h = s * s + math.cos(theta_1[i]) * math.cos(theta_2[i]) * t * t
        out[i] = 2 * math.atan2(math.sqrt(h), math.sqrt(1 - h))
    return out


def arc_distance_numpy(
    theta_1: po.f64["N"], phi_1: po.f64["N"], theta_2: po.f64["N"], phi_2: po.f64["N"]
):
    temp = (
        np.sin((theta_2 - theta_1) / 2) ** 2
        + np.cos(theta_1) * np.cos(theta_2) * np.sin((phi_2 - phi_1) / 2) ** 2
    )
    return 2 * np.arctan2(np.sqrt(temp), np.sqrt(1 - temp))


def make(N, dtype):
    return {
        "theta_1": normal(1, N, dtype),
        "phi_1": normal(2, N, dtype),
        "theta_2": normal(3, N, dtype),
        "phi_2": normal(4, N, dtype),
    }


def chain(N):
    return 1000
