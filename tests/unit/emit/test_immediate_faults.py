# ruff: noqa: F821 - sizes are named by strings
"""Kernels that leave where a subscript is outside: what they print, compute and leave behind."""

import math
import re

import numpy as np
import pytest

import polyopt as po
from polyopt.ir.expr import Binary, loads, rewrite
from polyopt.ir.loops import Assign
from polyopt.proof.trusted_accesses import used_untested
from tests.unit.proof.edits import program_of

RNG = np.random.default_rng(5)
EDGES = (RNG.integers(-5, 5, 30), RNG.integers(-5, 5, 30), RNG.uniform(size=30))


def scattered(idx, w, h):
    for i in range(idx.shape[0]):
        h[idx[i]] += w[i]


def runs(x, values, lengths):
    k = 0
    i = 0
    n = x.shape[0]
    while i < n:
        j = i
        while j < n and x[j] == x[i]:
            j += 1
        values[k] = x[i]
        lengths[k] = j - i
        k += 1
        i = j
    return k


def filled(grid, stack, y, x):
    top = 0
    count = 0
    stack[0, 0] = y
    stack[0, 1] = x
    grid[y, x] = 2
    while top >= 0:
        y = stack[top, 0]
        x = stack[top, 1]
        top -= 1
        count += 1
        for d in range(4):
            v = y + (d == 0) - (d == 1)
            u = x + (d == 2) - (d == 3)
            if 0 <= v < grid.shape[0] and 0 <= u < grid.shape[1] and grid[v, u] == 1:
                grid[v, u] = 2
                top += 1
                stack[top, 0] = v
                stack[top, 1] = u
    return count


def inside(points, polygon, found):
    m = polygon.shape[0]
    for p in range(points.shape[0]):
        c = False
        j = m - 1
        for i in range(m):
            if (polygon[i, 1] > points[p, 1]) != (polygon[j, 1] > points[p, 1]):
                at = (polygon[j, 0] - polygon[i, 0]) * (points[p, 1] - polygon[i, 1])
                if points[p, 0] < at / (polygon[j, 1] - polygon[i, 1]) + polygon[i, 0]:
                    c = not c
            j = i
        found[p] = c


def between(x, table, out):
    for i in range(x.shape[0]):
        k = int(np.floor(x[i]))
        if 0 <= k < table.shape[0] - 1:
            f = x[i] - k
            out[i] = table[k] * (1 - f) + table[k + 1] * f


def relaxed(start, end, w, d):
    for _ in range(d.shape[0]):
        changed = False
        for e in range(start.shape[0]):
            if d[start[e]] + w[e] < d[end[e]]:
                d[end[e]] = d[start[e]] + w[e]
                changed = True
        if not changed:
            break


def taken(x: po.f64["N"], at: po.i64["K"], out: po.f64["K"]):
    for i in range(at.shape[0]):
        out[i] = 2.0 * x[at[i]]


CASES = [
    (scattered, (RNG.integers(-6, 6, 40), RNG.normal(size=40), np.zeros(6))),
    (scattered, (np.zeros(0, np.int64), np.zeros(0), np.zeros(0))),
    (runs, (np.repeat([3, 1, 4, 1], [2, 1, 5, 3]), np.zeros(4, int), np.zeros(4, int))),
    (runs, (np.zeros(0, int), np.zeros(0, int), np.zeros(0, int))),
    (filled, ((RNG.uniform(size=(9, 8)) < 0.7).astype(int), np.zeros((99, 2), int), 3, 3)),
    (inside, (RNG.uniform(size=(30, 2)), RNG.uniform(size=(7, 2)), np.zeros(30, bool))),
    (between, (RNG.uniform(-3, 12, 50), RNG.normal(size=9), np.zeros(50))),
    (between, (RNG.uniform(-3, 12, 5), np.zeros(0), np.zeros(5))),
    (
        relaxed,
        (*EDGES, np.arange(5.0)),
    ),
]
OUTSIDE = [
    (scattered, (np.array([0, -6, 2, 6, 1]), np.ones(5), np.zeros(6))),
    (scattered, (np.array([0, -7, 2]), np.ones(3), np.zeros(6))),
    (scattered, (np.array([0, 2**62, -(2**63)]), np.ones(3), np.zeros(6))),
    (runs, (np.array([1, 2, 3]), np.zeros(2, int), np.zeros(3, int))),
    (filled, (np.ones((5, 5), int), np.zeros((3, 2), int), 2, 2)),
    (relaxed, (np.array([0, 9]), np.array([1, 0]), np.ones(2), np.arange(4.0))),
]


