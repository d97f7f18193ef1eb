"""Index notation and einsum: the loops, and their results."""

from __future__ import annotations

import numpy as np
import pytest

import polyopt as po
from tests.unit.lazy.compare import agree, same

pytestmark = pytest.mark.toolchain


def test_a_matrix_product_is_three_loops(rng):
    i, j, k = po.indices("i j k")
    A, B = po.tensor("A", po.f64["N,K"]), po.tensor("B", po.f64["K,M"])
    C = po.comprehend[i, j](po.sum(A[i, k] * B[k, j], over=k))
    assert str(C.shape) == "(N, M)"
    graph = po.compile(C)
    assert graph.py_source.count("for ") == 3
    assert "result[i, j] += a[i, k] * a2[k, j]" in graph.py_source
    for n, m, d in ((5, 3, 7), (1, 1, 1), (2, 3, 0)):
        a, b = rng.random((n, d)), rng.random((d, m))
        same(agree(graph, a, b), a @ b)


def test_a_convolution_finds_its_extents(rng):
    i, j, r, s = po.indices("i j r s")
    image, w = po.tensor("image", po.f32["H,W"]), po.tensor("w", po.f32["R,S"])
    out = po.comprehend[i, j](po.sum(image[2 * i + r, j + s] * w[r, s], over=(r, s)))
    assert str(out.shape) == "((H - R)//2 + 1, W - S + 1)"
    graph = po.compile(out)
    a, b = rng.random((9, 8)).astype("f4"), rng.random((3, 2)).astype("f4")
    windows = np.lib.stride_tricks.sliding_window_view(a, (3, 2))[::2]
    same(agree(graph, a, b), np.einsum("ijrs,rs->ij", windows, b))


def test_reductions_inside_a_term_are_computed_once(rng):
    i, j, k = po.indices("i j k")
    x = po.tensor("x", po.f64["N,M"])
    top = po.max(x[i, k], over=k)
    y = po.comprehend[i, j](np.exp(x[i, j] - top) / po.sum(np.exp(x[i, k] - top), over=k))
    array = rng.random((4, 6))
    e = np.exp(array - array.max(1, keepdims=True))
    same(agree(po.compile(y), array), e / e.sum(1, keepdims=True))


def test_choices_keep_subscripts_inside(rng):
    i, k = po.indices("i k")
    x = po.tensor("x", po.f64["N"])
    n = x.shape[0]
    inside = (i > 0) & (i < n - 1)
    smooth = po.comprehend[i](po.where(inside, x[i - 1] + x[i + 1], 2 * x[i]))
    shifted = po.comprehend[i](1 + po.where(i > 0, x[i - 1], 0.0))
    running = po.comprehend[i:n](po.sum(po.where(k <= i, x[k], 0.0), over={k: n}))
    least = po.comprehend[i:n](po.min(x[k] * i, over=k))
    graph = po.compile((smooth, shifted, running, least))
    for count in (6, 1):
        v = rng.random(count)
        found = agree(graph, v)
        wide = np.concatenate([[v[0]], v, [v[-1]]])
        want = np.where((np.arange(count) > 0) & (np.arange(count) < count - 1),
                        wide[:-2] + wide[2:], 2 * v)  # fmt: skip
        same(found[0], want)
        same(found[1], 1 + np.concatenate([[0.0], v[:-1]]))
        same(found[2], np.cumsum(v))
        same(found[3], np.array([(v * p).min() for p in range(count)]))


@pytest.mark.parametrize("dtype", [np.int8, np.float32, np.bool_])
def test_results_have_numpys_types(dtype):
    i = po.indices("i")
    x = po.tensor("x", ("N",), dtype)
    total = po.comprehend[()](po.sum(x[i], over=i))
    assert total.dtype == np.ones(2, dtype).sum().dtype
    assert po.comprehend[i](x[i] * 2.0).dtype == (np.ones(2, dtype) * 2.0).dtype


@pytest.mark.parametrize(
    ("message", "make"),
    [
        ("leaves dimension 0", lambda i, k, x: po.comprehend[i](x[i - 1])),
        ("neither of the output", lambda i, k, x: po.comprehend[i](x[k])),
        ("extent of the index `k`", lambda i, k, x: po.comprehend[i, k](x[i])),
        ("no sum of indices", lambda i, k, x: po.comprehend[i, k](x[i * k])),
        ("inside its own loop", lambda i, k, x: po.comprehend[i](po.sum(x[i], over=i))),
        ("stands twice", lambda i, k, x: po.comprehend[i, i](x[i])),
        ("2 subscripts", lambda i, k, x: po.comprehend[i](x[i, k])),
        ("no element", lambda i, k, x: po.sum(x, over=k)),
        ("beside elements", lambda i, k, x: po.comprehend[i](x[i] * [1, 2])),
        ("of elements", lambda i, k, x: po.comprehend[i](np.sum(x[i]))),
        ("no index", lambda i, k, x: po.comprehend[3](x[i])),
    ],
)
def test_what_does_not_fit_is_refused(message, make):
    i, k = po.indices("i k")
    with pytest.raises(po.FrontendError, match=message) as caught:
        make(i, k, po.tensor("x", po.f64["N"]))
    assert caught.value.code == "PO0807"
    assert caught.value.loc is not None
    assert caught.value.loc.file == __file__


def test_einsum_of_concrete_arrays(rng):
    a, b = rng.random((3, 4)), rng.random((4, 5))
    same(po.einsum("ij,jk->ik", a, b), a @ b)
    same(po.einsum("ij,jk->ik", a[:1], b[:, ::-1]), a[:1] @ b[:, ::-1])
    same(po.einsum("ij->j", a.astype("f4")), a.astype("f4").sum(0))
    with pytest.raises(po.PolyoptError, match="of 2 arrays with 3 subscripts"):
        po.einsum("ij,jk,kl", a, b)


def mixed_inside(a, b):
    return po.where(a > 0.5, 1.0, po.einsum("ij,jk->ik", a, b))


def test_einsum_and_where_inside_kernels(rng):
    a, b = rng.random((3, 3)), rng.random((3, 3))
    same(po.kernel(mixed_inside)(a, b), np.where(a > 0.5, 1.0, a @ b))
