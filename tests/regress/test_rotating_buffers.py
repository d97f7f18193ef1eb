"""Array names that change places in loops: double, triple and further buffering."""

# ruff: noqa: F821, UP037 - sizes are named by strings
from __future__ import annotations

import numpy as np
import pytest

import polyopt as po
from polyopt.frontend import build, infer_types
from polyopt.machine import Machine
from polyopt.strategy import auto_schedule
from tests.unit.frontend.harness import agree


def two(a, b, n):
    for _ in range(n):
        b[1:-1] = 0.5 * a[1:-1] + 0.25 * (a[:-2] + a[2:])
        a, b = b, a
    return a, a - 2 * b


def two_as_elements(a, b, n):
    for _ in range(n):
        for i in range(1, a.shape[0] - 1):
            b[i] = a[i - 1] - a[i + 1]
        a, b = b, a
    return 2 * a - b


def three(past, now, new, n):
    for _ in range(n):
        new[1:-1] = 2 * now[1:-1] - past[1:-1] + 0.1 * (now[2:] - 2 * now[1:-1] + now[:-2])
        past, now, new = now, new, past
    return past, now, new


def four(a, b, c, d, n):
    for _ in range(n):
        d[1:-1] = a[:-2] + 0.5 * b[1:-1] - c[2:]
        a, b, c, d = b, c, d, a
    return b - d


def two_of_three(a, b, c, n):
    for _ in range(n):
        b[1:-1] = a[:-2] + c[2:]
        c[0] += b[1]
        a, b = b, a
    return a, b, c


def two_and_three(a, b, x, y, z, n):
    for t in range(n):
        b[1:-1] = a[:-2] + t * a[2:]
        y[1:-1] = 0.5 * x[1:-1] - z[:-2] + b[2:]
        a, b = b, a
        x, y, z = y, z, x
    return a, b, x, y, z


def counted(a, b, n):
    k = 3
    for t in range(n):
        b[1:-1] = a[:-2] + t * a[2:] - k
        a, b = b, a
        k += 2
    return a, k


def downwards(a, b, n):
    for t in range(n, -1, -3):
        b[1:-1] = a[:-2] + t * a[2:]
        a, b = b, a
    return a


def strides_and_last_value(a, b, n):
    t = -1
    for t in range(2, 2 * n, 3):
        b[1:-1] = a[:-2] + t * a[2:]
        a, b = b, a
    return a, t


def items(a, b, n):
    for x in a[:n] * 2:
        b[1:-1] = x * a[:-2]
        a, b = b, a
    return b


def shrinking(a, b, n):
    for t in range(n):
        for i in range(t, a.shape[0]):
            b[i] = a[a.shape[0] - 1 - i] + t
        a, b = b, a
    return a


def within(a, b, n):
    for _ in range(n):
        for _ in range(3):
            b[1:-1] = 0.5 * (a[:-2] + a[2:])
            a, b = b, a
        a[0] += 1
    return a - 2 * b


def twice_within(a, b, n):
    for _ in range(n):
        for _ in range(2):
            b[1:-1] = 0.5 * (a[:-2] + a[2:])
            a, b = b, a
        a, b = b, a
        a[0] += 1
    return a - 2 * b


def undone_within(a, b, n):
    for _ in range(n):
        for _ in range(3):
            b[1:-1] = 0.5 * (a[:-2] + a[2:])
            a, b = b, a
        a, b = b, a
        a[0] += 1
    return a - 2 * b


def growing_within(a, b, n):
    for i in range(n):
        for _ in range(i):
            a, b = b, a
    return a - 2 * b


COUNTS = [
    (two, 2), (two_as_elements, 2), (three, 3), (four, 4), (two_of_three, 3), (two_and_three, 5),
    (counted, 2), (downwards, 2), (strides_and_last_value, 2), (items, 2), (shrinking, 2),
    (within, 2), (twice_within, 2), (undone_within, 2), (growing_within, 2),
]  # fmt: skip


@pytest.mark.parametrize(("function", "arrays"), COUNTS)
@pytest.mark.parametrize("trips", [0, 1, 2, 3, 4, 5, 7])
def test_rotation_equals_python(function, arrays, trips) -> None:
    given = np.random.default_rng(0)
    agree(function, *(given.standard_normal(8) for _ in range(arrays)), trips)


def until_small(a, b, n):
    turns, change = 0, 1.0
    while change > 1e-9 and turns < n:
        change = 0.0
        for i in range(1, a.shape[0] - 1):
            b[i] = 0.5 * (a[i - 1] + a[i + 1])
            change = max(change, abs(b[i] - a[i]))
        a, b = b, a
        turns += 1
    return turns, change, a, a - 2 * b


def three_in_turn(a, b, c, n):
    k = 0
    while k < n:
        c[1:] = a[:-1] + 0.5 * b[1:]
        if c[2] > 1:
            c[2] -= 1
            k += 1
        a, b, c = c, a, b
        k += 1
    return b - c


def left_after_the_exchange(a, b, n):
    k = 0
    for k in range(n):
        b[1:-1] = 0.5 * (a[:-2] + a[2:]) + k
        a, b = b, a
        if a[3] > b[4]:
            break
    return k, a


