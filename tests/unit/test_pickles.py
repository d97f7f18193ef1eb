"""Kernels in pickles: other processes find the function by its name and compile or load it."""

from __future__ import annotations

import copy
import multiprocessing
import pickle
import types

import numpy as np
import pytest

import polyopt as po
from polyopt.errors import UsageError


def adds(A, B):
    return A + B * FACTOR


FACTOR = 2.0
hidden = po.kernel(adds)


@pytest.mark.toolchain
def test_compiled_kernels_are_pickled_by_what_compiles_them_again():
    compiled = hidden.compile(np.ones(3), 2.0)
    data = pickle.dumps(compiled)
    assert len(data) < 2000
    back = pickle.loads(data)
    assert (back.types, back.options) == (compiled.types, compiled.options)
    assert list(back.timings) == ["cache"]
    np.testing.assert_array_equal(back(np.arange(4.0), 1.0), np.arange(4.0) + 2.0)
    np.testing.assert_array_equal(copy.copy(compiled)(np.ones(2), 1.0), np.full(2, 3.0))


def square(A):
    return A * A


def _other(A):
    return A


_other.__qualname__ = "square"


@pytest.mark.parametrize("function", [lambda A: A, _other, types.FunctionType(square.__code__, {})])
def test_functions_that_no_name_finds_are_not_pickled(function):
    with pytest.raises(pickle.PicklingError) as caught:
        pickle.dumps(po.kernel(function))
    assert isinstance(caught.value, UsageError)
    assert caught.value.code == "PO0250"


def test_a_pickle_of_a_function_that_is_gone_says_so(monkeypatch):
    data = pickle.dumps(po.kernel(square))
    monkeypatch.delitem(globals(), "square")
    with pytest.raises(UsageError) as caught:
        pickle.loads(data)
    assert caught.value.code == "PO0250"


@pytest.mark.toolchain
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_other_processes_take_kernels(method):
    context = multiprocessing.get_context(method)
    with context.Pool(1) as pool:
        work = (hidden, hidden.compile(np.ones(3), 2.0))
        for found in [pool.apply(kernel, (np.ones(3), 1.0)) for kernel in work]:
            np.testing.assert_array_equal(found, np.full(3, 3.0))


@po.kernel
def decorated(A):
    return np.sum(A * A)


def test_derivatives_of_decorated_functions_are_pickled():
    again = pickle.loads(pickle.dumps(po.grad(decorated)))
    assert again._derives == po.grad(decorated)._derives
    batched = pickle.loads(pickle.dumps(po.vmap(decorated)))
    assert batched.py_func.__name__ == po.vmap(decorated).py_func.__name__
    with pytest.raises(UsageError) as caught:
        pickle.dumps(po.grad(lambda A: np.sum(A)))
    assert caught.value.code == "PO0250"
