"""Programs in the style of Pythran's test cases and manual.

`#pythran export` lines are not needed; what else differs is in `changed`.
"""

from __future__ import annotations

import math

import numpy as np

from tests.ported.record import ported


@ported(lambda r: (r.random(100), r.random(100), r.random(100), r.random(100)))
def arc_distance(theta_1, phi_1, theta_2, phi_2):
    temp = np.sin((theta_2 - theta_1) / 2) ** 2 + np.cos(theta_1) * np.cos(theta_2) * (
        np.sin((phi_2 - phi_1) / 2) ** 2
    )
    return 2 * np.arctan2(np.sqrt(temp), np.sqrt(1 - temp))


@ported(lambda r: (r.random(400),))
def rosen(x):
    t0 = 100 * (x[1:] - x[:-1] ** 2) ** 2
    t1 = (1 - x[:-1]) ** 2
    return np.sum(t0 + t1)


@ported(lambda r: (r.random((20, 5)),))
def pairwise(X):
    n_samples, n_features = X.shape
    D = np.empty((n_samples, n_samples))
    for i in range(n_samples):
        for j in range(n_samples):
            d = 0.0
            for k in range(n_features):
                tmp = X[i, k] - X[j, k]
                d += tmp * tmp
            D[i, j] = np.sqrt(d)
    return D


@ported(lambda r: (1.0, 1.5, 30, 2.0, 12))
def julia(cr, ci, N, bound, lim):
    c = complex(cr, ci)
    orig = np.arange(N * N).reshape((N, N)) * 0
    julia = np.zeros((N, N), np.uint32)
    for x in range(N):
        for y in range(N):
            z = complex(2.0 * x / N - 1.0, 2.0 * y / N - 1.0)
            n = 0
            while abs(z) < bound and n < lim:
                z = z * z + c
                n += 1
            julia[x, y] = n + orig[x, y]
    return julia


@ported(lambda r: (12, r.random((26, 26)), r.random((26, 26)), 0.16, 0.08, 0.035, 0.065))
def grayscott(counts, U, V, Du, Dv, F, k):
    u, v = U[1:-1, 1:-1], V[1:-1, 1:-1]
    for i in range(counts):
        Lu = U[0:-2, 1:-1] + U[1:-1, 0:-2] - 4 * U[1:-1, 1:-1] + U[1:-1, 2:] + U[2:, 1:-1]
        Lv = V[0:-2, 1:-1] + V[1:-1, 0:-2] - 4 * V[1:-1, 1:-1] + V[1:-1, 2:] + V[2:, 1:-1]
        uvv = u * v * v
        u += Du * Lu - uvv + F * (1 - u)
        v += Dv * Lv + uvv - (F + k) * v
    return V


@ported(lambda r: (r.random(300), r.random(300)))
def hasting(y, t):
    a1, b1, a2, b2, d1, d2 = 5.0, 3.0, 0.1, 2.0, 0.4, 0.01
    f1 = a1 * y / (1.0 + b1 * y)
    f2 = a2 * t / (1.0 + b2 * t)
    return y * (1.0 - y) - f1 * t, f1 * t - d1 * t - f2 * y, f2 * t - d2 * y


@ported(lambda r: (r.random(30), r.random(30), r.random((30, 30))))
def wdist(a, b, w):
    n = a.shape[0]
    total = 0.0
    for i in range(n):
        total += sum(w[i, j] * abs(a[i] - b[j]) for j in range(n))
    return total


@ported(lambda r: (r.random(70), r.random(70)))
def lstsqr(x, y):
    x_avg = np.average(x)
    y_avg = np.average(y)
    dx = x - x_avg
    dy = y - y_avg
    var_x = np.sum(dx**2)
    cov_xy = np.sum(dx * (y - y_avg))
    slope = cov_xy / var_x
    y_interc = y_avg - slope * x_avg
    return (slope, y_interc)


@ported(lambda r: (r.standard_normal(500), 0.1, 1.3))
def log_likelihood(data, mean, sigma):
    s = (data - mean) ** 2 / (2 * (sigma**2))
    pdfs = np.exp(-s)
    pdfs /= np.sqrt(2 * np.pi) * sigma
    return np.log(pdfs).sum()


@ported(lambda r: (r.random((24, 20)),))
def harris(I):
    m, n = I.shape
    dx = (I[1:, :] - I[: m - 1, :])[:, 1:]
    dy = (I[:, 1:] - I[:, : n - 1])[1:, :]
    A = dx * dx
    B = dy * dy
    C = dx * dy
    tr = A + B
    det = A * B - C * C
    k = 0.05
    return det - k * tr * tr


