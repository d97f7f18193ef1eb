"""kalman: a filter of position and velocity over noisy measurements."""

from __future__ import annotations

import numpy as np

import polyopt as po
from workloads.data import normal

SIZES = {
    "MINI": {"N": 10},
    "SMALL": {"N": 50},
    "MEDIUM": {"N": 300},
    "LARGE": {"N": 5000},
    "EXTRALARGE": {"N": 50000},
}
OUTPUTS = ("return",)


def kalman_numpy(z: po.f64["N"], dt: po.f64, q: po.f64, r: po.f64):
    F = np.array([[1.0, dt], [0.0, 1.0]])
    H = np.array([[1.0, 0.0]])
    Q = q * np.eye(2)
    x = np.zeros((2, 1))
    P = np.eye(2)
    out = np.zeros((z.shape[0], 2))
    for k in range(z.shape[0]):
        x = F @ x
        P = F @ P @ F.T + Q
        S = H @ P @ H.T + r
        K = P @ H.T / S
        x = x + K * (z[k] - H @ x)
        P = (np.eye(2) - K @ H) @ P
        out[k] = x[:, 0]
    return out


def make(N, dtype):
    return {"z": normal(1, N, dtype), "dt": 0.1, "q": 0.01, "r": 0.5}


def chain(N):
    return 1000
