"""Hints that name a replacement, followed."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable

import numpy as np
import pytest

import polyopt as po
from polyopt.errors import ArgumentError

Weights = namedtuple("Weights", "first second")


class Convertible:
    """An array of another library, which NumPy can ask for one."""

    def __array__(self, dtype: object = None, copy: object = None) -> np.ndarray:
        return np.arange(3.0)


def total(a):
    s = 0.0
    for i in range(a.shape[0]):
        s += a[i]
    return s


FOLLOWED: list[tuple[object, str, Callable[[object], object]]] = [
    ([1.0, 2.0, 3.0], "convert it once: `a = np.array(a)`", np.array),
    (Weights(1.0, 2.0), "convert it once: `a = np.array(a)`", np.array),
    (np.ma.array([1.0, 2.0], mask=[0, 1]), "`a.filled(0)`", lambda a: a.filled(0)),
    (np.ones((1, 2)).view(np.matrix), "`np.asarray(a)`", lambda a: np.asarray(a).ravel()),
    (Convertible(), "`np.asarray(a)`", np.asarray),
]


@pytest.mark.toolchain
@pytest.mark.parametrize("value, hint, follow", FOLLOWED, ids=lambda v: type(v).__name__)
def test_what_to_pass_instead(value, hint, follow):
    kernel = po.kernel(total, threads=1)
    with pytest.raises(ArgumentError) as caught:
        kernel(value)
    assert caught.value.code == "PO0206"
    assert hint in str(caught.value.hint)
    plain = follow(value)
    assert kernel(plain) == total(plain)


@pytest.mark.parametrize(
    "value",
    [
        Weights(np.ones((2, 3)), np.ones(4)), [np.ones(2), np.ones(3)], [[1.0], [2.0, 3.0]],
        [object()], (10**5000, 1),
    ],
    ids=["namedtuple", "arrays", "rows", "objects", "digits"],
)  # fmt: skip
def test_items_that_are_no_rows_of_an_array(value):
    with pytest.raises(ArgumentError) as caught:
        po.kernel(total)(value)
    assert caught.value.code == "PO0206"
    assert "pass each as an argument of its own" in str(caught.value.hint)
