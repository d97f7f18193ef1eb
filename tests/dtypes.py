"""The element types there are: BFLOAT16 only where the package that has it is installed."""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np

from polyopt.ir.types import DType

DTYPES = tuple(d for d in DType if d is not DType.BFLOAT16 or find_spec("ml_dtypes"))


def comparable(values: np.ndarray) -> np.ndarray:
    """Return values as NumPy's functions for tests take them: bfloat16 as float32."""
    return values.astype(np.float32) if values.dtype.name == "bfloat16" else values
