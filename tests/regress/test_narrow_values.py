"""What is cast to a narrow integer wraps, iterators and arguments too; sums keep their type."""

from __future__ import annotations

import numpy as np
import pytest

import polyopt as po
from polyopt.errors import PolyoptError
from tests.unit.frontend.harness import agree, compiled, run_program

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def test_iterators_cast_to_narrow_types_wrap() -> None:
    def program(x, n: int):
        for i in range(n):
            x[i] = np.arange(n).astype(np.uint8)[i] + np.int64(0)
        return np.arange(n).astype(np.int8) + np.int64(1), np.arange(n, dtype=np.int32) * 2

    agree(program, np.zeros(300, np.int64), 300)


@pytest.mark.parametrize("kind", ["int8", "uint16", "int32"])
def test_arguments_cast_to_narrow_types_wrap(kind: str) -> None:
    if kind == "int8":

        def program(n, x):
            return np.int64(n.astype(np.int8)) + x.size, n.astype(np.int8) + x
    elif kind == "uint16":

        def program(n, x):
            return np.int64(n.astype(np.uint16)) + x.size, n.astype(np.uint16) + x
    else:

        def program(n, x):
            return np.int64(n.astype(np.int32)) + x.size, n.astype(np.int32) + x

    for n in (5, 300, 2**31 + 5, -(2**40) - 7):
        agree(program, np.int64(n), np.zeros(2, np.int64))


@pytest.mark.parametrize("kind", ["int8", "uint8", "int32", "float32", "bool", "float64"])
def test_pythons_sum_adds_in_the_type_of_the_items(kind: str) -> None:
    def program(x):
        return sum(x), sum(x) + 1, sum(x, 2)

    def generated(x):
        return sum(v * v for v in x), max(v + v for v in x)

    x = np.array([100, 100, 3, 1]).astype(kind)
    agree(program, x)
    if kind != "bool":
        agree(generated, x)


@pytest.mark.parametrize("number", [300, -1])
def test_pythons_integers_must_fit_the_type_they_are_converted_to(number: int) -> None:
    def affine(n: int, x):
        return np.uint8(n) + x

    def counted(n: int, x):
        k = 0
        while k < abs(n):
            k += 1
        return np.uint8(k if n > 0 else n) + x

    x = np.zeros(2, np.uint8)
    for program in (affine, counted):
        agree(program, 7, x)
        with pytest.raises(PolyoptError) as caught:
            run_program(compiled(program, number, x), (number, x))
        assert caught.value.code in ("PO0176", "PO0234")


@pytest.mark.toolchain
@pytest.mark.parametrize("source", ["float16", "float32", "float64", "complex64"])
@pytest.mark.parametrize("kind", ["uint8", "uint16", "uint32", "uint64"])
def test_negative_floats_wrap_as_unsigned_integers_in_every_lane(kind: str, source: str) -> None:
    def program(x, y):
        for i in range(len(x)):
            y[i] = x.real[i]
        return x.astype(y.dtype), y

    x = np.resize(np.array([-1.0, -2.5, 7.75, -129.5, 0.0, 30000.0]), 29).astype(source)
    theirs = program(x, np.zeros(len(x), kind))
    ours = po.kernel(program)(x, np.zeros(len(x), kind))
    for one, other in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.toolchain
def test_floats_from_the_upper_half_of_unsigned_integers() -> None:
    def program(x):
        return x.astype(np.uint64)

    x = np.resize(np.array([2.0**63, 1.5e19, -3.0, 2.0**62, 2.0**64 - 2048]), 29)
    np.testing.assert_array_equal(po.kernel(program)(x), program(x))
