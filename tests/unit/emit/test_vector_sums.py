"""Loops of sums on registers: each term counts once, whatever the length, and others not at all."""

# ruff: noqa: F821, UP037 - sizes are named by strings
from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import polyopt as po
from polyopt.ir.loops import For, vectors_of_sums
from polyopt.ir.nodes import all_nodes
from polyopt.numerics.replay import replay
from polyopt.targets import detect_machine

pytestmark = pytest.mark.toolchain
LENGTHS = (*range(70), 127, 128, 129, 1000)


def total(x: po.f64["N"]):
    found = 0.0
    for i in range(x.shape[0]):
        found += x[i]
    return found


def distance(x: po.f32["N"], y: po.f32["N"]):
    found = x.dtype.type(0)
    for i in range(x.shape[0]):
        found += (x[i] - y[i] + 1) * (x[i] - y[i] + 1)
    return found


def moments(x: po.f64["N"], first: po.f64["1"], second: po.f64["1"]):
    for i in range(3, x.shape[0]):
        first[0] += x[i]
        second[0] -= x[i] * x[i]


def three(x: po.f32["N"], one: po.f32["1"], two: po.f32["1"], both: po.f32["1"]):
    for i in range(x.shape[0] - 1):
        one[0] += x[i]
        two[0] += x[i + 1]
        both[0] += x[i] * x[i + 1]


def sums(kernel):
    return [
        node
        for node in all_nodes(kernel.loops.body)
        if isinstance(node, For) and node.lanes > 1 and node.reductions
    ]


def values(length, dtype, seed=0):
    """Return small whole numbers, the sums of which are exact in any order."""
    return np.random.default_rng(seed).integers(-9, 9, length).astype(dtype)


def open_sums(func, *given):
    return po.kernel(func, threads=1, fp="reassociate").compile(*given)


def test_every_term_of_one_sum_counts_once():
    kernel = open_sums(total, values(9, np.float64))
    assert [vectors_of_sums(loop) for loop in sums(kernel)] == [4]
    for length in LENGTHS:
        x = values(length, np.float64, length)
        assert kernel(x) == sum(map(Fraction, x.tolist()))


def test_lanes_behind_the_last_term_add_nothing():
    """A term of the zeros that partial vectors hold would be one."""
    kernel = open_sums(distance, *[values(9, np.float32)] * 2)
    assert sums(kernel)
    for length in LENGTHS:
        x, y = values(length, np.float32, length), values(length, np.float32, length + 1)
        assert kernel(x, y) == np.sum((x - y + 1) ** 2)


def test_two_sums_share_a_loop():
    x, one = values(40, np.float64), np.zeros(1)
    kernel = open_sums(moments, x, one, one.copy())
    assert [vectors_of_sums(loop) for loop in sums(kernel)] == [2]
    for length in LENGTHS:
        x, first, second = values(length, np.float64, length), np.ones(1), np.full(1, 5.0)
        kernel(x, first, second)
        assert (first[0], second[0]) == (1 + x[3:].sum(), 5 - (x[3:] * x[3:]).sum())


def test_three_sums_share_a_loop():
    kernel = open_sums(three, values(40, np.float32), *np.zeros((3, 1), np.float32))
    assert [vectors_of_sums(loop) for loop in sums(kernel)] == [2]
    for length in LENGTHS:
        x, found = values(length, np.float32, length), np.zeros((3, 1), np.float32)
        kernel(x, *found)
        assert found[:, 0].tolist() == [x[:-1].sum(), x[1:].sum(), (x[:-1] * x[1:]).sum()]


@pytest.mark.parametrize("length", [5, 31, 64, 203])
def test_the_loops_run_one_by_one_give_the_bits_of_c(length):
    x = np.random.default_rng(length).normal(size=length)
    kernel = open_sums(total, x)
    again = replay(kernel.program, kernel.loops, (x,), detect_machine().vector_bytes)
    assert list(again.values()) == [kernel(x)]


def test_nothing_behind_the_array_is_read():
    """Infinity behind the last element would make the sum infinite."""
    memory = np.full(4096, np.inf)
    kernel = open_sums(total, memory)
    for length in LENGTHS:
        memory[7 : 7 + length] = 1.0
        assert kernel(memory[7 : 7 + length]) == length
        memory[7 : 7 + length] = np.inf


def test_sums_in_order_stay_in_order():
    kernel = po.kernel(total, threads=1).compile(values(9, np.float64))
    assert not sums(kernel)


def recurrence(x: po.f64["N"], A: po.f64["N,N"]):
    for i in range(x.shape[0]):
        for j in range(max(0, i - SPAN), i):
            x[i] += A[i, j] * x[j]


SPAN = 16


@pytest.mark.parametrize("span, lanes", [(16, 0), (17, 1)])
def test_short_sums_of_what_was_just_stored_have_no_lanes(monkeypatch, span, lanes):
    monkeypatch.setitem(recurrence.__globals__, "SPAN", span)
    given = [values(40, np.float64), values(1600, np.float64).reshape(40, 40)]
    kernel = po.kernel(recurrence, threads=1, fp="reassociate", schedule="source").compile(*given)
    assert len(sums(kernel)) == lanes
