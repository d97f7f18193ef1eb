"""Elements that the body of a VECTOR loop updates several times: one store, the same results."""

from __future__ import annotations

import numpy as np
import pytest

from polyopt.emit.passes.body_scalar_replacement import replace_in_bodies
from polyopt.emit.passes.explicit_vectors import vectorize
from polyopt.ir.loops import Assign, Declare, LoopKind, SetLocal
from polyopt.machine import Machine
from tests.unit.emit.kernels import (
    array,
    assert_same,
    at,
    data,
    function,
    interpret,
    loop,
    op,
    plus,
)

WIDE = Machine(vector_bytes=64, vector_registers=32)
A = at("A", "j")


def vector(*body, arrays=("A", "B", "C")):
    made = [array(name, 40) for name in arrays]
    return function("f", made, (), loop("j", 3, 37, *body, kind=LoopKind.VECTOR))


def update(term, target=A, name="S0"):
    return Assign(target, op("+", target, term), name)


def statements(fn):
    return fn.body[0].body


@pytest.mark.toolchain
def test_updates_live_in_a_local():
    begin = Assign(A, at("B", "j"), "S0")
    fn = vector(begin, update(at("C", "j")), update(at("B", plus("j", 1))))
    made = replace_in_bodies(fn)
    kinds = [type(node) for node in statements(made)]
    assert kinds == [Declare, SetLocal, SetLocal, Assign]
    assert [node.statement for node in statements(made)[:3]] == ["S0"] * 3
    assert_same(vectorize(made, WIDE), {}, other=fn)
    arrays = data(fn, {})
    for name, value in interpret(fn, arrays, {}).items():
        np.testing.assert_array_equal(interpret(made, arrays, {})[name], value)


def test_elements_that_were_there_before_are_loaded():
    fn = vector(update(at("C", "j")), update(at("B", "j")))
    made = replace_in_bodies(fn)
    assert isinstance(statements(made)[0], Declare)
    arrays = data(fn, {})
    for name, value in interpret(fn, arrays, {}).items():
        np.testing.assert_array_equal(interpret(made, arrays, {})[name], value)


def test_elements_of_temporaries_live_in_locals_too():
    """A partial vector cannot be read just after its store."""
    own = [update(at("C", "j"), at("T", "j")), update(at("B", "j"), at("T", "j"))]
    assert [type(node) for node in statements(replace_in_bodies(vector(*own)))] == [
        Declare, SetLocal, SetLocal, Assign,
    ]  # fmt: skip


@pytest.mark.parametrize(
    "body",
    [
        (update(at("C", "j")),),
        (update(at("C", "j")), update(at("A", plus("j", 1)))),  # another element
        (update(at("C", "j"), at("A", 0)), update(at("B", "j"), at("A", 0))),  # the loop's own
        (update(at("C", "j")), update(at("B", "j"), at("A", plus("j", 1)))),
    ],
)
def test_other_bodies_are_left(body):
    fn = vector(*body)
    assert replace_in_bodies(fn) == fn


def test_loops_in_order_are_left():
    body = loop("j", 3, 37, update(at("C", "j")), update(at("B", "j")))
    fn = function("f", [array(name, 40) for name in "ABC"], (), body)
    assert replace_in_bodies(fn) == fn