def copies(args):
    return [arg.copy() if isinstance(arg, np.ndarray) else arg for arg in args]


@pytest.mark.toolchain
@pytest.mark.parametrize("fp", ["strict", "reassociate"])
@pytest.mark.parametrize(("func", "args"), CASES)
def test_results_are_those_of_python(func, args, fp):
    mine, own = copies(args), copies(args)
    assert po.kernel(fp=fp)(func)(*mine) == func(*own)
    for one, two in zip(mine, own, strict=True):
        np.testing.assert_allclose(one, two, rtol=0 if fp == "strict" else 1e-12)


@pytest.mark.toolchain
@pytest.mark.parametrize(("func", "args"), OUTSIDE)
def test_what_was_done_before_a_fault_is_what_python_did(func, args):
    mine, own = copies(args), copies(args)
    with pytest.raises(IndexError):
        func(*own)
    with pytest.raises(IndexError):
        po.kernel(func)(*mine)
    for one, two in zip(mine, own, strict=True):
        np.testing.assert_array_equal(one, two)


@pytest.mark.toolchain
@pytest.mark.parametrize(("func", "args"), CASES[::2])
def test_subscripts_are_tested_and_then_used_as_they_are(func, args):
    text = po.kernel(threads=1)(func).compile(*args).source
    body = text[text.index(f"int polyopt_{func.__name__}") :]
    assert not re.search(r"\[[^]]*po_m(in|ax)\(", body), body
    assert "po_status" not in body or "faults_" not in body or func is not scattered


@pytest.mark.toolchain
def test_what_one_condition_is_around_stands_together():
    text = po.kernel(threads=1)(filled).compile(*CASES[4][1]).source
    assert len(re.findall(r"if \(cond_\w*(\[d\])?\) \{", text)) == 1


@pytest.mark.toolchain
def test_the_other_side_of_a_condition_stands_behind_else():
    def bisected(x, at, out):
        for i in range(at.shape[0]):
            low = 0
            high = x.shape[0]
            while low < high:
                middle = (low + high) // 2
                if x[middle] <= at[i]:
                    low = middle + 1
                else:
                    high = middle
            out[i] = low

    args = np.sort(RNG.normal(size=20)), RNG.normal(size=9), np.zeros(9, int)
    kernel = po.kernel(threads=1)(bisected)
    kernel(*args)
    assert (args[2] == np.searchsorted(args[0], args[1], side="right")).all()
    assert "} else {" in kernel.compile(*args).source.split("while (")[1]


@pytest.mark.toolchain
def test_functions_of_elements_that_data_choose_stay_in_lanes():
    def decayed(x, at, out):
        for i in range(at.shape[0]):
            out[i] = math.exp(-x[at[i]])

    args = RNG.normal(size=20), RNG.integers(-20, 20, 50), np.zeros(50)
    text = po.kernel(threads=1)(decayed).compile(*args).source
    loop = text[text.index("int polyopt_") :]
    assert "bad_ = bad_ |" in loop
    assert "at_at_" not in loop


