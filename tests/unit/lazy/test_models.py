"""Models built by Python loops: compiled, equal to the same code on NumPy arrays."""

from __future__ import annotations

import numpy as np
import pytest

import polyopt as po
from tests.unit.lazy import models
from tests.unit.lazy.compare import agree, same

pytestmark = pytest.mark.toolchain


def test_training_step_of_a_classifier(rng):
    x, y = po.tensor("x", po.f64["N,D"]), po.tensor("y", po.f64["N,C"])
    layers = [
        (po.tensor("w0", po.f64["D,H"]), po.tensor("b0", po.f64["H"])),
        (po.tensor("w1", po.f64["H,C"]), po.tensor("b1", po.f64["C"])),
    ]
    step = po.compile(
        models.mlp_step(x, y, layers, 0.1), inputs=[x, y, *(p for pair in layers for p in pair)]
    )
    for n, d, h, c in ((5, 7, 6, 3), (1, 1, 1, 1)):
        held = [(rng.random((d, h)), rng.random(h)), (rng.random((h, c)), rng.random(c))]
        labels = np.eye(c)[rng.integers(0, c, n)]
        data = rng.random((n, d))
        loss, new = agree(step, data, labels, *(p for pair in held for p in pair))
        same((loss, new), models.mlp_step(data, labels, held, 0.1))


def test_attention_with_heads(rng):
    x = po.tensor("x", po.f32["B,T,D"])
    weights = [po.tensor(name, po.f32["D,D"]) for name in ("wq", "wk", "wv", "wo")]
    block = po.compile(models.attention(x, *weights, heads=2), schedule="source")
    for b, t, d in ((2, 5, 6), (1, 1, 2)):
        arrays = [(rng.random(s) - 0.5).astype("f4") for s in ((b, t, d), *[(d, d)] * 4)]
        same(agree(block, *arrays), models.attention(*arrays, heads=2))


def test_convolution_by_slices(rng):
    x = po.tensor("x", po.f32["N,9,7,C"])
    w, b = po.tensor("w", po.f32["2,2,C,K"]), po.tensor("b", po.f32["K"])
    network = po.compile(models.convolution(x, w, b))
    for n, c, k in ((2, 3, 5), (0, 1, 1)):
        arrays = [rng.random(s).astype("f4") - 0.5 for s in ((n, 9, 7, c), (2, 2, c, k), (k,))]
        same(agree(network, *arrays), models.convolution(*arrays))


def test_a_hundred_steps_share_kernels(rng):
    count = 100
    shapes = {"xs": f"{count},B,D", "wx": "D,H", "wh": "H,H", "h": "B,H"}
    inputs = [po.tensor(name, po.f64[dims]) for name, dims in shapes.items()]
    network = po.compile(models.rnn(*inputs, count), name="rnn", schedule="source")
    assert len(network.kernels) < 5
    for b, d, h in ((3, 4, 5), (1, 1, 1), (0, 2, 3)):
        sizes = ((count, b, d), (d, h), (h, h), (b, h))
        arrays = [rng.random(s) - 0.5 for s in sizes]
        same(agree(network, *arrays), models.rnn(*arrays, count))


def test_adam_step_over_a_list_of_parameters(rng):
    dims = ("N", "N,M")
    lazy = [
        tuple(po.tensor(f"{letter}{k}", po.f32[d]) for letter in "pgmv") for k, d in enumerate(dims)
    ]
    t = po.tensor("t", (), np.float32)
    step = po.compile(models.adam(lazy, t), inputs=[*(a for group in lazy for a in group), t])
    for n, m in ((5, 3), (1, 1), (0, 2)):
        held = [tuple(rng.random(s).astype("f4") for _ in range(4)) for s in ((n,), (n, m))]
        found = agree(step, *(a for group in held for a in group), np.float32(3))
        same(found, models.adam(held, np.float32(3)))


def test_stores_through_parts_and_other_names(rng):
    x = po.tensor("x", po.f64["N,M"])
    graph = po.compile(models.aliased(x))
    for n, m in ((5, 4), (3, 3)):
        array = rng.random((n, m)) * 5
        kept = array.copy()
        same(agree(graph, array), models.aliased(array.copy()))
        assert np.array_equal(array, kept), "the caller's array is never written"
