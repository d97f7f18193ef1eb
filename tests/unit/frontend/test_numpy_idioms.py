"""Whole functions against NumPy and Python; lists that cannot grow are refused."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

from polyopt.errors import FrontendError
from tests.unit.frontend import numpy_idioms
from tests.unit.frontend.harness import agree, compiled

PROGRAMS = [f for _, f in inspect.getmembers(numpy_idioms, inspect.isfunction)]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
def test_function_does_what_python_does(function):
    rng = np.random.default_rng(3)
    parameters = inspect.signature(function).parameters.values()
    required = [p.name for p in parameters if p.default is p.empty]
    agree(function, *(rng.normal(size=(4, 4) if n.isupper() else 7) for n in required))


def grows_under_a_condition(X):
    out = []
    for i in range(X.shape[0]):
        if X[i, 0] > 0:
            out.append(X[i])
    return np.array(out)


def grows_under_two_names(X):
    a = []
    b = a
    b.append(X[0])
    return np.array(a)


def grows_after_items(X):
    out = [X[0]]
    for i in range(X.shape[0]):
        out.append(X[i])
    return np.array(out)


def grows_unevenly(X):
    out = []
    for i in range(X.shape[0]):
        out.append(X[:i])
    return np.concatenate(out)


def grows_until(X):
    out = []
    i = 0
    while X[i, 0] > 0:
        out.append(X[i])
        i += 1
    return np.array(out)


@pytest.mark.parametrize(
    "function",
    [
        grows_under_a_condition,
        grows_under_two_names,
        grows_after_items,
        grows_unevenly,
        grows_until,
    ],
)
def test_lists_that_cannot_grow(function):
    with pytest.raises(FrontendError) as refused:
        compiled(function, np.ones((4, 4)))
    assert refused.value.code == "PO0152"
