"""Loops that carry what they compute: along rows, in lanes across rows, in private arrays."""

import numpy as np

import polyopt as po
from tests.heldout.program import HeldOut

# ruff: noqa: F821 - sizes are named by strings


def compounded(rate: po.f64["N,T"], value: po.f64["N,T"]):
    for n in range(rate.shape[0]):
        for t in range(1, rate.shape[1]):
            value[n, t] = value[n, t - 1] * rate[n, t] + value[n, t]


def fraction(a: po.f64["B,K"], b: po.f64["B,K"], h: po.f64["B,K"]):
    for row in range(a.shape[0]):
        for k in range(a.shape[1] - 2, -1, -1):
            h[row, k] = b[row, k] / (a[row, k] + h[row, k + 1])


def resonators(x: po.f32["C,T"], y: po.f32["C,T"]):
    for c in range(x.shape[0]):
        for t in range(2, x.shape[1]):
            y[c, t] = x[c, t] + np.float32(0.5) * y[c, t - 1] - np.float32(0.25) * y[c, t - 2]


def trajectories(start: po.f64["N"], gain: po.f64["N"], end: po.f64["N"]):
    for n in range(start.shape[0]):
        x = start[n]
        for _ in range(25):
            x = x + gain[n] * (1.0 - x * x)
        end[n] = x


def oscillators(q: po.f32["M"], p: po.f32["M"], k: po.f32["M"]):
    for _ in range(12):
        for m in range(q.shape[0]):
            p[m] -= k[m] * q[m]
            q[m] += p[m]


def screened(x: po.f64["N,2"], q: po.f64["N"], field: po.f64["N"]):
    total = 0.0
    for i in range(x.shape[0]):
        for j in range(x.shape[0]):
            apart = x[i] - x[j]
            near = q[j] / (1.0 + (apart * apart).sum())
            total += near * near
            field[i] += near
    return total


def bend(x: po.f32["M,4"], y: po.f32["K,4"], w: po.f32["M"], load: po.f32["M"]):
    parts = np.zeros(4, dtype=np.float32)
    for m in range(x.shape[0]):
        for k in range(y.shape[0]):
            for a in range(4):
                parts[a] = x[m, a] * y[k, 3 - a]
            for a in range(3):
                load[m] += w[m] * (parts[a] - parts[a + 1]) ** 2


def three_body(x: po.f64["N,3"], w: po.f64["N,N"]):
    energy = 0.0
    cross = np.zeros(3)
    for i in range(x.shape[0]):
        for j in range(x.shape[0]):
            for a in range(3):
                cross[a] = x[i, a] * x[j, 2 - a] - x[j, a]
            for a in range(3):
                energy += w[i, j] * cross[a] * cross[a]
    return energy


def deepest_fall(gain: po.f64["T,S"], low: po.f64["S"]):
    wealth = np.cumprod(gain, axis=0)
    low[:] = (wealth / np.maximum.accumulate(wealth, axis=0)).min(axis=0)


def smoothed_error(x: po.f64["T,S"], worst: po.f64["S"]):
    smooth = np.empty_like(x)
    smooth[0] = x[0]
    for t in range(1, x.shape[0]):
        smooth[t] = 0.25 * x[t] + 0.75 * smooth[t - 1]
    for t in range(1, x.shape[0]):
        for s in range(x.shape[1]):
            worst[s] = max(worst[s], abs(x[t, s] - smooth[t, s]))


def shares(flow: po.f32["T,S"], share: po.f32["T,S"]):
    total = np.cumsum(flow, axis=0)
    share[:] = flow / total


def envelope(x: po.f64["T,C"], y: po.f64["T,C"], z: po.f64["T,C"]):
    for c in range(x.shape[1]):
        mean, power = 0.0, 1.0
        for t in range(x.shape[0]):
            mean = 0.9 * mean + 0.1 * x[t, c]
            power = 0.99 * power + 0.01 * x[t, c] * x[t, c]
            around = np.sqrt(abs(power - mean * mean) + 0.001)
            y[t, c] = mean + around
            z[t, c] = mean * around


PROGRAMS = (
    HeldOut(compounded, ("row_recurrences",), {"N": 37, "T": 61}),
    HeldOut(
        fraction, ("row_recurrences",), {"B": 35, "K": 53}, prepare=lambda a, b, h: np.abs(a, out=a)
    ),
    HeldOut(resonators, ("row_recurrences",), {"C": 41, "T": 71}),
    HeldOut(trajectories, ("outer_vectorization",), {"N": 77}),
    HeldOut(oscillators, ("outer_vectorization",), {"M": 83}),
    HeldOut(envelope, ("outer_vectorization",), {"T": 23, "C": 71}),
    HeldOut(screened, ("loop_privatization",), {"N": 61}),
    HeldOut(bend, ("loop_privatization",), {"M": 23, "K": 31}),
    HeldOut(three_body, ("loop_privatization",), {"N": 67}),
    HeldOut(
        deepest_fall,
        ("running_rows",),
        {"T": 43, "S": 37},
        prepare=lambda gain, low: np.add(np.abs(gain, out=gain), 0.5, out=gain),
    ),
    HeldOut(smoothed_error, ("running_rows",), {"T": 61, "S": 29}),
    HeldOut(
        shares,
        ("running_rows",),
        {"T": 37, "S": 53},
        prepare=lambda flow, share: np.add(np.abs(flow, out=flow), 0.5, out=flow),
    ),
)