def test_loops_that_use_subscripts_as_they_are_are_not_trusted():
    program = program_of(taken)
    (target,) = {s.target.array for s in program.scop.statements} - {"faults"}
    (reader,) = [s for s in program.scop.statements if s.target.array == target]
    kept = (Assign(reader.target, reader.value, reader.name),)
    (access,) = [load for load in loads(reader.value) if load.array == "x"]
    (index,) = access.index
    assert isinstance(index, Binary)
    plain = rewrite(reader.value, lambda e: index.left.left if e == index else None)
    assert not used_untested(program, kept, "x")
    assert used_untested(program, (Assign(reader.target, plain, reader.name),), "x")


def longest(a, b, t):
    for i in range(a.shape[0]):
        for j in range(b.shape[0]):
            if a[i] == b[j]:
                t[i + 1, j + 1] = t[i, j] + 1
            else:
                t[i + 1, j + 1] = max(t[i, j + 1], t[i + 1, j])


def ordered(x, y, out):
    for i in range(1, x.shape[0]):
        if x[i] < y[i]:
            out[i] = out[i - 1] + 1
        elif x[i] >= y[i]:
            out[i] = out[i - 1] - 1


@pytest.mark.toolchain
def test_what_happens_otherwise_tests_nothing_again():
    args = RNG.integers(0, 3, 12), RNG.integers(0, 3, 9), np.zeros((13, 10), np.int64)
    text = po.kernel(threads=1)(longest).compile(*args).source
    assert "} else {" in text
    assert "!= b[" not in text
    mine, other = np.zeros((13, 10), np.int64), np.zeros((13, 10), np.int64)
    po.kernel(threads=1)(longest)(*args[:2], mine)
    longest(*args[:2], other)
    np.testing.assert_array_equal(mine, other)


@pytest.mark.toolchain
def test_nan_is_neither_below_nor_above():
    x, y = np.array([0.0, 1.0, np.nan, 3.0, 2.0]), np.array([0.0, 2.0, 1.0, np.nan, 1.0])
    mine, other = np.zeros(5), np.zeros(5)
    po.kernel(threads=1)(ordered)(x, y, mine)
    ordered(x, y, other)
    np.testing.assert_array_equal(mine, other)


def distances(a, b, out):
    for i in range(a.shape[0]):
        for j in range(b.shape[0]):
            s = 0
            for k in range(a.shape[1]):
                v = a[i, k] ^ b[j, k]
                v = v - ((v >> np.uint64(1)) & np.uint64(0x5555555555555555))
                v = (v & np.uint64(0x3333333333333333)) + (v >> np.uint64(2))
                s += np.int64(v & np.uint64(7))
            out[i, j] = s


def pulled(centers, others, u, v):
    for i in range(centers.shape[0]):
        c = centers[i]
        for s in range(others.shape[1]):
            o = others[i, s]
            dot = 0.0
            for k in range(u.shape[1]):
                dot += u[c, k] * v[o, k]
            for k in range(u.shape[1]):
                v[o, k] += dot * u[c, k]
        for k in range(u.shape[1]):
            u[c, k] += 1.0


@pytest.mark.toolchain
def test_numbers_of_any_type_need_no_array_between_loops():
    numbers = RNG.integers(0, 2**60, (4, 5), dtype=np.uint64)
    args = numbers, numbers[:3].copy(), np.zeros((4, 3), np.int64)
    kernel = po.kernel(threads=1, fp="reassociate")(distances)
    assert "po_alloc(" not in kernel.compile(*args).source.split("int polyopt_")[1]
    wanted = np.zeros((4, 3), np.int64)
    distances(*args[:2], wanted)
    kernel(*args)
    np.testing.assert_array_equal(args[2], wanted)


@pytest.mark.toolchain
def test_rows_that_data_choose_are_tested_before_their_loops():
    args = RNG.integers(0, 4, 6), RNG.integers(0, 5, (6, 2)), np.ones((4, 3)), np.ones((5, 3))
    text = po.kernel(threads=1)(pulled).compile(*args).source.split("int polyopt_")[1]
    assert "faults_" not in text
    assert "po_max(" not in text
