"""What classes and Python's own tools offer: called objects, properties, enumerations, partial."""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from enum import Enum, IntEnum
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pytest

import polyopt as po
from polyopt.errors import FrontendError

pytestmark = pytest.mark.toolchain
A = np.arange(4.0)


class Mode(Enum):
    MEAN = "mean"
    SUM = "sum"


class Kind(IntEnum):
    FIRST = 0
    SECOND = 1


class Config:
    alpha, table = 2.0, (1.0, 3.0)


class Model:
    offset = 0.5

    def __init__(self, count: int) -> None:
        self.w, self.k = np.linspace(0.0, 1.0, count), 2.0

    def __call__(self, x: Any) -> Any:
        return self.w * x * self.k

    @property
    def norm(self) -> Any:
        return np.sum(self.w * self.w)

    @staticmethod
    def act(x: Any) -> Any:
        return 3.0 * x

    @classmethod
    def scale(cls) -> Any:
        return cls.act(2.0)


class State(NamedTuple):
    x: Any
    t: Any


@dataclass
class Rates:
    lr: float = 0.5
    steps: int = 3


TABLE = {"alpha": 2.0, "inner": {"beta": 3.0}, "reduce": np.sum, 3: 4.0}


def helper(x, scale=2.0, *, shift=1.0):
    return x * scale + shift


shifted = partial(helper, shift=5.0)


def called(model, x):
    return model(x) + 1.0


def with_property(model, x):
    return model.norm * x


def static(model, x):
    return model.act(x) + Model.act(x) + model.scale()


def by_member(x, mode):
    if mode is Mode.MEAN:
        return x.mean()
    return x.sum() if mode == Mode.SUM else x.max()


def by_value(x, mode):
    return x.sum() if mode.value == "sum" else x.mean()


def by_number(x, kind):
    return x[kind] + kind if kind > Kind.FIRST else x[0]


def made_partial(x):
    return partial(helper, scale=3.0)(x) + partial(helper, x)(4.0)


def given_partial(x):
    return shifted(x, 3.0)


def moved(state):
    return state._replace(t=state.t + 1.0)


def slower(rates, x):
    other = replace(rates, lr=0.5 * rates.lr)
    return x * other.lr * other.steps


def from_tables(x):
    return TABLE["reduce"](x) * TABLE["alpha"] + TABLE["inner"]["beta"] - TABLE[3]


def of_classes(model, x):
    return x * Config.alpha + Config.table[1] + model.offset


def dispatched(x, how):
    return {"double": 2.0 * x, "same": x}[how]


CALLS = [
    (called, (Model(4), A)), (with_property, (Model(4), A)), (static, (Model(4), A)),
    (by_member, (A, Mode.MEAN)), (by_member, (A, Mode.SUM)),
    (by_value, (A, Mode.SUM)), (by_value, (A, Mode.MEAN)),
    (by_number, (A, Kind.FIRST)), (by_number, (A, Kind.SECOND)),
    (made_partial, (A,)), (given_partial, (A,)), (moved, (State(A, 1.0),)),
    (of_classes, (Model(4), A)), (slower, (Rates(), A)), (from_tables, (A,)),
    (dispatched, (A, "double")),
]  # fmt: skip


@pytest.mark.parametrize(("function", "args"), CALLS)
def test_calls_are_those_of_python(function, args) -> None:
    kernel = po.kernel(function)
    for _ in range(2):
        found, wanted = kernel(*args), function(*args)
        assert type(found) is type(wanted) or np.isscalar(wanted)
        pairs = zip(found, wanted, strict=True) if isinstance(wanted, tuple) else [(found, wanted)]
        for mine, other in pairs:
            np.testing.assert_array_equal(mine, other)


def test_members_have_kernels_of_their_own() -> None:
    kernel = po.kernel(by_member)
    for mode in (Mode.MEAN, Mode.SUM, Mode.MEAN):
        assert kernel(A, mode) == by_member(A, mode)


def test_entries_of_tables_are_read_again(monkeypatch) -> None:
    kernel = po.kernel(from_tables)
    assert kernel(A) == from_tables(A)
    monkeypatch.setitem(TABLE, "alpha", 5.0)
    assert kernel(A) == from_tables(A)
    monkeypatch.setitem(TABLE, "reduce", np.max)
    assert kernel(A) == from_tables(A)
    monkeypatch.setitem(TABLE["inner"], "beta", -1.0)
    assert kernel(A) == from_tables(A)
    compiled = kernel.compile(A)
    monkeypatch.setitem(TABLE["inner"], "beta", -2.0)
    with pytest.raises(po.UsageError, match="PO0228"):
        compiled(A)


def test_attributes_of_classes_are_read_again(monkeypatch) -> None:
    kernel, model = po.kernel(of_classes), Model(4)
    np.testing.assert_array_equal(kernel(model, A), of_classes(model, A))
    for owner, name, value in [
        (Config, "alpha", 5.0), (Config, "table", (2.0, 4.0)), (Model, "offset", 1.5),
    ]:  # fmt: skip
        monkeypatch.setattr(owner, name, value)
        np.testing.assert_array_equal(kernel(model, A), of_classes(model, A))
    monkeypatch.undo()
    np.testing.assert_array_equal(kernel(model, A), of_classes(model, A))


WEIGHTS = {"w": np.arange(4.0)}


def weighted(x):
    return x * WEIGHTS["w"]


def test_arrays_in_tables_are_captured() -> None:
    kernel = po.kernel(weighted)
    np.testing.assert_array_equal(kernel(A), weighted(A))
    WEIGHTS["w"][1] = 7.0
    np.testing.assert_array_equal(kernel(A), weighted(A))


def unknown_entry(x):
    return x * TABLE["gamma"]


def compares(model, x):
    return x if model == model else 2.0 * x


def calls_rates(rates, x):
    return rates(x)


def replaces(state):
    return state._replace(z=1.0)


@pytest.mark.parametrize(
    ("function", "args", "code"),
    [
        (unknown_entry, (A,), "PO0135"), (compares, (Model(4), A), "PO0127"),
        (calls_rates, (Rates(), A), "PO0119"), (replaces, (State(A, 1.0),), "PO0103"),
    ],
)  # fmt: skip
def test_what_is_refused(function, args, code) -> None:
    with pytest.raises(FrontendError) as caught:
        po.kernel(function)(*args)
    assert caught.value.code == code
    assert "Record(" not in str(caught.value)


def test_functools_itself_is_found() -> None:
    def through_module(x):
        return functools.partial(helper, scale=3.0)(x)

    np.testing.assert_array_equal(po.kernel(through_module)(A), through_module(A))
