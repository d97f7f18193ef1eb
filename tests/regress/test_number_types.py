"""Names keep the type and the value of each number they hold, whatever loops and branches do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from polyopt.errors import PolyoptError
from tests.unit.frontend.harness import agree, compiled, run_program

X = np.array([1.5, 2.0, 3.0, 3.0])


def for_after_for(x, n: int):
    s = 0
    for i in range(n):
        s += x[i]
    for _ in range(n):
        s += 1
    return s


def while_after_while(x, n: int):
    s = 0
    k = 0
    while k < n:
        s += x[k]
        k += 1
    k = 0
    while k < n:
        s += 1
        k += 1
    return s


def branch_after_for(x, n: int):
    s = 0
    for i in range(n):
        s += x[i]
    if x[0] != 0:
        s = s + 1
    return s


def for_after_branch(x, n: int):
    s = 1
    if x[0] != 0:
        s = x[1]
    for _ in range(n):
        s = s * 2
    return s


def loop_in_loop(x, n: int):
    s = 0
    t = 0
    for i in range(n):
        for _ in range(2):
            t += s
        s = s + x[i]
    return s, t


def early_result(x, n: int):
    s = 0
    for i in range(n):
        s += x[i]
    for i in range(n):
        if x[i] == 3:
            return s
        s += 1
    return s


def _added(s, n: int):
    for _ in range(n):
        s += 1
    return s


def in_a_helper(x, n: int):
    s = 0
    for i in range(n):
        s += x[i]
    return _added(s, n), _added(0, n)


@pytest.mark.parametrize("kind", ["float64", "float32", "complex128", "complex64"])
@pytest.mark.parametrize(
    "program",
    [for_after_for, while_after_while, branch_after_for, for_after_branch, loop_in_loop,
     early_result, in_a_helper],
)  # fmt: skip
def test_a_number_stays_as_wide_as_an_earlier_loop_made_it(
    program: Callable[..., Any], kind: str
) -> None:
    agree(program, X.astype(kind) * (1 + 2j if kind.startswith("c") else 1), 4)


def integers_that_become_floats(x, n: int):
    a = np.zeros(4, np.int64)
    for _ in range(n):
        a = a + x
    return a + 1


def floats_that_become_integers(x, n: int):
    a = x
    for _ in range(n):
        a = np.arange(4)
    return a + np.arange(4)


def flags_that_become_integers(x, n: int):
    a = x > 2
    for _ in range(n):
        a = a + 1
    return a


@pytest.mark.parametrize(
    "program",
    [integers_that_become_floats, floats_that_become_integers, flags_that_become_integers],
)
def test_arrays_of_several_types_are_refused(program: Callable[..., Any]) -> None:
    with pytest.raises(PolyoptError, match="PO0161"):
        compiled(program, X, 3)


def test_a_growing_list_is_as_wide_as_the_items_it_starts_with() -> None:
    def program(x, n: int):
        items = [0.5]
        for i in range(n):
            if x[i] != 2:
                items.append(i)
        return np.array(items)

    agree(program, X, 4)


def test_branches_keep_the_sign_of_zero() -> None:
    def program(x):
        if x[0] > 0:  # noqa: SIM108  the statement is what is tested
            s = 0.0
        else:
            s = -0.0
        return np.copysign(1.0, s)

    agree(program, X)
    agree(program, -X)


# -- numbers of one type on some paths and of another on others --------------------------------


def extremes(x, n: int):
    a = min(x[0], -1)
    b = max(x[0], 0)
    return a * 0, b * -2, -b, a // 2, b * n, max(0, x[1]) * -0.5


def conditionals(x, n: int):
    a = x[0] if x[1] > 0 else 0
    b = (x[0] > 2 and 0) * -1
    return a * -1, a // 3, b, -a * n


def branches(c: float, n: int):
    k = 0 if c > 0 else 2.5
    if c > 1:  # noqa: SIM108
        m = n
    else:
        m = 1.5
    return k * -1, m // 2, m * n, k - m


@pytest.mark.parametrize("first", [3, -7, 0])
@pytest.mark.parametrize("kind", ["float64", "float32", "int64", "int8"])
@pytest.mark.parametrize("program", [extremes, conditionals])
def test_operators_see_which_number_it_is(
    program: Callable[..., Any], kind: str, first: int
) -> None:
    x = np.array([first, 2], kind)
    alike(program, x, 5)
    alike(program, -x, 5)


@pytest.mark.parametrize("value", [2.0, 1.0, -1.0])
def test_operators_see_which_branch_was_taken(value: float) -> None:
    alike(branches, value, 7)


def alike(program: Callable[..., Any], *args: Any) -> None:
    """Compare values and signs of zero: one type stands for the two that Python has."""
    found, wanted = run_program(compiled(program, *args), args), program(*args)
    for mine, other in zip(found, wanted, strict=True):
        assert mine == other
        assert np.signbit(mine) == np.signbit(other)


def picked(x, n: int):
    return n if x[0] > 0 else x[1]


def carried(x, n: int):
    s = x.size * n
    for i in range(2):
        if x[i] < 0:
            s = x[i]
    return s


def counted(x, n: int):
    k = 0
    while k < n:
        k += 1
    return max(k, x[1])


@pytest.mark.parametrize("program", [picked, carried, counted])
def test_an_integer_that_does_not_fit_the_type_of_other_paths_is_refused(
    program: Callable[..., Any],
) -> None:
    x = np.array([1, -2], np.int8)
    assert run_program(compiled(program, x, 5), (x, 5)) == program(x, 5)
    with pytest.raises(PolyoptError) as caught:
        run_program(compiled(program, x, 300), (x, 300))
    assert caught.value.code in ("PO0176", "PO0234")


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_integers_of_several_widths_are_refused() -> None:
    def program(x, y):
        s = x[0]
        for i in range(2):
            s = s * s + y[i]
        return s

    with pytest.raises(PolyoptError) as caught:
        compiled(program, np.array([100], np.int8), np.array([1, 2], np.int16))
    assert caught.value.code == "PO0161"


# -- variables that hold numbers of several types -----------------------------------------------


def floor_of_a_total(x, n: int):
    s = 0
    for i in range(n):
        s += x[i]
    return -(s // 3), s % 5, s / 4, (s + 1) * -1 + 1


def begun_again(x, n: int):
    s = 1.5
    for i in range(n):
        t, s = s, 0
        s -= x[i]
        x[i] = t
    return -s


def halved(x, n: int):
    k = 7
    for i in range(n):
        if x[i] > 1.6:
            k = k * 0.5
        x[i] = k // 2
    return -(k - 7)


def stored_in_a_branch(x, n: int):
    s = 0.5
    if x[0] > 1:
        s = 2
    y = s * 3
    return -(y - 6) * 0


def three_types(x, n: int):
    s = 0
    for i in range(n):
        if x[i] > 1:
            s = i
        elif x[i] < 0:
            s = x[i]
        else:
            s = 2.5
        x[i] = s // 2 + -(s * 0)
    return s // 2


@pytest.mark.parametrize("n", [0, 1, 3])
@pytest.mark.parametrize("kind", ["float64", "float32"])
@pytest.mark.parametrize(
    "program", [floor_of_a_total, begun_again, halved, stored_in_a_branch, three_types]
)
def test_operators_see_what_a_variable_holds(
    program: Callable[..., Any], kind: str, n: int
) -> None:
    x = np.array([1.5, 2, -3], kind)
    for data in (x, -x, x * 0):
        mine, theirs = data.copy(), data.copy()
        found = run_program(compiled(program, mine, n), (mine, n))
        for one, other in ((found, program(theirs, n)), (mine, theirs)):
            assert np.array_equal(one, other, equal_nan=True)
            assert np.array_equal(np.signbit(one), np.signbit(other))


def test_floats_of_python_keep_their_digits_beside_single_precision() -> None:
    def scaled(x, out, y: float, n: int):
        for i in range(n):
            out[i] = y
            y = y * x[i]
        return y

    def chosen(x, out, y: float, n: int):
        z = x[0] if n > 2 else 0.1
        out[0] = z
        return z

    def first(x, out, y: float, n: int):
        s = 0.1
        for i in range(n):
            s = x[i]
        out[0] = s
        return s

    x = np.array([1.1, 2.3, -3.7], np.float32)
    for program in (scaled, chosen, first):
        for n in (0, 1, 3):
            mine, theirs = np.zeros(3), np.zeros(3)
            found = run_program(compiled(program, x, mine, 3.814, n), (x, mine, 3.814, n))
            assert float(found) == float(program(x, theirs, 3.814, n))
            assert np.array_equal(mine, theirs)


def test_arrays_beside_numbers_of_several_types() -> None:
    def program(a, x, n: int):
        k = np.int64(1)
        for _ in range(n):
            k = 1
        return a - k

    a = np.array([1.857], np.float32)
    agree(program, a, X, 0)
    with pytest.raises(PolyoptError, match="PO0161"):
        run_program(compiled(program, a, X, 2), (a, X, 2))


def test_updates_in_place_by_numbers_of_several_types() -> None:
    def program(a, x, n: int):
        for _ in range(n):
            a *= x
            x += np.argmax(a)

    a = np.array([4.0, 0.0, 0.137], np.float32)
    with pytest.raises(PolyoptError, match="PO0161"):
        run_program(compiled(program, a, -0.311, 1), (a, -0.311, 1))
    agree(program, a, np.float64(-0.311), 2)


def test_accumulations_have_no_tags() -> None:
    def program(x, n: int):
        s = 0
        c = 0
        for i in range(n):
            s += x[i]
            if s > 3:
                c += 1
        mean = s / n
        return mean, s * 2 + 1, c, s - 1

    for kind in ("float64", "float32"):
        text = str(compiled(program, X.astype(kind), 4))
        assert "_type" not in text
        agree(program, X.astype(kind), 4)


def largest(x, y, alpha: float):
    m = -np.inf
    for i in range(len(x)):
        m = max(m, x[i])
    return np.exp(x - m), x / np.exp(m), m * 2, np.sqrt(m)


def shares(x, y, alpha: float):
    m = x[0]
    for i in range(1, len(x)):
        if x[i] > m:
            m = x[i]
    total = 0.0
    for i in range(len(x)):
        y[i] = np.exp(x[i] - m)
        total += y[i]
    return y / total, np.log(total), m + np.log(total)


def mean_and_spread(x, y, alpha: float):
    mean = 0.0
    spread = 0.0
    count = 0
    for i in range(len(x)):
        count += 1
        delta = x[i] - mean
        mean += delta / count
        spread += delta * (x[i] - mean)
    return mean, spread / (count - 1), np.sqrt(spread / count), x / np.sqrt(spread)


def smoothed(x, y, alpha: float):
    last = x[0]
    for i in range(len(x)):
        last = alpha * x[i] + (1 - alpha) * last
        y[i] = last
    return last, last**2, y * last


def best(x, y, alpha: float):
    where = -1
    value = np.inf
    for i in range(len(x)):
        distance = abs(x[i] - alpha)
        if distance < value:
            value = distance
            where = i
    return where, value, value / 2, y - value


def differences(x, y, alpha: float):
    before = 0.0
    for i in range(len(x)):
        y[i] = x[i] - before
        before = x[i]
    return before, before * 0.5


def steps(x, y, alpha: float):
    rate = 0.1
    t = 0.0
    for i in range(len(x)):
        y[i] = x[i] - rate * x[i]
        rate = rate * 0.9
        t += alpha
    return rate, t, y * rate


def product(x, y, alpha: float):
    p = 1
    for i in range(len(x)):
        p *= x[i]
    q = 1.0
    for i in range(len(x)):
        q = q * alpha + x[i]
    return p, p**0.5, q, y * p, np.log(p) + q


def compensated(x, y, alpha: float):
    s = 0.0
    c = 0.0
    for i in range(len(x)):
        v = x[i] - c
        t = s + v
        c = (t - s) - v
        s = t
    return s, s / len(x), -s


def norm(x, y, alpha: float):
    s = 0
    for i in range(len(x)):
        s += x[i] * x[i]
    r = np.sqrt(s) if s > 0 else 1.0
    return r, x / r, s**0.5, x * (1 / r)


ORDINARY = [
    largest, shares, mean_and_spread, smoothed, best, differences, steps, product, compensated,
    norm,
]  # fmt: skip


@pytest.mark.parametrize("kind", ["float32", "float64"])
@pytest.mark.parametrize("program", ORDINARY)
def test_ordinary_loops_keep_the_type_of_their_arrays(
    program: Callable[..., Any], kind: str
) -> None:
    x = np.array([1.1, 2.7, 0.3, 5.9, 4.1], kind)
    mine, theirs = np.zeros_like(x), np.zeros_like(x)
    read = compiled(program, x, mine, 0.3)
    assert "_type" not in str(read)
    got, want = run_program(read, (x, mine, 0.3)), program(x, theirs, 0.3)
    for one, other in zip((*got, mine), (*want, theirs), strict=True):
        one, other = np.asarray(one), np.asarray(other)
        assert one.dtype == other.dtype
        np.testing.assert_allclose(one, other, rtol=1e-5)
