"""Programs in the style of loopy's tutorial and examples.

An instruction of loopy is a statement here, and a domain's inames are `for` loops or slices; where
the instruction itself differs, `changed` says how.
"""

from __future__ import annotations

import numpy as np

from tests.ported.record import ported


@ported(lambda r: (r.random(77), np.zeros(77)))
def scale(a, out):
    for i in range(a.shape[0]):
        out[i] = 2 * a[i]


@ported(lambda r: (r.random(20), r.random(30), np.zeros((20, 30))))
def rank_one(a, b, c):
    for i in range(a.shape[0]):
        for j in range(b.shape[0]):
            c[i, j] = a[i] * b[j]


@ported(
    lambda r: (r.random((20, 30)), r.random(30), np.zeros(20)),
    changed={"out[i] = sum(j, a[i, j] * x[j])": "out[i] = sum(a[i, j] * x[j] for j in range(n))"},
)
def matvec(a, x, out):
    m, n = a.shape
    for i in range(m):
        out[i] = sum(a[i, j] * x[j] for j in range(n))


@ported(
    lambda r: (r.random((13, 11)), r.random((11, 17)), np.zeros((13, 17))),
    changed={
        "c[i, j] = sum(k, a[i, k] * b[k, j])": (
            "c[i, j] = sum(a[i, k] * b[k, j] for k in range(a.shape[1]))"
        )
    },
)
def matmul(a, b, c):
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            c[i, j] = sum(a[i, k] * b[k, j] for k in range(a.shape[1]))


@ported(lambda r: (r.random((25, 21)), np.zeros((25, 21))))
def transpose_scaled(a, out):
    n, m = a.shape
    for i in range(n):
        for j in range(m):
            temp = a[i, j]
            temp = temp * temp
            out[i, j] = temp + 1


@ported(lambda r: (r.random((18, 18)), np.zeros((18, 18)), 0.5))
def laplacian(u, lap, h):
    n = u.shape[0]
    for i in range(1, n - 1):
        for j in range(1, n - 1):
            lap[i, j] = (u[i + 1, j] + u[i - 1, j] + u[i, j + 1] + u[i, j - 1] - 4 * u[i, j]) / h**2


def csr(r):
    dense = r.random((15, 12)) * (r.random((15, 12)) > 0.6)
    starts = np.concatenate([[0], np.cumsum((dense != 0).sum(axis=1))])
    return dense[dense != 0], np.nonzero(dense)[1], starts, r.random(12), np.zeros(15)


@ported(csr)
def csr_matvec(values, columns, rowstarts, x, y):
    for i in range(y.shape[0]):
        length = rowstarts[i + 1] - rowstarts[i]
        rowsum = 0.0
        for j in range(length):
            rowsum = rowsum + values[rowstarts[i] + j] * x[columns[rowstarts[i] + j]]
        y[i] = rowsum


@ported(lambda r: (r.random((3, 25)), 0.1 + r.random(25), np.zeros(25)))
def potential(x, q, pot):
    n = q.shape[0]
    for i in range(n):
        acc = 0.0
        for j in range(n):
            dist = 0.0
            for d in range(3):
                dist += (x[d, i] - x[d, j]) ** 2
            acc += q[j] / np.sqrt(dist) if i != j else 0.0
        pot[i] = acc


@ported(lambda r: (r.random(40), np.zeros(40)))
def prefix_sum(a, out):
    acc = 0.0
    for i in range(a.shape[0]):
        acc = acc + a[i]
        out[i] = acc


@ported(
    lambda r: (r.random((6, 6)), r.random((9, 6, 6, 6)), np.zeros((9, 6, 6, 6))),
    changed={
        "out[e, i, j, k] = sum(l, D[i, l] * u[e, l, j, k])": (
            "out[e, i, j, k] = sum(D[i, l] * u[e, l, j, k] for l in range(6))"
        )
    },
)
def spectral_derivative(D, u, out):
    for e in range(u.shape[0]):
        for i in range(6):
            for j in range(6):
                for k in range(6):
                    out[e, i, j, k] = sum(D[i, l] * u[e, l, j, k] for l in range(6))


@ported(lambda r: (r.random(60), np.zeros(60)))
def conditional(a, out):
    n = a.shape[0]
    for i in range(n):
        if i < n // 2:
            out[i] = a[i]
        elif a[i] > 0.5:
            out[i] = -a[i]
        else:
            out[i] = np.sin(a[i])


@ported(
    lambda r: (r.random(30),),
    changed={"mx, at = argmax(i, abs(a[i]), i)": "at = np.argmax(np.abs(a))"},
)
def argmax(a):
    at = np.argmax(np.abs(a))
    return a[at], at
