"""reshape, ravel, flatten: merged and split dimensions, computed sizes, writes through views."""

from __future__ import annotations

import numpy as np
import pytest

import polyopt as po
from polyopt.errors import FrontendError, PolyoptError
from polyopt.ir.scop import Role
from polyopt.ir.source import Computed
from tests.unit.frontend.harness import agree, compiled


def rows(x):
    return x.reshape(x.shape[0] * x.shape[1], x.shape[2]) * 2


def flat_product(x, w):
    B, T, C = x.shape
    return (x.reshape(B * T, C) @ w).reshape(B, T, w.shape[1])


def open_product(x, w):
    return x.reshape(-1, x.shape[-1]) @ w


def heads(x, h):
    B, T, C = x.shape
    return x.reshape(B, T, h, C // h).transpose(0, 2, 1, 3)


def heads_and_back(x, h):
    B, T, C = x.shape
    y = x.reshape(B, T, h, C // h).transpose(0, 2, 1, 3)
    z = (y @ y.transpose(0, 1, 3, 2)) @ y
    return z.transpose(0, 2, 1, 3).reshape(B, T, C)


def ravelled(x):
    return x.ravel(), x.T.ravel(), x.flatten()[::2], x.ravel(order="F")


def running(x):
    return np.cumsum(x), np.cumprod(x.ravel())[::2]


def other_order(x):
    return x.reshape((x.shape[1], x.shape[0]), order="F")


def constants(x):
    return x.reshape(4, 6), x.reshape(2, 2, 6), x.reshape(-1, 3), x.reshape(3, -1)


def reductions(x):
    f = x.reshape(-1, x.shape[-1])
    centred = f - f.max(axis=-1, keepdims=True)
    return f.sum(axis=0), f.mean(axis=1), f.max(), centred, f.argmax(axis=1), f.reshape(-1).argmin()


def gradient(x, d):
    return x.reshape(-1, x.shape[-1]).T @ d.reshape(-1, d.shape[-1])


def pool(x):
    N, C, H, W = x.shape
    return x.reshape(N, C, H // 2, 2, W // 2, 2).max(axis=(3, 5))


def in_place(x):
    f = x.reshape(-1)
    f += 1.0
    f[3:] = 7.0
    f[0] = 5.0


def in_place_rows(x):
    f = x.reshape(x.shape[0] * x.shape[1], -1)
    f *= 2.0
    f[:, 0] = 1.0
    f[1] = 4.0
    return f


def copies(x):
    f = x.T.reshape(-1)
    f[:] = 3.0
    return f


def elements(x):
    f = x.reshape(-1)
    total = 0.0
    for i in range(f.shape[0]):
        total += f[i] * i
    return total


def stored(x, out):
    out[:] = x.transpose(1, 0, 2).reshape(out.shape[0], out.shape[1])
    out.reshape(-1)[:] = out.reshape(-1) * 2


def broadcast(x, out):
    rows = x.reshape(-1, x.shape[-1]).sum(axis=1, keepdims=True)
    out[:] = rows
    out += rows


def with_plain(x, y):
    return x.reshape(-1) + y


def units(x):
    return x.reshape(x.shape[0], 1, x.shape[1], 1) + 1, x.reshape(1, -1)


def grid(n, m):
    return np.arange(n * m).reshape(n, m)


def elementwise(x):
    f = x.reshape(-1)
    return np.exp(f), f.astype(np.float32), np.where(f > 0, f, 0), f.copy()


def reshaped(x, n, m):
    return x.reshape(n, m)


def of(*shape):
    return np.random.default_rng(len(shape)).standard_normal(shape)


CASES = [
    (rows, of(2, 3, 4)), (rows, of(0, 3, 4)), (rows, of(1, 1, 1)), (rows, of(3, 0, 2)),
    (flat_product, of(2, 3, 4), of(4, 5)), (flat_product, of(2, 3, 0), of(0, 2)),
    (open_product, of(2, 3, 4), of(4, 5)), (open_product, of(0, 2, 3), of(3, 2)),
    (heads, of(2, 3, 4), 2), (heads, of(2, 3, 4), 1), (heads, of(0, 3, 4), 4),
    (heads_and_back, of(2, 5, 6), 3), (heads_and_back, of(1, 1, 1), 1),
    (ravelled, of(3, 4)), (ravelled, of(0, 4)), (running, of(3, 4)), (running, of(3, 0)),
    (other_order, of(3, 4)),
    (constants, of(24)), (constants, of(4, 6)), (constants, of(2, 3, 4)),
    (reductions, of(2, 3, 4)), (reductions, of(1, 1, 3)),
    (gradient, of(2, 3, 4), of(2, 3, 5)), (gradient, of(0, 3, 4), of(0, 3, 2)),
    (pool, of(2, 3, 4, 6)), (pool, of(1, 1, 2, 2)),
    (in_place, of(3, 4)), (in_place, of(2, 3, 2)), (in_place_rows, of(2, 3, 4)), (copies, of(3, 4)),
    (elements, of(3, 4)), (elements, of(2, 2, 2)), (stored, of(2, 3, 4), of(3, 8)),
    (stored, of(2, 3, 4), of(4, 6)), (with_plain, of(3, 4), of(12)),
    (broadcast, of(2, 3, 4), of(6, 5)),
    (units, of(3, 4)), (grid, 3, 4), (grid, 0, 3), (elementwise, of(3, 4)),
    (reshaped, of(3, 4), 2, 6), (reshaped, of(0, 4), 0, 7),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c[0].__name__}-{np.shape(c[1])}")
def test_means_what_numpy_does(case):
    func, *args = case
    agree(func, *args)


@pytest.mark.parametrize(
    "case", [(rows, of(2, 3, 4)), (heads, of(2, 3, 4), 2), (pool, of(1, 1, 2, 2))]
)
def test_nothing_is_copied_on_the_way(case):
    func, *args = case
    arrays = compiled(func, *args).arrays
    assert not [array.name for array in arrays if array.role is Role.TEMP]


def test_products_of_sizes_are_computed_by_the_call():
    computed = compiled(flat_product, of(2, 3, 4), of(4, 5)).signature.computed
    assert computed == ()  # the product goes on in the dimensions behind the merged one
    (size,) = compiled(reshaped, of(3, 4), 2, 6).signature.computed[:1]
    assert isinstance(size, Computed)


@pytest.mark.parametrize(
    "func, args, code",
    [
        (heads, (of(2, 3, 4), 3), "PO0173"),
        (heads, (of(2, 3, 4), 0), "PO0147"),
        (reshaped, (of(3, 4), 5, 2), "PO0173"),
        (reshaped, (of(3, 4), -2, -6), "PO0174"),
        (open_product, (of(2, 3, 0), of(0, 2)), "PO0173"),
        (with_plain, (of(3, 4), of(11)), "PO0204"),
    ],
)
def test_sizes_that_do_not_fit_are_refused_at_the_call(func, args, code):
    with pytest.raises(PolyoptError) as caught:
        agree_or_raise(func, *args)
    assert caught.value.code == code


def agree_or_raise(func, *args):
    from polyopt.ir.interp import run_program

    run_program(compiled(func, *args), args)


def unknown_order(x):
    return x.reshape(-1, order="K")


def two_open(x):
    return x.reshape(-1, -1)


def wrong_constant(x):
    return np.zeros((3, 4)).reshape(5, 2) + x


@pytest.mark.parametrize(
    "func, code",
    [(unknown_order, "PO0151"), (two_open, "PO0151"), (wrong_constant, "PO0140")],
)
def test_refused(func, code):
    with pytest.raises(FrontendError) as caught:
        compiled(func, of(3, 4))
    assert caught.value.code == code
    assert caught.value.loc is not None


@pytest.mark.toolchain
def test_compiled():
    kernel = po.kernel(heads_and_back)
    for args in ((of(2, 5, 6), 3), (of(3, 7, 8), 2), (of(0, 2, 4), 2)):
        np.testing.assert_allclose(kernel(*args), heads_and_back(*args), rtol=1e-11, atol=1e-12)
    with pytest.raises(PolyoptError, match="as many elements"):
        kernel(of(2, 3, 4), 3)


@pytest.mark.toolchain
def test_the_first_of_all_elements_is_there_where_any_is():
    """The size of a flattened array is a product: where it is positive, so are its factors."""
    kernel = po.kernel(running)
    for x in (of(3, 4), of(3, 0), of(0, 4)):
        for found, wanted in zip(kernel(x), running(x), strict=True):
            np.testing.assert_array_equal(found, wanted)