def fannkuch_instead(n):
    maxFlipsCount = 0
    permSign = True
    checksum = 0
    perm1 = np.arange(n)
    count = np.arange(n)
    while True:
        k = perm1[0]
        if k:
            perm = perm1.copy()
            flipsCount = 1
            kk = perm[k]
            while kk:
                perm[: k + 1] = perm[: k + 1][::-1].copy()
                flipsCount += 1
                k = kk
                kk = perm[kk]
            maxFlipsCount = max(maxFlipsCount, flipsCount)
            checksum += flipsCount if permSign else -flipsCount
        if permSign:
            perm1[0], perm1[1] = perm1[1], perm1[0]
            permSign = False
        else:
            perm1[1], perm1[2] = perm1[2], perm1[1]
            permSign = True
            for r in range(2, n - 1):
                if count[r]:
                    break
                count[r] = r
                perm0 = perm1[0]
                perm1[: r + 1] = perm1[1 : r + 2]
                perm1[r + 1] = perm0
            else:
                r = n - 1
                if not count[r]:
                    return checksum, maxFlipsCount
            count[r] -= 1


@ported(
    lambda r: (6,),
    refused="PO0124",
    hint="make an array of it: np.array(items)",
    instead=(fannkuch_instead, lambda r: (6,)),
)
def fannkuch(n):
    maxFlipsCount = 0
    permSign = True
    checksum = 0
    perm1 = list(range(n))
    count = list(range(n))
    while True:
        k = perm1[0]
        if k:
            perm = perm1[:]
            flipsCount = 1
            kk = perm[k]
            while kk:
                perm[: k + 1] = reversed(perm[: k + 1])
                flipsCount += 1
                k = kk
                kk = perm[kk]
            maxFlipsCount = max(maxFlipsCount, flipsCount)
            checksum += flipsCount if permSign else -flipsCount
        if permSign:
            perm1[0], perm1[1] = perm1[1], perm1[0]
            permSign = False
        else:
            perm1[1], perm1[2] = perm1[2], perm1[1]
            permSign = True
            for r in range(2, n - 1):
                if count[r]:
                    break
                count[r] = r
                perm0 = perm1[0]
                perm1[: r + 1] = perm1[1 : r + 2]
                perm1[r + 1] = perm0
            else:
                r = n - 1
                if not count[r]:
                    return checksum, maxFlipsCount
            count[r] -= 1


@ported(lambda r: (300,))
def sum_primes(n):
    total = 0
    for i in range(2, n):
        prime = True
        for j in range(2, int(math.sqrt(i)) + 1):
            if i % j == 0:
                prime = False
                break
        if prime:
            total += i
    return total


@ported(lambda r: (r.random((9, 8, 3)), r.random((5, 5))))
def special_convolve(a, kernel):
    h, w, c = a.shape
    out = np.zeros((h - 4, w - 4, c))
    for i in range(h - 4):
        for j in range(w - 4):
            for k in range(c):
                out[i, j, k] = np.sum(a[i : i + 5, j : j + 5, k] * kernel)
    return out


@ported(lambda r: (r.random((40, 3)), 1.0))
def periodic_dist(x, box):
    n = x.shape[0]
    delta = x[:, None, :] - x[None, :, :]
    delta -= box * np.rint(delta / box)
    dist = np.sqrt((delta**2).sum(axis=-1))
    return dist[np.triu_indices(n, 1)].min()


def grouping_instead(values, weights):
    order = values.argsort(kind="stable")
    values = values[order]
    weights = weights[order]
    first = np.concatenate((np.array([True]), values[1:] != values[:-1]))
    starts = np.nonzero(first)[0]
    totals = np.zeros(starts.shape[0])
    np.add.at(totals, np.cumsum(first) - 1, weights)
    return values[starts], totals


@ported(
    lambda r: (r.integers(0, 6, 60), r.random(60)),
    refused="PO0119",
    hint="write it with NumPy operations",
    instead=(grouping_instead, lambda r: (r.integers(0, 6, 60), r.random(60))),
)
def grouping(values, weights):
    order = values.argsort(kind="stable")
    values = values[order]
    weights = weights[order]
    starts = np.nonzero(np.concatenate((np.array([True]), values[1:] != values[:-1])))[0]
    return values[starts], np.add.reduceat(weights, starts)
