"""The second reader: what its fingerprints tell apart, and every workload read twice."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import polyopt as po
from polyopt.frontend import build
from polyopt.frontend.syntax.type_inference import infer_types
from tests.reader.algebra import Algebra
from tests.reader.cases import read_samples, readings, workload_forms
from tests.reader.reading import Verdict

# ruff: noqa: F821 - sizes are named by strings

FORMS = list(workload_forms())
UNREAD = frozenset(["lenet"])  # sizes that no draw finds
F64, F32, I32 = np.dtype(float), np.dtype(np.float32), np.dtype(np.int32)


def fingerprint(algebra: Algebra, name: str, kind: Any, *leaves: str) -> int:
    operands = [(algebra.leaf(leaf, kind), kind, 1.5) for leaf in leaves]
    return algebra.operation(name, kind, operands, 2.5)


def test_sums_commute_and_differences_do_not() -> None:
    algebra = Algebra()
    assert fingerprint(algebra, "+", F64, "a", "b") == fingerprint(algebra, "+", F64, "b", "a")
    assert fingerprint(algebra, "-", F64, "a", "b") != fingerprint(algebra, "-", F64, "b", "a")


def test_types_tell_terms_apart() -> None:
    algebra = Algebra()
    assert fingerprint(algebra, "+", F64, "a", "b") != fingerprint(algebra, "+", F32, "a", "b")
    a, b = (algebra.leaf(name, F32) for name in "ab")
    total = algebra.operation("+", F32, [(a, F32, 1.5), (b, F32, 1.0)], 2.5)
    late = algebra.cast(total, F32, F64, 2.5, 2.5)
    early = [(algebra.cast(x, F32, F64, n, n), F64, n) for x, n in ((a, 1.5), (b, 1.0))]
    assert late != algebra.operation("+", F64, early, 2.5)
    assert algebra.cast(late, F64, F32, 2.5, 2.5) == total


def test_quotients_are_products_with_the_reciprocal() -> None:
    algebra = Algebra()
    a, b = (algebra.leaf(name, F64) for name in "ab")
    one = algebra.constant(1.0, F64)
    inverse = algebra.operation("/", F64, [(one, F64, 1.0), (b, F64, 2.0)], 0.5)
    quotient = algebra.operation("/", F64, [(a, F64, 1.5), (b, F64, 2.0)], 0.75)
    assert quotient == algebra.operation("*", F64, [(a, F64, 1.5), (inverse, F64, 0.5)], 0.75)


def test_integers_wrap() -> None:
    algebra = Algebra()
    a = algebra.leaf("a", I32) & (2**32 - 1)
    minus = algebra.operation("neg", I32, [(a, I32, 5)], -5)
    assert algebra.operation("+", I32, [(a, I32, 5), (minus, I32, -5)], 0) == 0


def views(x: po.f64["N,M"]):
    y = x[:, ::-1]
    y[0] += x[0]
    return y.T[1:]


def choices(x: po.f64["N"], n: int):
    total = 0.0
    for v in x:
        total += v if v > n else -v
    return total, np.where(x < n, x, 2.0 * x)


def widths(x: po.f32["N"], k: po.i32["N"]):
    return x * 2.0 + np.sum(k), k // 3


def endings(x: po.f64["N"]):
    for i in range(len(x)):
        if x[i] > 1.0:
            break
    else:
        return -1
    return i


def kept(x: po.f64["N"], n: int):
    found = [v * q for v in x if v > 1.0 for q in range(n) if q % 2]
    total = 0.0
    for v in reversed(x):
        total = 2.0 * total + v
    for t in (1, 2.5):
        if x[0] > t:
            break
        total += t
    return total, sum(found, 0.0), len(found)


def rebound(x: po.f64["N"], n: int):
    for i in range(n):
        if x[0] > i:
            x = x * 2.0
        x[0] += i
    return x


@pytest.mark.parametrize("function", [views, choices, widths, endings, kept, rebound])
def test_two_readings_agree(function: Callable[..., Any]) -> None:
    types = infer_types(function)
    found = read_samples(function, build(function, types), types, count=8)
    assert found.verdict is Verdict.EQUAL, found.text


def test_another_function_is_told_apart() -> None:
    types = infer_types(views)

    def other(x: Any) -> Any:
        y = x[:, ::-1]
        y[0] += y[0]
        return y.T[1:]

    assert read_samples(other, build(views, types), types).verdict is Verdict.UNEQUAL


def test_what_is_not_read_is_said() -> None:
    def printed(x: Any) -> Any:
        return np.polyfit(x, x, 1)

    types = infer_types(widths)
    found = read_samples(lambda x, k: printed(x), build(widths, types), types)
    assert found.verdict is Verdict.UNREAD
    assert "polyfit" in found.text


@pytest.mark.matrix
@pytest.mark.parametrize("name, form, function", FORMS, ids=[f"{n}-{f}" for n, f, _ in FORMS])
def test_every_form_of_a_workload_is_read_twice(
    name: str, form: str, function: Callable[..., Any]
) -> None:
    found = readings(name, form, function)
    wanted = Verdict.UNREAD if name in UNREAD else Verdict.EQUAL
    assert found.verdict is wanted, found.text
