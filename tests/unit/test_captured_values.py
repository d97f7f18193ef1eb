"""Values that a function captures are those it has at the call, not those of the first one."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import polyopt as po
from polyopt import compiled as compiled_kernels
from polyopt.errors import UsageError

pytestmark = pytest.mark.toolchain

NUMBER = 2.0
ARRAY = np.array([1.0, 2.0, 3.0])
STRIDED = np.arange(12.0)[1::4]
LIST: list[Any] = [1.0, [2.0], "text"]
TABLE: dict[str, Any] = {"a": 1.0}
MEMBERS = {1, 2}
MODULE = types.ModuleType("settings")
MODULE.scale = 3.0  # type: ignore[attr-defined]


def helper(x, k=1.0):
    return x + k


def other(x, k=1.0):
    return x - k


def number(x):
    return x * NUMBER


def array(x):
    return x * ARRAY[1] + ARRAY[0]


def strided(x):
    return x * STRIDED[2]


def of_list(x):
    return x * LIST[0] + LIST[1][0]


def of_dict(x):
    return x * 2.0 if "a" in TABLE else x


def of_set(x):
    return x * 2.0 if 2 in MEMBERS else x


def calls(x):
    return helper(x)


def of_module(x):
    return x * MODULE.scale


def builtin(x):
    return abs(x)


def closure():
    inside = 2.0

    def func(x):
        return x * inside

    def change(value):
        nonlocal inside
        inside = value

    return func, change


def rebind(name: str, value: object) -> Callable[[], None]:
    return lambda: globals().__setitem__(name, value)


CHANGES: dict[str, tuple[Any, list[Callable[[], object]]]] = {
    "number": (number, [rebind("NUMBER", 5.0), rebind("NUMBER", 5), rebind("NUMBER", -0.0)]),
    "elements": (array, [lambda: ARRAY.__setitem__(1, 100.0), lambda: ARRAY.fill(3.0)]),
    "array": (array, [rebind("ARRAY", np.array([4.0, 5.0])), rebind("ARRAY", np.arange(1, 4))]),
    "strided": (strided, [lambda: STRIDED.__setitem__(2, -1.0)]),
    "list": (of_list, [lambda: LIST.__setitem__(0, 7.0), lambda: LIST[1].__setitem__(0, 8.0)]),
    "dict": (of_dict, [lambda: TABLE.__setitem__("b", 2.0), lambda: TABLE.pop("a")]),
    "set": (of_set, [lambda: MEMBERS.remove(2)]),
    "helper": (calls, [rebind("helper", other)]),
    "default": (calls, [lambda: setattr(helper, "__defaults__", (9.0,))]),
    "code": (calls, [lambda: setattr(helper, "__code__", other.__code__)]),
    "module": (of_module, [lambda: setattr(MODULE, "scale", 4.0)]),
    "builtin": (builtin, [rebind("abs", helper)]),
}


@pytest.fixture(autouse=True)
def restored() -> Any:
    """Undo what a test changed."""
    kept = dict(globals())
    contents = ARRAY.copy(), STRIDED.copy(), helper.__code__, helper.__defaults__
    yield
    globals().clear()
    globals().update(kept)
    ARRAY[:], STRIDED[:], helper.__code__, helper.__defaults__ = contents
    LIST[:] = [1.0, [2.0], "text"]
    TABLE.clear()
    TABLE["a"] = 1.0
    MEMBERS.update({1, 2})
    MODULE.scale = 3.0


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_is_seen_by_the_next_call(name: str) -> None:
    function, changes = CHANGES[name]
    kernel, x = po.kernel(function), np.array([-1.0, 2.0])
    for change in (lambda: None, *changes):
        change()
        for _ in range(2):
            found, wanted = kernel(x), function(x)
            assert (found.dtype, found.tobytes()) == (wanted.dtype, wanted.tobytes())


@pytest.mark.parametrize("name", ["number", "elements", "list", "module"])
def test_calls_through_ctypes_see_it_too(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POLYOPT_FORCE_CTYPES", "1")
    test_a_change_is_seen_by_the_next_call(name)


def test_free_variables() -> None:
    function, change = closure()
    kernel, x = po.kernel(function), np.ones(2)
    for value in (3.0, 2.0, 3.0):
        change(value)
        assert kernel(x).tolist() == [value, value]


def test_values_that_come_back_are_not_compiled_again(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel, x = po.kernel(number), np.ones(2)
    built = []
    build = compiled_kernels.build_kernel
    monkeypatch.setattr(compiled_kernels, "build_kernel", lambda *a: built.append(a) or build(*a))
    for value in (2.0, 3.0, 2.0, 3.0, float("2.0"), float("3.0")):
        globals()["NUMBER"] = value
        assert kernel(x).tolist() == [value, value]
    assert len(built) == 2


def test_what_is_not_read_may_change() -> None:
    kernel, x = po.kernel(number), np.ones(2)
    kernel(x)
    compiled = next(iter(kernel._compiled.values()))
    globals()["UNREAD"] = 1
    TABLE["c"] = 2
    assert compiled._guards.hold()
    assert compiled.loaded.dispatch(x) is not NotImplemented
    globals()["NUMBER"] = 7.0
    assert compiled.loaded.dispatch(x) is NotImplemented


def test_a_compiled_kernel_refuses() -> None:
    compiled, x = po.kernel(number).compile(np.ones(2)), np.ones(2)
    assert compiled(x).tolist() == [2.0, 2.0]
    globals()["NUMBER"] = 7.0
    for action in (lambda: compiled(x), lambda: compiled(x=x)):
        with pytest.raises(UsageError) as caught:
            action()
        assert caught.value.code == "PO0228"
    globals()["NUMBER"] = 2.0
    assert compiled(x).tolist() == [2.0, 2.0]
