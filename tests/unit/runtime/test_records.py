"""Records as JSON: exact round trips, and refusal of anything else."""

from __future__ import annotations

import json
import math

import pytest

from polyopt.errors import Loc
from polyopt.ir.expr import Call, Cast, Const, Iter, Load, MathFunc, Select, Symbol, Unary, UnaryOp
from polyopt.ir.source import Layout
from polyopt.ir.types import DType
from polyopt.runtime.records import RecordError, from_json, to_json
from tests.unit.runtime import sources


def there_and_back(value: object) -> object:
    return from_json(json.loads(json.dumps(to_json(value))))


@pytest.mark.parametrize(
    "source",
    [
        sources.add_arrays(Layout.STRIDED, openmp=True), sources.outputs(), sources.checked(),
        sources.constant((0, None, slice(1, None), "x", 1.5, -0.0, 2**80, True)),
    ],
    ids=lambda source: source.signature.name,
)  # fmt: skip
def test_sources(source):
    assert there_and_back(source) == source


def test_expressions():
    f64 = DType.FLOAT64
    load = Load("A", (Iter("i"), Const(3, DType.INT64)), f64)
    call = Call(MathFunc.SQRT, (Cast(Symbol("s", DType.FLOAT32), f64),), f64)
    expr = Select(Const(True, DType.BOOL), Unary(UnaryOp.NEG, load, f64), call, f64)
    assert there_and_back(expr) == expr
    assert there_and_back(Loc("f.py", 1, 2, 3, 4)) == Loc("f.py", 1, 2, 3, 4)


def test_numbers_keep_their_bits_and_types():
    for value in (True, 1, 1.0, 1 + 0j, 0.1, -0.0, math.inf, 5e-324, complex(-0.0, math.inf)):
        back = there_and_back(value)
        assert type(back) is type(value)
        assert repr(back) == repr(value)
    assert math.isnan(there_and_back(math.nan))


@pytest.mark.parametrize("value", [object(), [1], {"a": 1}, {1}, b"x", 1j.__class__, len])
def test_unknown_values_are_refused(value):
    with pytest.raises(RecordError):
        to_json(value)


@pytest.mark.parametrize(
    "data",
    [
        [], ["record", "Popen", "ls"], ["record", "Param"], ["record", "Param", 1, 2, 3],
        ["enum", "DType", "FLOAT128"], ["enum", "os", "system"], {"a": 1}, 1.5, 7, ["int", "x"],
        ["int", 3], ["float", "z"], ["tuple", {}],
    ],
)  # fmt: skip
def test_malformed_json_is_refused(data):
    with pytest.raises(RecordError):
        from_json(data)


def test_deep_nesting_is_refused():
    value: object = None
    for _ in range(5000):
        value = ["tuple", value]
    with pytest.raises(RecordError):
        from_json(value)
    deep: object = ()
    for _ in range(300):
        deep = (deep,)
    with pytest.raises(RecordError):
        to_json(deep)
