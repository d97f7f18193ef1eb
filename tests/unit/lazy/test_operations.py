"""Operations recorded from NumPy: same results, and shapes and element types known before."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import polyopt as po
from polyopt.ir.scop import Role
from polyopt.tracing.sizes import value_of
from tests.unit.lazy.compare import agree, as_declared

Arrays = tuple[Any, Any, Any, Any]


def elementwise(x: Any, v: Any, k: Any, c: Any) -> Any:
    return (
        np.exp(x), -x, abs(x), x**2, 2 / x, x // 0.3, x % 0.3, 1 - x, np.hypot(x, v), x > v,
        (x > 0) & (x < 0.3), ~(x > 0), np.sign(x), np.clip(x, 0, 0.2), np.where(x > 0, x, v),
        k // 3, k % 4, k & 5, k << 1, k * 2, k + 1.5, k / 2, k.astype(np.float32), np.abs(k), k**2,
        c * 2, c.real, c.imag, c.conj(), abs(c), c * c, np.divmod(k, 3)[1], np.add.outer(v, v),
    )  # fmt: skip


def constants(x: Any, v: Any, k: Any, c: Any) -> Any:
    return (
        x * np.arange(4.0), np.float32(2) * x, k * np.float32(2), k * 2.0, x * np.pi + np.inf,
        x - 1e-300, x + True, (-2.5) * x, x * -0.0, x + (1 - 2j), x * np.nan, k + np.int8(3),
        [1, 2, 3, 4] * x, np.float64(3.0) - k,
    )  # fmt: skip


def reductions(x: Any, v: Any, k: Any, c: Any) -> Any:
    return (
        x.sum(), x.sum(0), x.mean(axis=-1, keepdims=True), x.max(1), x.min(), x.std(0), x.var(),
        np.argmax(x, 1), (x > 0).any(), (x > 0).all(axis=0), np.cumsum(x, axis=0), np.prod(x, 0),
        k.sum(), k.mean(axis=0), np.count_nonzero(x > 0), c.sum(), np.add.reduce(x, axis=0),
        np.linalg.norm(x),
    )  # fmt: skip


def movements(x: Any, v: Any, k: Any, c: Any) -> Any:
    n, m = x.shape
    return (
        x.T, x[::-1], x[:, 1:], x[1:-1, ::2], x[None], x[..., 0], np.flip(x, 0), x[-1], x[0, 1],
        np.roll(x, 1, axis=0), np.expand_dims(x, 1), np.swapaxes(x, 0, 1), x.transpose(1, 0),
        np.broadcast_to(v, (3, m)), np.pad(x, 1), np.moveaxis(x, 0, 1), np.squeeze(x[:, None], 1),
        x.reshape(n * m), x.reshape(m, n), x.ravel(), x.reshape(-1, 1), x[: n // 2],
        x[:, np.array([0, 2])],
    )  # fmt: skip


def joins_and_products(x: Any, v: Any, k: Any, c: Any) -> Any:
    return (
        np.concatenate([x, x * 2]), np.stack([x, x], 1), np.vstack([x, v]), np.hstack([x, x]),
        np.repeat(v, 2), np.tile(v, 2), np.diff(x, axis=1), x @ v, x.T @ x, np.dot(x, v),
        np.outer(v, v), np.einsum("ij,j->i", x, v), po.einsum("ij,kj->ik", x, x), v @ v,
        np.tensordot(x, x, axes=([0], [0])), np.inner(v, v), np.trace(x.T @ x),
    )  # fmt: skip


def sizes(x: Any, v: Any, k: Any, c: Any) -> Any:
    n, m = x.shape
    return (
        x / n, x * x.size, x.sum() / (n * m), x / np.sqrt(m), x * m**-0.5, x[: n - 1] + n % 3,
        np.full((n, 3), 1.5, like=x) if isinstance(x, po.LazyArray) else np.full((n, 3), 1.5),
        np.zeros_like(x), x.ndim * x, k * n,
    )  # fmt: skip


@pytest.mark.toolchain
@pytest.mark.parametrize(
    "model",
    [elementwise, constants, reductions, movements, joins_and_products, sizes],
    ids=lambda model: model.__name__,
)
def test_results_are_numpys(model: Callable[..., Any], rng: Any) -> None:
    lazy = (
        po.tensor("x", po.f64["N,4"]), po.tensor("v", po.f64["4"]),
        po.tensor("k", po.i32["N,4"]), po.tensor("c", po.c128["N,4"]),
    )  # fmt: skip
    outputs = model(*lazy)
    graph = po.compile(outputs, inputs=lazy)
    for n in (5, 2):
        x, v = rng.random((n, 4)) - 0.5, rng.random(4)
        k = rng.integers(-9, 9, (n, 4)).astype(np.int32)
        found = agree(graph, x, v, k, x + 1j * x[::-1])
        as_declared(outputs, found, {"N": n})
        with np.errstate(all="ignore"):
            expected = model(x, v, k, x + 1j * x[::-1])
        for mine, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(mine, other, rtol=1e-6, atol=1e-12)


@pytest.mark.toolchain
def test_movements_make_no_arrays() -> None:
    x = po.tensor("x", po.f64["N,M"])
    y = np.flip(np.swapaxes(x[1:, ::2].T, 0, 1), 0)[None] * 2
    z = np.roll(np.expand_dims(x, 0), 1, axis=1) + np.broadcast_to(x, (3, *x.shape))
    for value in (y, z, x.reshape(x.shape[1], 1, -1).transpose(2, 1, 0) + 1):
        (kernel,) = po.compile(value).kernels
        assert [a.name for a in kernel.program.scop.arrays if a.role is Role.TEMP] == []


def shapes_and_types(x: Any, v: Any, k: Any, c: Any) -> Any:
    square, i = x.T @ x, np.flatnonzero(k > 0)
    return (
        np.cross(x[:, :3], x[:, 1:]), np.kron(v, v), np.median(x, axis=1), *np.linalg.qr(x),
        *np.linalg.svd(x, full_matrices=False), np.linalg.inv(square), np.fft.rfft(x, axis=0),
        *np.meshgrid(v, k[:, 0]), *np.array_split(v, 3), np.convolve(v, v), np.gradient(x, axis=1),
        np.cov(x), np.average(x, axis=0), np.quantile(x, [0.1, 0.2], axis=1), np.sort(x, axis=0),
        np.unique(k), *np.nonzero(k > 0), np.bincount(k[:, 0] * 0), np.take(x, i % 2, axis=0),
        np.argsort(x, axis=1), np.diag(v), np.diagonal(x, 1), np.tril(x), np.vander(v, 3),
        np.dstack([x, x]), np.block([[x, x], [x, x]]), np.rot90(x), np.insert(v, 1, 2.0),
        np.angle(c), np.sinc(x), np.allclose(x, x), *np.modf(x), *np.frexp(x), np.ptp(x, axis=1),
        np.multiply.outer(v, v), np.roll(x, 2), np.tile(x, (2, 3)), np.repeat(x, 3, axis=1),
        *np.broadcast_arrays(x, v), k.mean(), k.prod(), np.mean(x > 0), np.nan_to_num(x),
        *np.ix_(k[:, 0], k[0]), *np.unravel_index(abs(k), (9, 9)), np.vdot(x, x), np.pad(x, 2),
        np.lib.stride_tricks.sliding_window_view(v, 3), np.linalg.norm(x, axis=1), x[x > 0],
    )  # fmt: skip


def test_shapes_and_types_are_numpys(rng: Any) -> None:
    """What lazy arrays tell, also where only the values tell how long a result is."""
    told = shapes_and_types(
        po.tensor("x", po.f64["N,4"]), po.tensor("v", po.f64["4"]),
        po.tensor("k", po.i32["N,4"]), po.tensor("c", po.c64["N,4"]),
    )  # fmt: skip
    x, k = rng.random((5, 4)), rng.integers(-9, 9, (5, 4)).astype(np.int32)
    found = shapes_and_types(x, rng.random(4), k, x.astype(np.complex64))
    for lazy, value in zip(told, found, strict=True):
        shape = tuple(value_of(extent, {"N": 5}) for extent in lazy.shape)
        assert lazy.dtype == np.asarray(value).dtype
        assert len(shape) == np.ndim(value), lazy
        assert all(
            mine in (None, other) for mine, other in zip(shape, np.shape(value), strict=True)
        ), lazy


@pytest.mark.toolchain
def test_lengths_that_values_tell() -> None:
    x, k = po.tensor("x", po.f64["N,M"]), po.tensor("k", po.i32["N"])
    (places,) = np.nonzero(k)
    graph = po.compile((x[places], places.shape[0] * 2.0, np.unique(k) * 2))
    agree(graph, np.arange(8.0).reshape(4, 2), np.array([0, 2, 1, 0], np.int32))


def test_sizes_print_as_they_were_declared() -> None:
    x = po.tensor("x", po.f32["B,T+1,D"])
    b, t, d = x.shape
    assert str((b * t, t - 1, d // 4, (t - 1) * d // d)) == "(B*T + B, T, D//4, T)"
    assert str(x[:, 1:-1, ::2].shape) == "(B, T - 1, (D + 1)//2)"
    assert x.shape == po.tensor("y", po.f32["B,T+1,D"]).shape
    assert (x.ndim, x.dtype, x.size) == (3, np.float32, b * t * d)


@pytest.mark.toolchain
def test_captured_arrays_are_read_at_the_call() -> None:
    weights = np.ones(3)
    value = po.lazy(weights) * 2 + np.arange(3.0)
    assert value.compute().tolist() == [2, 3, 4]
    weights[:] = 5
    assert value.compute().tolist() == [10, 11, 12]
    assert np.asarray(value).tolist() == [10, 11, 12]
    assert value.sum().item() == 33


@pytest.mark.toolchain
def test_equal_graphs_share_a_kernel() -> None:
    def graph() -> Any:
        x = po.tensor("x", po.f64["N"])
        return po.compile({"sum": x.sum(), "twice": [x * 2, x]})

    first, second = graph(), graph()
    assert first.kernels == second.kernels
    assert "def traced(x: po.f64" in first.py_source
    assert "double" in first.source
    array = np.arange(3.0)
    result = first(x=array)
    assert result["sum"] == 3
    assert result["twice"][0].tolist() == [0, 2, 4]


def test_long_chains_are_recorded_and_evaluated_without_recursion() -> None:
    from polyopt.tracing.evaluation import evaluate
    from polyopt.tracing.nodes import reachable
    from polyopt.tracing.program import write

    x = po.tensor("x", po.f64["N"])
    y = x
    for _ in range(3000):
        y = y * 0.5 + 1.0
    order = reachable([y._node])
    assert len(order) == 6001
    text = write("chain", [x._node], [y._node], order).text
    assert 500 < len(text.splitlines()) < 1500
    values = evaluate(order, {id(x._node): np.zeros(2)}, {"N": 2})
    np.testing.assert_allclose(values[id(y._node)], [2, 2])


@pytest.mark.toolchain
def test_errors_of_the_front_end_point_at_the_users_line() -> None:
    x = po.tensor("x", po.f64["N"])
    y = x + np.arange(4.0)
    with pytest.raises(po.PolyoptError) as caught:
        po.compile((x * np.arange(3.0), np.exp(y)))
    assert caught.value.loc is not None
    assert caught.value.loc.file == __file__
    assert "x + np.arange(4.0)" in str(caught.value)


@pytest.mark.toolchain
def test_calls_are_checked_against_the_placeholders() -> None:
    x, w = po.tensor("x", po.f64["N,D"]), po.tensor("w", po.f64["D"])
    graph = po.compile(x @ w)
    a, b = np.ones((2, 3)), np.ones(3)
    cases: list[tuple[str, tuple[Any, ...]]] = [
        ("PO0201", (a,)),
        ("PO0201", (a, b, b)),
        ("PO0203", (a, np.ones(4))),
        ("PO0206", (a, "b")),
        ("PO0207", (a, b.astype("f4"))),
        ("PO0208", (a, a)),
    ]
    for code, args in cases:
        with pytest.raises(po.ArgumentError) as caught:
            graph(*args)
        assert caught.value.code == code
    assert graph(a[:, ::-1], b[::-1]).tolist() == [3, 3]