def returned_from_within(a, b, n):
    for k in range(n):
        b[1:] = a[:-1] - k
        a, b = b, a
        if a[3] < -2:
            return a - 2 * b
    return b


def local_in_a_loop(a, b, n):
    for t in range(n):
        c, d = a.copy(), b.copy()
        k = 0
        while k < t:
            d[1:] = c[:-1] * 0.5 + t
            c, d = d, c
            k += 1
        a[:] = c
    return a


def merged_upwards(a, b, n):
    width = 1
    while width < a.shape[0]:
        for low in range(0, a.shape[0], 2 * width):
            i, j = low, min(low + width, a.shape[0])
            for k in range(low, min(low + 2 * width, a.shape[0])):
                if i < low + width and (j >= min(low + 2 * width, a.shape[0]) or a[i] <= a[j]):
                    b[k] = a[i]
                    i += 1
                else:
                    b[k] = a[j]
                    j += 1
        a, b = b, a
        width *= 2
    return a


def assigned_within_and_read_after(a, b, n):
    k = 0
    while True:
        last = a[1] + k
        a, b = b, a
        k += 1
        if k > n:
            break
    return last


FOUND = [
    (until_small, 2), (three_in_turn, 3), (left_after_the_exchange, 2), (returned_from_within, 2),
    (local_in_a_loop, 2), (merged_upwards, 2), (assigned_within_and_read_after, 2),
]  # fmt: skip


@pytest.mark.parametrize(("function", "arrays"), FOUND)
@pytest.mark.parametrize("trips", [0, 1, 2, 3, 4, 5, 8])
def test_exchanges_in_loops_whose_end_the_kernel_finds(function, arrays, trips) -> None:
    given = np.random.default_rng(trips)
    agree(function, *(given.standard_normal(9) for _ in range(arrays)), trips)


@pytest.mark.toolchain
@pytest.mark.parametrize(("function", "arrays"), FOUND)
def test_exchanges_in_such_loops_compile(function, arrays) -> None:
    kernel = po.kernel(function)
    for trips in range(6):
        mine = [np.random.default_rng(trips + 8).standard_normal(64) for _ in range(arrays)]
        theirs = [array.copy() for array in mine]
        found, want = kernel(*mine, trips), function(*theirs, trips)
        for one, other in zip(
            found if isinstance(found, tuple) else [found],
            want if isinstance(want, tuple) else [want],
            strict=True,
        ):
            np.testing.assert_array_equal(one, other)
        np.testing.assert_array_equal(mine, theirs)


def nested(a, b, outer, inner):
    for _ in range(outer):
        for _ in range(inner):
            b[1:-1] = 0.5 * (a[:-2] + a[2:])
            a, b = b, a
        a[0] += 1
    return a - 2 * b


def nested_and_after(a, b, outer, inner):
    for _ in range(outer):
        for _ in range(inner):
            b[1:-1] = 0.5 * (a[:-2] + a[2:])
            a, b = b, a
        a, b = b, a
    return a - 2 * b


def nested_three(a, b, c, outer, inner):
    for _ in range(outer):
        for t in range(inner):
            c[1:-1] = 0.5 * (a[:-2] + b[2:]) - t
            a, b, c = b, c, a
        a[0] += b[1]
    return a - 2 * b + c


@pytest.mark.toolchain
@pytest.mark.parametrize(
    ("function", "arrays"), [(nested, 2), (nested_and_after, 2), (nested_three, 3)]
)
def test_the_call_decides_where_a_loop_within_a_loop_ends(function, arrays) -> None:
    kernel = po.kernel(function)
    given = np.random.default_rng(0)
    for outer, inner in [(0, 0), (1, 0), (1, 1), (2, 1), (1, 2), (2, 3), (3, 3), (3, 2), (4, 5)]:
        mine = [given.standard_normal(8) for _ in range(arrays)]
        theirs = [array.copy() for array in mine]
        np.testing.assert_array_equal(
            kernel(*mine, outer, inner), function(*theirs, outer, inner), strict=True
        )
        np.testing.assert_array_equal(mine, theirs)


def swapped(a: po.f64["N"], b: po.f64["N"], n: int):
    for _ in range(n):
        for i in range(1, a.shape[0] - 1):
            b[i] = 0.5 * (a[i - 1] + a[i + 1])
        a, b = b, a


def paired(a: po.f64["N"], b: po.f64["N"], n: int):
    for t in range((n + 1) // 2):
        for i in range(1, a.shape[0] - 1):
            b[i] = 0.5 * (a[i - 1] + a[i + 1])
        if 2 * t + 1 < n:
            for i in range(1, a.shape[0] - 1):
                a[i] = 0.5 * (b[i - 1] + b[i + 1])


def test_loops_are_scheduled_like_those_of_the_steps_written_in_pairs() -> None:
    machine = Machine(cores=2, vector_bytes=32)
    rotated, written = (build(f, infer_types(f)).scop for f in (swapped, paired))
    assert rotated.statements[1].domain.is_equal(
        written.statements[1].domain.set_tuple_name(rotated.statements[1].name)
    )
    steps = [str(step) for step in auto_schedule(rotated, machine).steps]
    assert any("tile" in step for step in steps)
    assert steps == [str(step) for step in auto_schedule(written, machine).steps]
