"""Stores under conditions in lanes: choices, on machines that cannot store some lanes only."""

from __future__ import annotations

import numpy as np
import pytest

import polyopt as po
from polyopt.dataclass import replace
from polyopt.emit.conditional_stores import choose_stores
from polyopt.frontend import build
from polyopt.ir.expr import Select
from polyopt.ir.loops import Assign, Declare, If, LoopFunction
from polyopt.ir.nodes import all_nodes
from polyopt.machine import Machine
from polyopt.pipeline import bounded_lower
from polyopt.proof.certificate import Verdict
from polyopt.proof.certification import certify
from polyopt.schedule.schedule import source_schedule
from polyopt.specialize import Parameters, types_of
from polyopt.transforms import Vectorize

LANES = Machine(vector_bytes=32)
MASKS = Machine(vector_bytes=64)


def negated(x, y):
    for i in range(y.shape[0]):
        if x[i] < 0.0:
            y[i] = -x[i]


def picked(x, y):
    for i in range(y.shape[0]):
        if y[i] > x[0]:
            y[i] = x[i] + 2.0 * y[i]


def two_stores(x, y):
    for i in range(y.shape[0]):
        y[i] = 1.0
        if x[i] > 0.5:
            y[i] = x[i]


def kept_twice(x, y):
    for i in range(y.shape[0]):
        if x[i] > 0.0:
            y[i] = x[i] if x[i] > y[i] else y[i]


def clipped(x, y):
    for i in range(y.shape[0]):
        if y[i] > x[i]:
            y[i] = x[i]
        elif y[i] < -x[i]:
            y[i] = -x[i]


def quotient(x, y):
    for i in range(y.shape[0]):
        if x[i] != 0.0:
            y[i] = 1.0 / x[i]


def power(x, y):
    for i in range(y.shape[0]):
        if x[i] > 0.0:
            y[i] = np.exp(x[i])


def sizes(x, y):
    for i in range(y.shape[0]):
        if i > 2:
            y[i] = x[i - 1]


def strided(x, y):
    for i in range(y.shape[0] // 2):
        if x[i] > 0.0:
            y[2 * i] = x[i]


CHOSEN = {negated: 1, picked: 1, two_stores: 1, quotient: 1, kept_twice: 1}
LEFT = (power, sizes, strided)


def arguments(n=37):
    rng = np.random.default_rng(n)
    return rng.normal(size=n), rng.normal(size=n)


def lowered(function):
    """Return the program and its loops, with its only loop in lanes."""
    types = types_of(Parameters.of(function), arguments(), frozenset())
    program = build(function, types)
    schedule = source_schedule(program.scop).apply(Vectorize("L0[0]"))
    return program, bounded_lower((schedule,), program)


def choices(loops: LoopFunction) -> list[Assign]:
    stores = (node for node in all_nodes(loops.body) if isinstance(node, Assign))
    return [s for s in stores if isinstance(s.value, Select) and s.value.otherwise == s.target]


@pytest.mark.parametrize("function", CHOSEN, ids=lambda f: f.__name__)
def test_stores_become_choices_that_are_proven(function):
    program, loops = lowered(function)
    found = choose_stores(loops, LANES)
    assert len(choices(found)) == CHOSEN[function]
    assert not any(isinstance(node, If) for node in all_nodes(found.body))
    assert all(claim.verdict is Verdict.PROVEN for claim in certify(program, found).claims)


@pytest.mark.parametrize("function", LEFT, ids=lambda f: f.__name__)
def test_other_stores_stay(function):
    _, loops = lowered(function)
    assert choose_stores(loops, LANES) == loops


def test_machines_with_masks_store_some_lanes():
    _, loops = lowered(negated)
    assert choose_stores(loops, MASKS) == loops


def test_elements_are_read_whatever_the_condition_says():
    _, loops = lowered(picked)
    names = [
        n.value.array for n in all_nodes(choose_stores(loops, LANES).body) if isinstance(n, Declare)
    ]
    assert names == ["x"]


@pytest.mark.parametrize("wrong", ["value", "condition", "kept"])
def test_wrong_choices_are_not_proven(wrong):
    program, loops = lowered(negated)
    found = choose_stores(loops, LANES)
    (store,) = choices(found)
    value = store.value
    other = {
        "value": replace(value, then=value.otherwise),
        "condition": replace(value, condition=replace(value.condition, right=value.then)),
        "kept": replace(value, otherwise=value.then),
    }[wrong]
    body = tuple(changed(node, store, replace(store, value=other)) for node in found.body)
    claims = certify(program, replace(found, body=body)).claims
    assert any(claim.verdict is not Verdict.PROVEN for claim in claims)


def changed(node, old, new):
    from polyopt.ir.nodes import map_bodies

    return (
        new if node is old else map_bodies(node, lambda b: tuple(changed(n, old, new) for n in b))
    )


@pytest.mark.toolchain
@pytest.mark.parametrize("level", ["x86-64-v2", "x86-64-v3"])
@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.float32, np.float64])
@pytest.mark.parametrize(
    "function", [negated, picked, two_stores, kept_twice, clipped], ids=lambda f: f.__name__
)
def test_values(function, dtype, level, monkeypatch):
    monkeypatch.setenv("POLYOPT_MACHINE", level)
    for n in (0, 1, 31, 200):
        given = [(10 * value).astype(np.int64).astype(dtype) for value in arguments(n or 1)]
        given = [value[:n] for value in given] if function is not picked else given
        wanted = [value.copy() for value in given]
        po.kernel(function, threads=1)(*given)
        with np.errstate(all="ignore"):
            function(*wanted)
        np.testing.assert_array_equal(given[1], wanted[1])
