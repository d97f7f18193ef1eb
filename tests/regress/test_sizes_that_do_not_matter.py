"""Arrays that end before loops which never reach that far: what Python computes is computed.

The first reading takes it that arrays hold what loops reach; other calls have code for any sizes.
"""

from __future__ import annotations

import copy
from functools import partial
from typing import Any

import numpy as np
import pytest

import polyopt as po
from polyopt.frontend import build
from polyopt.frontend.syntax.annotations import ANY_SIZES
from polyopt.ir.interp import run_program
from tests.unit.frontend.harness import type_of

pytestmark = pytest.mark.toolchain


def shifted(x, m, out):
    for i in range(x.shape[0]):
        if m[i]:
            out[i + 1] = x[i]


def outer(x, y, out):
    for i in range(x.shape[0]):
        for j in range(y.shape[0]):
            out[i, j] = x[i] * y[j]


def ending(x, k):
    s = 0.0
    i = 0
    while i < k and x[i] > 0:
        s += x[i] * x[2]
        i += 1
    return s


def columns(p, m, out):
    for i in range(p.shape[0]):
        if m[i]:
            out[i] = p[i, 0] + p[i, 2]
        else:
            out[i] = p[i, 0]


def first_item(stack, n, out):
    for i in range(n):
        if out[i] > 0:
            out[i] = stack[0]


def below(x, out):
    n = x.shape[0]
    for i in range(n):
        for j in range(i + 1, n):
            out[i] += x[j]


def counted(k, m, h):
    for i in range(k.shape[0]):
        if m[i]:
            h[k[i]] += 1


def stopped(x, limit, out):
    for i in range(x.shape[0]):
        if x[i] > limit:
            break
        out[i] = x[i]


def last_of(x, k, out):
    for i in range(x.shape[0]):
        if x[i] > out[k - 1]:
            out[k - 1] = x[i]


NO, YES, LAST = np.zeros(4, bool), np.ones(4, bool), np.array([0, 0, 0, 1], bool)
FOUR, THREE = np.arange(4.0), np.arange(3.0)


def zeros(*shape: int) -> Any:
    return np.zeros(shape)


CALLS = [
    (shifted, (FOUR, np.array([1, 0, 1, 0], bool), zeros(4))),
    (shifted, (FOUR, LAST, zeros(4))),
    (shifted, (FOUR, LAST, zeros(5))),
    (shifted, (zeros(0), zeros(0), zeros(0))),
    (outer, (zeros(0), THREE, zeros(0, 0))),
    (outer, (THREE, zeros(0), zeros(0, 0))),
    (outer, (THREE, FOUR, zeros(3, 4))),
    (outer, (THREE, FOUR, zeros(3, 3))),
    (ending, (np.arange(1.0, 6.0), 4)),
    (ending, (np.array([-1.0]), 1)),
    (ending, (np.array([1.0]), 1)),
    (ending, (zeros(0), 0)),
    (ending, (zeros(0), 1)),
    (columns, (zeros(4, 2), NO, zeros(4))),
    (columns, (zeros(4, 2), LAST, zeros(4))),
    (columns, (np.ones((4, 3)), LAST, zeros(4))),
    (columns, (zeros(4, 0), YES, zeros(4))),
    (columns, (zeros(0, 0), zeros(0), zeros(0))),
    (first_item, (zeros(0), 3, -np.ones(3))),
    (first_item, (zeros(0), 3, np.ones(3))),
    (first_item, (np.ones(1), 3, np.ones(3))),
    (first_item, (zeros(0), 2, zeros(1))),
    (below, (FOUR, zeros(3))),
    (below, (FOUR, zeros(2))),
    (below, (zeros(1), zeros(0))),
    (counted, (np.array([0, 1]), NO, zeros(0))),
    (counted, (np.array([0, 1]), YES, zeros(0))),
    (counted, (np.array([0, 1]), YES, zeros(2))),
    (last_of, (FOUR, 3, zeros(4))),
    (last_of, (FOUR, 0, zeros(4))),
    (last_of, (FOUR, -2, zeros(4))),
    (last_of, (FOUR, -4, zeros(4))),
    (last_of, (FOUR, 5, zeros(4))),
    (last_of, (zeros(0), 9, zeros(4))),
    (stopped, (FOUR, 1.0, zeros(2))),
    (stopped, (FOUR, 2.0, zeros(2))),
    (stopped, (FOUR, 9.0, zeros(4))),
]


