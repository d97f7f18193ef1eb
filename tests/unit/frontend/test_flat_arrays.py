"""Flat arrays whose subscripts walk through rows have these rows; all others stay flat."""

from __future__ import annotations

import copy
from collections.abc import Callable

import numpy as np
import pytest

import polyopt as po
from tests.unit.frontend.harness import agree, compiled


def product(a, b, c, n: int):
    for i in range(n):
        for j in range(n):
            s = 0.0
            for k in range(n):
                s += a[i * n + k] * b[k * n + j]
            c[i * n + j] = s


def images(x, y, width: int, depth: int):
    for i in range(1, x.shape[0] // (width * depth) - 1):
        for j in range(1, width - 1):
            for k in range(depth):
                y[(i * width + j) * depth + k] = (
                    x[((i - 1) * width + j) * depth + k]
                    + x[i * width * depth + (j + 1) * depth + k]
                )


def triangle(a, b, n: int):
    for i in range(n):
        for j in range(i):
            b[i * n + j] = a[j * n + i]


def borders(a, b, n: int):
    """The last element of a row is the one before the next row."""
    for i in range(n - 1):
        for j in range(n):
            b[i * n + j] = a[(i + 1) * n - 1] + a[i * n]


def chosen(a, b, mask, n: int):
    for i in range(n):
        for j in range(n):
            if mask[i * n + j] > 0.5:
                b[i * n + j] = a[i * n + j]


def reshaped(a, b, n: int):
    rows = a.reshape(n, n)
    for i in range(n):
        for j in range(n):
            b[j * n + i] = rows[i, j] + rows[i, 0]


def returned(a, b, n: int):
    for i in range(n):
        for j in range(n):
            a[i * n + j] += b[j * n + i]
    return a


ROWS = [product, images, triangle, borders, chosen, reshaped, returned]


def summed(a, b, n: int):
    for i in range(n):
        for j in range(n):
            b[i * n + j] = a[i * n + j]
    return a.sum() + b[0]


def wrapped(a, b, n: int):
    """The row before the first one is the last."""
    for i in range(n):
        for j in range(n):
            b[i * n + j] = a[(i - 1) * n + j]


def diagonal(a, b, n: int):
    """Element `i` of row `i` is no element of a column: rows have more of them."""
    for i in range(n):
        b[i] = a[i * n + i + 1 - 1] + a[i]


def shifted(a, b, n: int, by: int):
    for i in range(n - 1):
        for j in range(n):
            b[i] += a[i * n + j + by]


FLAT = [summed, wrapped, diagonal, shifted]


def arguments(function: Callable[..., object], n: int, more: int = 0) -> list[object]:
    """Return arguments; the arrays have `more` elements than they need."""
    rng = np.random.default_rng(n)
    if function is images:
        size = 5 * (n + 1) * 3 + more
        return [rng.random(size), np.zeros(size), n + 1, 3]
    count = {product: 3, chosen: 3}.get(function, 2)
    arrays = [rng.random(n * n + more) for _ in range(count)]
    return [*arrays, n, 1] if function is shifted else [*arrays, n]


def ranks(function: Callable[..., object]) -> set[int]:
    """Return the numbers of dimensions of a program's array arguments."""
    program = compiled(function, *arguments(function, 4))
    named = {getattr(argument, "array", None) for argument in program.signature.arguments}
    return {len(array.shape) for array in program.arrays if array.name in named}


@pytest.mark.parametrize("function", ROWS)
def test_arrays_have_rows(function):
    assert ranks(function) == {3 if function is images else 2}


@pytest.mark.parametrize("function", FLAT)
def test_other_arrays_are_flat(function):
    assert 1 in ranks(function)


@pytest.mark.parametrize("function", [*ROWS, *FLAT])
@pytest.mark.parametrize("n", [1, 2, 5])
def test_values_are_pythons(function, n):
    agree(function, *arguments(function, n, 1 if function is shifted else 0))


@pytest.mark.toolchain
@pytest.mark.parametrize("function", [*ROWS, *FLAT])
def test_kernels_compute_what_python_does(function):
    """With arrays that are longer, shorter, strided, the same, and of no elements."""
    kernel = po.kernel(function)
    for n, more in ((4, 0), (4, 1), (4, 4), (4, -1), (4, -4), (1, 0), (0, 0)):
        if more and function is reshaped:
            continue
        _compare(kernel, function, arguments(function, n, more))
    strided = [np.repeat(x, 2)[::2] if np.ndim(x) else x for x in arguments(function, 4)]
    _compare(kernel, function, strided)
    args = arguments(function, 4)
    _compare(kernel, function, [args[0] if np.ndim(x) else x for x in args])


def _compare(kernel: Callable[..., object], function: Callable[..., object], args: list) -> None:
    ours, theirs = copy.deepcopy(args), copy.deepcopy(args)
    try:
        expected = function(*theirs)
    except (IndexError, ValueError) as error:
        with pytest.raises(type(error)):
            kernel(*ours)
        return
    found = kernel(*ours)
    if expected is not None:
        np.testing.assert_allclose(found, expected)
    for mine, other in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(mine, other)


@pytest.mark.machine
def test_derivatives_have_the_arguments_shape():
    def loss(a, b, n: int):
        total = 0.0
        for i in range(n):
            for j in range(n):
                total += a[i * n + j] * a[i * n + j] * b[j]
        return total

    a, b = np.arange(9.0), np.arange(3.0)
    np.testing.assert_allclose(po.grad(loss)(a, b, 3), 2 * a * np.tile(b, 3))
