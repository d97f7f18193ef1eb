"""Lazy arrays of 16-bit numbers, and kernels whose arguments are wider."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polyopt as po
from polyopt.errors import ArgumentError
from polyopt.ir.types import DType
from tests.unit.halves.arrays import HALVES, assert_bits

pytestmark = pytest.mark.toolchain


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_a_graph_has_types_and_numbers_of_16_bits(dtype: DType) -> None:
    kind = dtype.numpy.type
    x = np.linspace(-3, 3, 12, dtype=np.float32).reshape(3, 4)

    def made(given: Any) -> Any:
        return given.astype(kind) * kind(1.5) + np.ones(4, kind)

    lazy = made(po.lazy(x))
    assert lazy.dtype == dtype.numpy
    assert_bits(np.asarray(lazy), made(x))


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_a_declared_input(dtype: DType) -> None:
    annotation = po.f16 if dtype is DType.FLOAT16 else po.bf16
    t = po.tensor("t", annotation["N,D"])
    x = np.arange(12, dtype=np.float32).reshape(3, 4).astype(dtype.numpy)
    assert_bits(po.compile(t * t - t)(x), x * x - x)


def doubled(x):
    return x + x


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_another_type_is_refused_with_the_name_of_the_right_one(dtype: DType) -> None:
    compiled = po.kernel(doubled).compile(np.zeros(3, dtype.numpy))
    with pytest.raises(ArgumentError) as caught:
        compiled(np.zeros(3, np.float32))
    module = "np" if dtype is DType.FLOAT16 else "ml_dtypes"
    assert f"x.astype({module}.{dtype})" in str(caught.value.hint)


def scaled(x, s):
    return x * s


def test_a_scalar_of_another_type_is_refused() -> None:
    kernel = po.kernel(scaled).compile(np.zeros(3, np.float16), np.float16(1))
    assert_bits(kernel(np.ones(3, np.float16), 0.1), np.full(3, 0.1, np.float16))
    assert kernel(np.ones(3, np.float16), 2048)[0] == 2048
    for wrong in (2049, np.float32(0.1)):
        with pytest.raises(ArgumentError):
            kernel(np.ones(3, np.float16), wrong)