def called(function: Any, args: tuple[Any, ...]) -> tuple[object, list[Any]]:
    own = copy.deepcopy([*args])
    try:
        result = function(*own)
    except IndexError:
        return IndexError, []
    return result, own


@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize("function", dict.fromkeys(function for function, _ in CALLS))
def test_calls_compute_what_python_does(function, order) -> None:
    """One kernel serves all calls, whichever comes first."""
    kernel = po.kernel(function)
    for args in [args for other, args in CALLS if other is function][::order]:
        wanted, expected = called(function, args)
        result, found = called(kernel, args)
        assert result == wanted
        for mine, other in zip(found, expected, strict=True):
            np.testing.assert_array_equal(mine, other)


@pytest.mark.parametrize("function", dict.fromkeys(function for function, _ in CALLS))
def test_code_made_ahead_takes_every_call(function) -> None:
    """Types say nothing of sizes: what is compiled of them is for all."""
    calls = [args for other, args in CALLS if other is function]
    types = tuple(map(type_of, calls[0]))
    compiled = po.kernel(function).compile(*types)
    for args in calls:
        if tuple(map(type_of, args)) != types:
            continue
        wanted, expected = called(function, args)
        result, found = called(compiled, args)
        assert result == wanted
        for mine, other in zip(found, expected, strict=True):
            np.testing.assert_array_equal(mine, other)


FULL = (np.ones((4, 3)), LAST, zeros(4))
SHORT = (np.ones((4, 2)), NO, zeros(4))


def test_a_kernel_keeps_code_for_any_sizes_to_calls_that_need_it(monkeypatch, tmp_path) -> None:
    monkeypatch.setenv("POLYOPT_CACHE_DIR", str(tmp_path))
    kernel = po.kernel(columns)
    for args, made in [(SHORT, 1), (SHORT, 1), (FULL, 2), (SHORT, 2), (FULL, 2)]:
        wanted, expected = called(columns, args)
        result, found = called(kernel, args)
        assert (result, len(kernel._compiled)) == (wanted, made)
        np.testing.assert_array_equal(found[2], expected[2])
    usual, general = sorted(kernel._compiled, key=len)
    assert general == (*usual, ANY_SIZES)
    assert kernel._compiled[usual].dispatch(*FULL) is None
    assert kernel._compiled[usual].dispatch(*SHORT) is NotImplemented


def test_a_call_that_leaves_its_arrays_is_refused_as_before() -> None:
    compiled = po.kernel(outer).compile(*map(type_of, (FOUR, FOUR, zeros(4, 4))))
    with pytest.raises(po.PolyoptError) as raised:
        compiled(FOUR, FOUR, zeros(3, 4))
    assert raised.value.code == "PO0170"


@pytest.mark.parametrize(
    ("function", "args"), [call for call in CALLS if called(*call)[0] is not IndexError]
)
def test_code_for_any_sizes_is_for_all_calls(function, args) -> None:
    program = build(function, (*map(type_of, args), ANY_SIZES))
    wanted, expected = called(function, args)
    result, found = called(partial(run_program, program), (args,))
    assert result == wanted
    for mine, other in zip(found[0], expected, strict=True):
        np.testing.assert_array_equal(mine, other)


@pytest.mark.parametrize(
    ("function", "found_by_data"), [(columns, 0), (first_item, 0), (stopped, 0), (counted, 1)]
)
def test_other_code_tests_no_subscript_that_sizes_decide(function, found_by_data) -> None:
    args = next(args for other, args in reversed(CALLS) if other is function)
    few = build(function, tuple(map(type_of, args))).signature
    many = build(function, (*map(type_of, args), ANY_SIZES)).signature
    assert len(few.faults) == found_by_data
    assert len(many.faults) > found_by_data or len(many.checks) < len(few.checks)
