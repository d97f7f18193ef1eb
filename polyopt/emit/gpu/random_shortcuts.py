"""Define parts of random numbers by instructions of the device.

In: nothing.  Out: for a helper, a condition of the preprocessor and the lines for devices where it
holds, or for all without a condition.
"""

from __future__ import annotations

from polyopt.emit.gpu.half_conversions import Shortcuts
from polyopt.emit.helpers import Helper, HelperKind
from polyopt.ir.types import DType

_HIGH = Helper(HelperKind.HIGH_PRODUCT, DType.UINT64)
_PRODUCT = Helper(HelperKind.PRODUCT, DType.FLOAT64)

CUDA_RANDOM: Shortcuts = {
    _HIGH: ("", ["return __umul64hi(a, b);"]),
    _PRODUCT: ("#ifndef PO_EMULATED", ["return __dmul_rn(a, b);"]),  # never part of an fma
}
OPENCL_RANDOM: Shortcuts = {
    _HIGH: ("", ["return mul_hi(a, b);"]),
    _PRODUCT: ("", ["#pragma OPENCL FP_CONTRACT OFF", "return a * b;"]),
}
