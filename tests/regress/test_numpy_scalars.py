"""NumPy's numbers as arguments, defaults, globals: their types count, also where compiled in."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polyopt as po
from polyopt.frontend.syntax.annotations import ConstType, ScalarType
from polyopt.frontend.syntax.type_inference import infer_types
from polyopt.ir.types import DType

pytestmark = [pytest.mark.toolchain, pytest.mark.filterwarnings("ignore::RuntimeWarning")]
INTEGERS = [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64]
HUNDRED = np.int8(100)


def equal(kernel: Any, *args: Any) -> None:
    """Compare values and types with Python's; Python's own numbers come as NumPy's."""
    found, wanted = kernel(*args), kernel.py_func(*args)
    for mine, other in zip(found, wanted, strict=True):
        assert np.asarray(mine).dtype == np.asarray(other).dtype
        np.testing.assert_array_equal(mine, other)


@pytest.mark.parametrize("kind", INTEGERS)
def test_integers_of_every_width_wrap_and_promote(kind: Any) -> None:
    @po.kernel(threads=1)
    def program(a, b, c: int, x):
        for i in range(a):
            x[i] = a * i
        return a + b, a - b, a * b, a // b, a % b, a + c, c - a, a / c, a < c, a & b, -a, x * a, x

    top = np.iinfo(kind).max
    for a, b in ((3, 2), (3, top)):
        equal(program, kind(a), kind(b), 100, np.zeros(5, kind))


@po.kernel(threads=1)
def stepped(x, k):
    return x[::k] * k, k * 100, k + 1


def test_an_integer_that_is_compiled_in_keeps_its_type() -> None:
    x = np.arange(7.0)
    for k in (2, np.int8(2), 2, np.uint8(3), np.int16(3), 3, np.int8(2)):
        equal(stepped, x, k)


def test_defaults_and_globals_keep_their_types() -> None:
    @po.kernel(threads=1)
    def program(x, axis=np.int8(1)):  # noqa: B008
        return x.sum(axis=axis), axis * HUNDRED + HUNDRED, HUNDRED + 100, x * HUNDRED

    x = np.arange(6.0).reshape(2, 3)
    for given in ((), (1,), (np.int8(1),), (0,), (np.uint8(0),)):
        equal(program, x, *given)
    assert infer_types(program.py_func)[1] == ScalarType(DType.INT8, weak=False)


def test_bools_of_numpy_are_not_pythons() -> None:
    @po.kernel(threads=1)
    def program(a, b, x):
        x[0] = 1
        return a + b, a * b, a & b, a | b, a == b

    x = np.zeros(1)
    for a in (True, np.True_, False, np.False_):
        for b in (True, np.True_, np.False_, 3):
            equal(program, a, b, x)


def test_types_of_compiled_in_values_differ() -> None:
    kinds = [ConstType(1), ConstType(True), ConstType(1.0), ConstType(1, DType.INT8)]
    assert len(set(kinds)) == len(kinds)
    assert ConstType(0.0) != ConstType(-0.0)


def fnv(data):
    state = np.uint64(14695981039346656037)
    for i in range(data.shape[0]):
        state = (state ^ np.uint64(data[i])) * np.uint64(1099511628211)
    return state


def words(data):
    largest = np.uint64(np.iinfo(np.uint64).max)
    return (
        np.minimum(data, largest), data > 2**63, data & 0xFFFF0000FFFF0000, data ^ 2**63,
        2**64 - 1 - data, data % (2**63 + 5), data // 2**63, data + 0x9E3779B97F4A7C15,
    )  # fmt: skip


def test_constants_of_64_bits_without_a_sign() -> None:
    data = np.array([0, 1, 2**63, 2**64 - 1, 2**63 - 1, 77], np.uint64)
    with np.errstate(over="ignore"):
        want = fnv(data)
    found = po.kernel(fnv)(data)
    assert found == want
    assert found.dtype == want.dtype
    for one, other in zip(po.kernel(words)(data), words(data), strict=True):
        assert one.dtype == other.dtype
        assert np.array_equal(one, other)


def stored(data):
    data[0] = 2**64 - 1
    return data


def stored_as_hinted(data):
    data[0] = np.uint64(18446744073709551615)
    return data


def beside_a_sign(data):
    return data + 2**63


def test_the_hint_for_a_constant_of_64_bits_compiles() -> None:
    with pytest.raises(po.PolyoptError, match=r"write `np.uint64\(18446744073709551615\)`"):
        po.kernel(stored)(np.zeros(2, np.uint64))
    assert po.kernel(stored_as_hinted)(np.zeros(2, np.uint64))[0] == 2**64 - 1
    with pytest.raises(po.PolyoptError, match="does not fit int64"):
        po.kernel(beside_a_sign)(np.zeros(2, np.int64))
