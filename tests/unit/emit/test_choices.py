"""The larger or smaller of two values in lanes: the bits of one lane, for NaN and zeros, too."""

from __future__ import annotations

import ctypes
import itertools
import shutil
import subprocess

import numpy as np
import pytest

from polyopt.emit.helpers import Helper, HelperKind, definition
from polyopt.ir.types import DType

KINDS = (HelperKind.MIN, HelperKind.MAX, HelperKind.SMALLER, HelperKind.LARGER)
SPECIAL = (0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, -np.nan, 5e-324, -5e-324)


def formula(kind, a, b):
    """Return which of two arrays' elements is chosen, as the helper of one lane does."""
    first = a < b if kind in (HelperKind.MIN, HelperKind.SMALLER) else a > b
    if kind in (HelperKind.MIN, HelperKind.MAX):
        first |= np.isnan(a)
    return np.where(first, a, b)


@pytest.mark.toolchain
@pytest.mark.parametrize("flags", [("-march=native",), ("-mno-avx512f", "-mno-fma")])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("dtype", "lanes"),
    [(DType.FLOAT64, 2), (DType.FLOAT64, 4), (DType.FLOAT64, 8), (DType.FLOAT32, 16)],
)
def test_lanes_choose_as_one_lane_does(dtype, lanes, kind, flags, tmp_path):
    helper = Helper(kind, dtype, lanes)
    vector = Helper(HelperKind.VECTOR, dtype, lanes).name
    lines = [
        "#include <stdint.h>",
        "#if defined(__FMA__) || defined(__AVX512F__)",
        "#include <immintrin.h>",
        "#endif",
        *definition(Helper(HelperKind.VECTOR, dtype, lanes)),
        *definition(helper),
        f"void choose(const {vector}_mem *a, const {vector}_mem *b, {vector}_mem *out, int64_t n)",
        "{",
        "    for (int64_t k = 0; k < n; k++)",
        f"        out[k] = {helper.name}(a[k], b[k]);",
        "}",
    ]
    source, library = tmp_path / "choose.c", tmp_path / "choose.so"
    source.write_text("\n".join(lines))
    command = [shutil.which("gcc") or "cc", "-O2", *flags, "-fPIC", "-shared", "-w"]
    subprocess.run([*command, source, "-o", library], check=True)
    pairs = np.array([*itertools.product(SPECIAL, SPECIAL)] * lanes, dtype.numpy)
    a, b = np.ascontiguousarray(pairs[:, 0]), np.ascontiguousarray(pairs[:, 1])
    got = np.empty_like(a)
    pointers = [ctypes.c_void_p(x.ctypes.data) for x in (a, b, got)]
    ctypes.CDLL(str(library)).choose(*pointers, ctypes.c_int64(len(a) // lanes))
    want = formula(kind, a, b)
    bits = np.dtype(f"u{a.itemsize}")
    np.testing.assert_array_equal(got.view(bits), want.view(bits))
