"""The sign of zero in `0.0 - x` and `x + 0.0`, whatever a compiler knows of `x`."""

from __future__ import annotations

import numpy as np
import pytest

import polyopt as po


def of_integers(n, a):
    a[0] = 0.0 - n
    a[1] = -float(n) + 0.0
    a[2] = 0.0 - (1.5 if n > 0 else 0.0)
    return a


def of_magnitudes(n, a):
    a[:] = 0.0 - np.abs(a)
    for i in range(len(a)):
        a[i] += 0.0 - abs(a[i] * n)
    return a


def of_zeros(n, a):
    return 0.0 - (-np.sqrt(np.abs(a))) * n, (-np.abs(a)) + 0.0, 0.0 - np.floor(np.abs(a))


@pytest.mark.toolchain
@pytest.mark.parametrize("program", [of_integers, of_magnitudes, of_zeros])
@pytest.mark.parametrize("kind", ["float64", "float32", "float16", "complex128"])
@pytest.mark.parametrize("options", [{}, {"fp": "reassociate"}, {"target": "cuda"}], ids=str)
def test_signs_of_zero(program, kind, options) -> None:
    if kind == "complex128" and program is of_zeros:
        pytest.skip("floor has no complex numbers")
    if options.get("target") == "cuda":
        options = {**options, "device": "emulated"}
    kernel = po.kernel(program, **options)
    for n in (0, 3):
        want = program(n, np.zeros(37, kind))
        got = kernel(n, np.zeros(37, kind))
        pairs = zip(want, got, strict=True) if isinstance(want, tuple) else [(want, got)]
        for one, other in pairs:
            assert np.array_equal(one, other)
            assert np.array_equal(np.signbit(one.real), np.signbit(other.real))
            assert np.array_equal(np.signbit(one.imag), np.signbit(other.imag))
