"""Index arrays, masks and computed positions mean what they mean in NumPy."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import polyopt as po
from polyopt.ir.interp import run_program
from polyopt.ir.scop import Role
from polyopt.schedule.dependences import compute_dependences
from tests.checks import assert_same
from tests.unit.frontend.harness import agree, compiled, same
from tests.unit.frontend.indexed import (
    IDX,
    OUTSIDE,
    PROGRAMS,
    RNG,
    A,
    Q,
    X,
    chain,
    chained,
    fancy,
    gather,
    histogram,
    lookup,
    picked,
    placed,
    scatter,
    swap,
)

_IDS = [f"{func.__name__}-{n}" for n, (func, *_) in enumerate(PROGRAMS)]


@pytest.mark.parametrize(("func", "args"), [(f, a) for f, *a in PROGRAMS], ids=_IDS)
def test_program_equals_python(func: Callable[..., object], args: list[Any]) -> None:
    agree(func, *args)


@pytest.mark.parametrize(("func", "args"), [(f, a) for f, *a in OUTSIDE])
def test_a_subscript_outside_is_an_index_error(
    func: Callable[..., object], args: list[Any]
) -> None:
    with pytest.raises(IndexError):
        func(*copy.deepcopy(args))
    with pytest.raises(IndexError) as caught:
        run_program(compiled(func, *args), copy.deepcopy(args))
    assert caught.value.code == "PO0231"  # type: ignore[attr-defined]
    assert caught.value.loc is not None  # type: ignore[attr-defined]


@pytest.mark.toolchain
@pytest.mark.parametrize("func", [gather, histogram, chained, placed, scatter, picked, lookup])
def test_a_cross_section_is_right_in_c(func: Callable[..., object]) -> None:
    kernel = po.kernel(func)
    for args in (args for f, *args in PROGRAMS if f is func):
        mine, theirs = copy.deepcopy(args), copy.deepcopy(args)
        same(kernel(*mine), func(*theirs))
        for ours, other in zip(mine, theirs, strict=True):
            same(ours, other) if isinstance(ours, np.ndarray) else None
    for args in (args for f, *args in OUTSIDE if f is func):
        with pytest.raises(IndexError):
            kernel(*copy.deepcopy(args))


@pytest.mark.toolchain
def test_an_empty_array_has_no_elements() -> None:
    kernel = po.kernel(fancy)
    with pytest.raises(IndexError) as caught:
        kernel(X[:0], np.array([0]))
    assert caught.value.code == "PO0170"  # type: ignore[attr-defined]


@pytest.mark.toolchain
def test_nothing_outside_is_written() -> None:
    memory = np.arange(12.0)
    with pytest.raises(IndexError):
        po.kernel(histogram)(memory[4:8], np.array([0, -5, 4, 1, 2**62, -(2**63)]))
    same(memory, np.array([0, 1, 2, 3, 5, 5, 6, 7, 8, 9, 10, 11.0]))  # as Python leaves it
    matrix = A.copy()
    with pytest.raises(IndexError):
        po.kernel(chain)(matrix, np.array([7, 7, 7]), Q, np.ones(4, bool))
    same(matrix, A)


def faults(func: Callable[..., object], *args: object) -> int:
    """How many statements of the program look for subscripts that are outside."""
    program = compiled(func, *args)
    names = {array.name for array in program.arrays if array.role is Role.FAULT}
    return sum(s.target.array in names for scop in program.scops for s in scop.statements)


def remainder(x, v):
    s = 0.0
    for i in range(len(v)):
        s += x[v[i] % len(x)] + x[v[i] % 3 - 3 + len(x)]
    return s


def cut(x, v):
    s = 0.0
    for i in range(len(v)):
        s += x[min(max(v[i], 0), len(x) - 1)]
    return s


def largest(x, y):
    k = np.argmax(x)
    return x[k] + y[k % len(y)]


def bytes_of(t, v):
    table = np.zeros(256)
    table[:] = t
    return table[v]


def test_what_is_known_to_be_inside_is_not_checked() -> None:
    assert faults(cut, X, IDX) == 0
    assert faults(bytes_of, np.ones(256), np.zeros(3, np.uint8)) == 0
    assert faults(swap, A, 0, 1) == 0
    assert faults(gather, X, IDX, np.zeros(6)) == 1


def test_bounds_of_remainders() -> None:
    agree(remainder, RNG.random(5), np.array([7, -9, 3]))
    agree(cut, RNG.random(5), np.array([7, -9, 3]))
    agree(largest, RNG.random(5), RNG.random(2))
    agree(bytes_of, RNG.random(256), np.array([7, 255], np.uint8))


def column(A, p):
    for i in range(len(p)):
        for j in range(A.shape[1]):
            A[p[i], j] = A[p[i], j] + 1


def test_a_known_column_stays_exact() -> None:
    (statement,) = (s for s in compiled(column, A, IDX).scop.statements if s.target.array == "A")
    places = "[A_0, A_1, p_0] -> { %s[i, j] -> A[k, j] : 0 <= i < p_0 and 0 <= j < A_1 %s }"
    for access, inside in ((statement.write, ""), (statement.reads[0], "and k < A_0")):
        assert not access.exact
        relation = access.relation.gist_params(access.relation.params())
        assert_same(relation, places % (statement.name, inside))


def test_faults_order_nothing() -> None:
    dependences = compute_dependences(compiled(gather, X, IDX, np.zeros(6)).scop)
    assert dependences.memory == ()
    assert dependences.scheduling.is_empty()
    assert {d.array for d in compute_dependences(compiled(column, A, IDX).scop).memory} == {"A"}


@pytest.mark.toolchain
def test_strides_and_orders() -> None:
    kernel = po.kernel(fancy)
    for array in (A.T, A[::-1], A[:, ::2], np.asfortranarray(A)):
        index = np.array([0, -1, 1])
        same(kernel(array, index), array[index])
        same(kernel(array, np.repeat(index, 2)[::2]), array[index])
        same(kernel(array, Q), array[Q])


def taken(x, index, y):
    for i in range(len(y)):
        y[i] = x[index[i]]


def taken_by_rows(x, index, y):
    for i in range(y.shape[0]):
        for j in range(y.shape[1]):
            y[i, j] += x[index[i, j]]


def taken_at_sums(x, index, y):
    for i in range(len(y)):
        y[i] = x[index[i] + index[i]]


def taken_and_changed(x, index, y):
    for i in range(len(y)):
        y[i] = x[index[i]]
        index[i] = 0


@pytest.mark.toolchain
@pytest.mark.parametrize("ctypes", ["0", "1"])
@pytest.mark.parametrize(
    ("function", "index", "said"),
    [
        (taken, [0, 2, 3], ("index[2] is 3, outside of -3 to 2",)),
        (taken, [-3, 7, -4], ("index[1] is 7, outside of -3 to 2; so are 1 more of its elements",)),
        (taken_by_rows, [[0, 1], [9, 2]], ("index[1, 0] is 9, outside of -3 to 2",)),
        (taken_at_sums, [0, 1, 2], ()),
        (taken_and_changed, [0, 2, 3], ()),
    ],
)
def test_the_extent_and_the_element_that_leaves_it_are_told(
    function: Callable[..., object],
    index: Any,
    said: tuple[str, ...],
    ctypes: str,
    monkeypatch: Any,
) -> None:
    monkeypatch.setenv("POLYOPT_FORCE_CTYPES", ctypes)
    kernel = po.kernel(function)
    for _ in range(2):
        given = np.array(index)
        with pytest.raises(IndexError) as caught:
            kernel(np.zeros(3), given, np.zeros(given.shape))
        expected = ("the extent is 3 in this call", *said)
        assert caught.value.notes == expected  # type: ignore[attr-defined]
