"""Random numbers are constants of derivatives; functions of one key become functions of many."""

from __future__ import annotations

import numpy as np
import pytest

import polyopt as po

pytestmark = pytest.mark.toolchain
KEY = np.uint64(0x9E3779B97F4A7C15)


def matrix(*shape: int) -> np.ndarray:
    return np.random.default_rng(3).normal(size=shape)


def loss(x, key):
    kept = np.where(po.random.uniform(key, x.shape) < 0.5, 0.0, 2.0 * x)
    return np.sum(kept * kept + x * po.random.normal(key, x.shape, stream=1))


def test_random_numbers_are_constants_of_derivatives() -> None:
    x = matrix(6, 7)
    mask = po.random.uniform(KEY, x.shape) < 0.5
    noise = po.random.normal(KEY, x.shape, stream=1)
    want = np.where(mask, 0.0, 8.0 * x) + noise
    assert np.allclose(po.grad(loss)(x, KEY), want, rtol=1e-15)
    direction = matrix(6, 7)[::-1].copy()
    value, along = po.jvp(loss)(x, KEY, direction)
    assert value == pytest.approx(loss(x, KEY), rel=1e-13)
    assert along == pytest.approx(np.sum(want * direction), rel=1e-13)


def scaled(key, x):
    return x * po.random.uniform(key, x.shape)


def test_many_keys() -> None:
    keys, x = np.arange(5, dtype=np.uint64), matrix(3, 4)
    found = po.vmap(scaled, in_axes=(0, None))(keys, x)
    assert np.array_equal(found, np.stack([scaled(key, x) for key in keys]))
