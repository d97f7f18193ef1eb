"""A product of int8 weights and activations, in groups with a scale each.

Run as `python -m examples.int8`.  Sums of integers equal NumPy's exactly.
"""

from __future__ import annotations

import numpy as np

import polyopt as po
from examples.training import fastest

GROUP = 64


def quantise(x, codes, scales):
    """Write rows of `x` as int8 `codes[row, group, place]` times `scales[row, group]`."""
    groups = x.reshape(codes.shape)
    scales[:] = np.maximum(np.abs(groups).max(axis=2), np.float32(1e-30)) / np.float32(127.0)
    codes[:] = np.rint(groups / scales[:, :, None]).astype(np.int8)


def totals(weights, inputs):
    """Return the sums of products in each group, as 32-bit integers."""
    return np.sum(weights * inputs.astype(np.int32), axis=2)


def product(weights, weight_scales, inputs, input_scales):
    """Return the matrix times the vector: the sums of each group, scaled and added."""
    found = totals(weights, inputs)
    return np.sum(found.astype(np.float32) * weight_scales * input_scales, axis=1)


def run(rows: int = 1024, groups: int = 16, repeats: int = 30) -> str:
    """Quantise a matrix and a vector and multiply them; raise `AssertionError` if NumPy differs."""
    rng = np.random.default_rng(4)
    found = []
    for count in (rows, 1):
        x = rng.standard_normal((count, groups * GROUP)).astype(np.float32)
        codes, scales = np.zeros((count, groups, GROUP), np.int8), np.zeros((count, groups), "f4")
        expected, wanted = np.zeros_like(codes), np.zeros_like(scales)
        po.kernel(quantise)(x, codes, scales)
        quantise(x, expected, wanted)
        assert np.array_equal(codes, expected), "codes differ from NumPy's"
        assert np.array_equal(scales, wanted), "scales differ from NumPy's"
        found += [codes, scales]
    weights, _, inputs, _ = found
    sums = po.kernel(totals, fp="reassociate")(weights, inputs)
    assert np.array_equal(sums, totals(weights, inputs)), "sums differ from NumPy's"
    kernel = po.kernel(product, fp="reassociate")
    result, expected = kernel(*found), product(*found)
    assert np.allclose(result, expected, rtol=1e-5, atol=1e-4), "the product differs from NumPy's"
    times = [fastest(lambda one=one: one(*found), repeats) for one in (kernel, product)]
    return (
        f"int8: {rows} by {groups * GROUP}, codes and sums equal NumPy's\n"
        f"  {times[0] * 1e3:.3f} ms, NumPy {times[1] * 1e3:.3f} ms: "
        f"{times[1] / times[0]:.1f} times as fast"
    )


if __name__ == "__main__":
    print(run())
