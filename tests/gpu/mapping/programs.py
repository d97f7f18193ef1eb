"""Programs that are mapped: sums and contractions of several shapes."""

from __future__ import annotations

import numpy as np

from polyopt.frontend import build
from polyopt.frontend.syntax.annotations import ArrayType
from polyopt.ir.source import Layout
from polyopt.ir.types import DType


def total(x, out):
    out[0] = np.sum(x)


def total_of_rows(A, out):
    out[0] = np.sum(A)


def row_sums(A, x, y):
    y[:] = A @ x


def column_sums(A, y):
    y[:] = np.sum(A, axis=0)


def channels(A, y):
    y[:] = np.sum(A, axis=(0, 2, 3))


def in_order(x, out):
    for i in range(x.shape[0]):
        out[0] = out[0] + x[i]


def product(A, B, C):
    C[:] = A @ B


def turned(A, B, C):
    C[:] = B @ A.T


def batches(A, B, C):
    C[:] = A @ B


def gram(A, C):
    C[:] = A @ A.T


def images(x, w, y):
    for n in range(x.shape[0]):
        for c in range(y.shape[1]):
            for i in range(x.shape[2] - 2):
                for j in range(x.shape[2] - 2):
                    for k in range(x.shape[1]):
                        for a in range(3):
                            for b in range(3):
                                y[n, c, i, j] += x[n, k, i + a, j + b] * w[c, k, a, b]


def scop_of(function, *ranks):
    """Return the one static control part of a function of float32 arrays of these ranks."""
    ranks = ranks or RANKS[function.__name__]
    types = (ArrayType(DType.FLOAT32, rank, Layout.C, (False,) * rank) for rank in ranks)
    return build(function, tuple(types)).scop


RANKS = {
    "total": (1, 1),
    "total_of_rows": (2, 1),
    "row_sums": (2, 1, 1),
    "column_sums": (2, 1),
    "channels": (4, 1),
    "in_order": (1, 1),
    "product": (2, 2, 2),
    "turned": (2, 2, 2),
    "batches": (3, 3, 3),
    "gram": (2, 2),
    "images": (4, 4, 4),
}
