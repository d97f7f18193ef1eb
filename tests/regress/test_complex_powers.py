"""Complex numbers to powers that a call gives, on CPUs and on the emulated device."""

from __future__ import annotations

import numpy as np
import pytest

import polyopt as po

BASES = [0j, complex(np.nan, np.nan), complex(np.inf, 1), 1 + 2j, -0.5 - 0.25j]
EXPONENTS = [0, 1, 2, 3, 4, 5, 7, -1, -2, 0.5, 1 + 1j, -1 + 1j]


def powers(a, b):
    return a**b


@pytest.mark.toolchain
@pytest.mark.parametrize("options", [{}, {"fp": "reassociate"}, {"target": "cuda"}], ids=str)
@pytest.mark.parametrize("kind", ["complex64", "complex128"])
def test_powers_are_those_of_numpy(options, kind) -> None:
    if options.get("target") == "cuda":
        options = {**options, "device": "emulated"}
    a = np.repeat(np.array(BASES, kind), len(EXPONENTS))
    b = np.tile(np.array(EXPONENTS, kind), len(BASES))
    with np.errstate(all="ignore"):
        want = powers(a, b)
    got = po.kernel(powers, **options)(a, b)
    rtol = 1e-5 if kind == "complex64" else 1e-13
    for one, other in ((got.real, want.real), (got.imag, want.imag)):
        finite = np.isfinite(want)
        np.testing.assert_allclose(one[finite], other[finite], rtol=rtol, atol=rtol)
    assert (np.isfinite(got) == np.isfinite(want)).all()
