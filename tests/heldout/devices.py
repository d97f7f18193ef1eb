"""What devices run in ways of their own: tiles of time, updates of one element by many threads,
attention in one kernel.
"""

import numpy as np

import polyopt as po
from tests.heldout.program import HeldOut

# ruff: noqa: F821 - sizes are named by strings


def spread(T: int, a: po.f32["N,M"], b: po.f32["N,M"]):
    for _ in range(T):
        b[1:-1, 1:-1] = a[1:-1, 1:-1] + a[:-2, 1:-1] - a[1:-1, 2:]
        a[1:-1, 1:-1] = b[1:-1, 1:-1] + b[2:, 1:-1] - b[1:-1, :-2]


def string(T: int, u: po.f64["N"], v: po.f64["N"]):
    for _ in range(T):
        v[2:-2] += u[:-4] - 2.0 * u[2:-2] + u[4:]
        u[2:-2] += v[2:-2]


def cooled(T: int, h: po.f32["X,Y"], g: po.f32["X,Y"]):
    for _ in range(T):
        for x in range(1, h.shape[0] - 1):
            for y in range(1, h.shape[1] - 1):
                g[x, y] = h[x, y] * np.float32(0.5) + h[x - 1, y - 1] + h[x + 1, y + 1]
        for x in range(1, h.shape[0] - 1):
            for y in range(1, h.shape[1] - 1):
                h[x, y] = g[x, y]


def deposited(cell: po.i64["N"], mass: po.i32["N"], grid: po.i32["M"]):
    for n in range(cell.shape[0]):
        grid[cell[n]] += mass[n]


def parity(at: po.i64["N"], flags: po.i32["N"], seen: po.i32["M"]):
    for n in range(at.shape[0]):
        seen[at[n]] ^= flags[n]


def joint_counts(a: po.i64["N"], b: po.i64["N"], table: po.i64["K,L"]):
    for n in range(a.shape[0]):
        table[a[n], b[n]] += 1


def looked_up(query: po.f32["A,D"], keys: po.f32["M,D"], stored: po.f32["M,E"]):
    match = query @ keys.T - np.sum(keys * keys, axis=1)
    share = np.exp2(match - match.max(axis=1, keepdims=True))
    return share @ stored / share.sum(axis=1, keepdims=True)


def remembered(now: po.f64["H,T,D"], past: po.f64["H,T,D"], said: po.f64["H,T,E"]):
    time = np.arange(now.shape[1])
    worth = np.where(time[:, None] > time - 3, now @ past.transpose(0, 2, 1), -np.inf)
    chance = np.exp(worth - np.max(worth, axis=-1, keepdims=True))
    return (chance / np.sum(chance, axis=-1, keepdims=True)) @ said


def transported(x: po.f32["N,D"], y: po.f32["M,D"], price: po.f32["M"], mass: po.f32["M,K"]):
    gain = np.float32(2.0) * (x @ y.T) + price
    kept = np.exp(gain - np.max(gain, axis=1)[:, None])
    return kept @ mass


PROGRAMS = (
    HeldOut(looked_up, ("gpu/online_sums",), {"A": 37, "M": 70, "D": 19, "E": 23}, target="cuda"),
    HeldOut(remembered, ("gpu/online_sums",), {"H": 2, "T": 41, "D": 11, "E": 17}, target="cuda"),
    HeldOut(transported, ("gpu/online_sums",), {"N": 66, "M": 31, "D": 9, "K": 12}, target="cuda"),
    HeldOut(spread, ("gpu/time_tiles",), {"T": 4, "N": 37, "M": 43}, target="cuda"),
    HeldOut(string, ("gpu/time_tiles",), {"T": 5, "N": 71}, target="cuda"),
    HeldOut(cooled, ("gpu/time_tiles",), {"T": 3, "X": 33, "Y": 39}, target="cuda"),
    HeldOut(deposited, ("gpu/updates",), {"N": 97, "M": 20}, target="cuda"),
    HeldOut(parity, ("gpu/updates",), {"N": 83, "M": 20}, target="cuda"),
    HeldOut(joint_counts, ("gpu/updates",), {"N": 89, "K": 20, "L": 20}, target="cuda"),
)
