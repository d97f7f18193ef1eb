"""A package with a kernel that was emitted by polyopt, which is not needed here."""

import ctypes
from pathlib import Path

import numpy as np

_LIBRARY = ctypes.CDLL(str(next(Path(__file__).parent.glob("*scaled*.so"))))
_MATRIX = np.ctypeslib.ndpointer(np.float64, 2, flags="C_CONTIGUOUS")
_SIZE = ctypes.c_int64
_SCALED = _LIBRARY.polyopt_scaled
_SCALED.argtypes = (_SIZE, _SIZE, ctypes.c_double, _MATRIX, _MATRIX)


def scaled(x: np.ndarray, a: float) -> np.ndarray:
    """Return `a * x`."""
    out = np.empty_like(x)
    status = _SCALED(*x.shape, a, x, out)
    if status != 0:
        raise RuntimeError(f"the kernel returned {status}")
    return out
