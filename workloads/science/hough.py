"""hough: votes of an edge image for lines, by angle and distance."""

from __future__ import annotations

import math

import numpy as np

import polyopt as po
from workloads.data import integers

SIZES = {
    "MINI": {"M": 8, "N": 10, "ANGLES": 9},
    "SMALL": {"M": 20, "N": 24, "ANGLES": 30},
    "MEDIUM": {"M": 50, "N": 50, "ANGLES": 60},
    "LARGE": {"M": 300, "N": 300, "ANGLES": 180},
    "EXTRALARGE": {"M": 1000, "N": 1000, "ANGLES": 180},
}
OUTPUTS = ("return",)
DTYPE = np.uint8


def hough(edges: po.u8["M,N"], angles: int):
    M, N = edges.shape
    offset = M + N
    votes = np.zeros((2 * offset + 1, angles), dtype=np.int64)
    for y in range(M):
        for x in range(N):
            if edges[y, x] > 128:
                for t in range(angles):
                    theta = math.pi * t / angles
                    rho = round(x * math.cos(theta) + y * math.sin(theta))
                    votes[rho + offset, t] += 1
    return votes


def make(M, N, ANGLES, dtype):
    return {"edges": integers(1, 256, (M, N)).astype(dtype), "angles": ANGLES}
