"""Linear equations that have no or many solutions: least squares.

In: a matrix and right sides.  Out: what NumPy's function returns, by singular values.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def lstsq(a: Any, b: Any, rcond: Any = None) -> Any:
    """The solutions of least norm, the residuals, the rank and the singular values."""
    u, s, vt = np.linalg.svd(a, full_matrices=False)
    m, n = a.shape
    least = np.finfo(s.dtype).eps * max(m, n) if rcond is None else rcond
    keep = s > least * np.max(s)
    rank = np.sum(keep)
    y = np.conj(np.transpose(u)) @ b
    inverse = np.where(keep, 1 / np.where(keep, s, 1), 0).astype(s.dtype)
    x = np.conj(np.transpose(vt)) @ (inverse * y if np.ndim(b) == 1 else inverse[:, None] * y)
    r = np.atleast_1d(np.sum(np.abs(b - a @ x) ** 2, axis=0))
    determined = np.full(r.shape[0], (m > n) & (rank == n))
    return x, r[determined], np.int32(rank), s
