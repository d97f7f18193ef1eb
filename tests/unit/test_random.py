"""`po.random` without a kernel: NumPy's numbers, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest

import polyopt as po
from polyopt.errors import ArgumentError


def numpy_stream(key: int, stream: int = 0) -> np.random.Generator:
    source = np.random.Philox(key=key)
    return np.random.Generator(source.jumped(stream) if stream else source)


@pytest.mark.parametrize("n", [0, 1, 2, 3, 4, 5, 7, 8, 9, 63, 70, 1001])
def test_numbers_are_those_of_numpy(n: int) -> None:
    for key, stream in ((5, 0), (2**64 - 1, 3), (0, 2**64 - 1)):
        drawn = po.random.uniform(key, n, stream=stream)
        assert np.array_equal(drawn, numpy_stream(key, stream).random(n))
        drawn = po.random.uniform(key, n, stream=stream, dtype=np.float32)
        assert np.array_equal(drawn, numpy_stream(key, stream).random(n, dtype=np.float32))
        drawn = po.random.uniform(key, n, -2.5, 4, stream=stream)
        assert np.array_equal(drawn, numpy_stream(key, stream).uniform(-2.5, 4, n))
        words = numpy_stream(key, stream).bit_generator.random_raw(n)
        assert np.array_equal(po.random.bits(key, n, stream=stream), words)


@pytest.mark.parametrize("offset", [1, 2, 3, 4, 5, 8, 13])
def test_an_offset_leaves_numbers_out(offset: int) -> None:
    for draw in (po.random.bits, po.random.uniform, po.random.normal):
        for dtype in (np.uint64, np.uint32) if draw is po.random.bits else (np.float64, np.float32):
            later = draw(9, 11, offset=offset, dtype=dtype)
            assert np.array_equal(later, draw(9, 11 + offset, dtype=dtype)[offset:])


def test_shapes_and_scalars() -> None:
    assert np.array_equal(po.random.uniform(3, (4, 5)).ravel(), po.random.uniform(3, 20))
    assert type(po.random.uniform(3)) is np.float64
    assert type(po.random.normal(3, dtype=np.float32)) is np.float32
    assert po.random.integers(3, 0, 9, (2, 0)).shape == (2, 0)


def test_integers_are_the_upper_part_of_products() -> None:
    words = po.random.bits(8, 50).tolist()
    for low, high in ((0, 1), (-5, 1000), (-(2**63), 2**63), (1, 2**33 + 7)):
        wanted = [low + (word * (high - low) >> 64) for word in words]
        assert po.random.integers(8, low, high, 50).tolist() == wanted


def test_keys_are_taken_modulo() -> None:
    assert po.random.bits(-1) == po.random.bits(2**64 - 1) == po.random.bits(np.uint64(2**64 - 1))
    assert po.random.bits(1, stream=-1) == po.random.bits(1, stream=2**64 - 1)


@pytest.mark.parametrize(
    "call, code",
    [
        (lambda: po.random.uniform(0.5, 3), "PO0155"),
        (lambda: po.random.uniform(True, 3), "PO0155"),
        (lambda: po.random.uniform(np.float64(1), 3), "PO0155"),
        (lambda: po.random.bits(1, 3, stream=None), "PO0155"),
        (lambda: po.random.normal(1, 3, offset="a"), "PO0155"),
        (lambda: po.random.integers(1, 5, 5, 3), "PO0156"),
        (lambda: po.random.integers(1, 0.5, 5, 3), "PO0156"),
        (lambda: po.random.integers(1, 0, 2**70, 3), "PO0156"),
        (lambda: po.random.uniform(1, 3, dtype=np.float16), "PO0143"),
        (lambda: po.random.bits(1, 3, dtype=np.int64), "PO0143"),
        (lambda: po.random.uniform(1, (3, -1)), "PO0174"),
    ],
)
def test_refusals(call, code: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        call()
    assert caught.value.code == code
