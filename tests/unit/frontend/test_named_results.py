"""Results in named tuples, dicts and objects of dataclasses come back as such."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

import polyopt as po
from polyopt.ir.interp import run_program
from tests.unit.frontend.harness import compiled as program_of


class Pair(NamedTuple):
    x: Any
    y: Any


class Other(NamedTuple):
    u: Any
    v: Any


@dataclass(frozen=True)
class Point:
    x: Any
    y: Any


def pair(a):
    return Pair(a + 1.0, np.sum(a))


def by_size(a):
    if a.shape[0] > 3:
        return Pair(a, 1.0)
    return Other(a, 2.0)


def beside(a):
    return [Pair(a, Pair(2.0 * a, None)), (3, {"x": a[0]})]


def point(a):
    return Point(y=a[1:], x=a[0])


def entries(a):
    return {"longer": a + 1.0, "a sum": (np.sum(a), {"half": 0.5})}


def made(a):
    return dict(one=a[0], two=a[1])  # noqa: C408


def helper(a):
    return {"x": a + 1.0, "y": np.sum(a)}


def used(a):
    found = helper(a)
    return {"z": found["x"] * found["y"]}


def by_value(a):
    if a[0] > 1.0:
        return {"x": a[0], "y": 2.0 * a}
    return {"x": -1.0, "y": a}


def first_above(a):
    for i in range(a.shape[0]):
        if a[i] > 1.0:
            return {"place": i, "value": a[i]}
    return {"place": -1, "value": 0.0}


def argument(a):
    return {"same": a, "again": a}


PROGRAMS = [pair, by_size, beside, point, entries, made, used, by_value, first_above, argument]


def same(mine: Any, other: Any) -> bool:
    """Whether two values are alike, as are the types that hold their parts."""
    if isinstance(other, dict):
        return list(mine) == list(other) and all(same(mine[key], other[key]) for key in other)
    if isinstance(other, tuple | list):
        return type(mine) is type(other) and all(
            same(one, two) for one, two in zip(mine, other, strict=True)
        )
    if isinstance(other, Point):
        return type(mine) is Point and same(vars(mine), vars(other))
    return bool(np.array_equal(mine, other)) if other is not None else mine is None


@pytest.mark.parametrize("size", [3, 5])
@pytest.mark.parametrize("function", [one for one in PROGRAMS if one is not by_size])
def test_the_interpreter_returns_what_the_function_does(function, size) -> None:
    a = np.arange(float(size))
    assert same(run_program(program_of(function, a), (a,)), function(a))


@pytest.mark.toolchain
@pytest.mark.parametrize("ctypes", [False, True])
@pytest.mark.parametrize("function", PROGRAMS)
def test_kernels_return_what_the_function_does(function, ctypes, monkeypatch) -> None:
    monkeypatch.setenv("POLYOPT_FORCE_CTYPES", str(int(ctypes)))
    kernel = po.kernel(function)
    for size in (3, 5, 3):
        a = np.arange(float(size))
        assert same(kernel(a), function(a))


@pytest.mark.toolchain
def test_compiled_saved_and_pickled_kernels_do_too(tmp_path) -> None:
    a = np.arange(4.0)
    for function in (pair, entries, point):
        compiled = po.kernel(function).compile(a)
        compiled.save(tmp_path / "kernel.po")
        for one in (po.load(tmp_path / "kernel.po"), pickle.loads(pickle.dumps(compiled))):
            assert same(one(a), function(a))
        compiled.verify().raise_mismatch()
        assert all(one.holds for one in compiled.compare(a))


@pytest.mark.toolchain
def test_arguments_in_results_are_those_of_the_caller() -> None:
    given = memoryview(np.arange(3.0))
    found = po.kernel(argument)(given)
    assert found["same"] is found["again"] is given
    assert type(po.kernel(pair)(given)) is Pair


@pytest.mark.toolchain
def test_arguments_of_a_class_give_results_of_it() -> None:
    def longer(p: Any) -> Any:
        return Point(p.x + 1.0, p.y)

    given = Point(np.arange(3.0), np.arange(2.0))
    assert same(po.kernel(longer)(given), longer(given))


def local_class() -> tuple[type, Callable[..., Any]]:
    class Local(NamedTuple):
        x: Any

    def makes(a):
        return Local(a[0])

    return Local, makes


@pytest.mark.toolchain
def test_a_class_that_no_name_finds_leaves_the_tuple() -> None:
    _, makes = local_class()
    found = po.kernel(makes)(np.arange(3.0))
    assert type(found) is tuple
    assert found == makes(np.arange(3.0))


@pytest.mark.toolchain
def test_a_class_that_changed_leaves_the_tuple(monkeypatch) -> None:
    signature = po.kernel(pair).compile(np.arange(3.0)).signature
    monkeypatch.setitem(globals(), "Pair", Other)
    assert type(signature.returned((1, 2))) is tuple
