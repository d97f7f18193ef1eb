"""Results stored ahead of their use: proven if they are the source's, else refuted."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest

import polyopt as po
from polyopt.ir.expr import Binary, BinaryOp, Iter, Symbol, add, integer
from polyopt.ir.loops import Assign, Declare, DeclareArray, For, LoopKind, SetLocal, show_body
from polyopt.ir.scop import Array, Role
from polyopt.proof.forward_substitution import substitute_operands
from tests.unit.proof.edits import F64, SIZE, I, element, loops_of, number, only_loop, reasons

# ruff: noqa: F821, UP037 - sizes are named by strings

S, T, K = Symbol("s", F64), Symbol("t", F64), Iter("k")


def product(s: po.f64, t: po.f64, a: po.f64["N"], b: po.f64["N"], c: po.f64["N"]):
    for i in range(a.shape[0]):
        c[i] = s * a[i] * b[i]


def times(left, right):
    return Binary(BinaryOp.MUL, left, right, F64)


def ahead(value, *between, cell=(K,), read=(I,), length=4):
    """c[i] = p[i] * b[i] with p[k] = `value` computed ahead, `between` run after that."""
    loop = only_loop(loops_of(product).body)
    (assign,) = loop.body
    used = replace(assign, value=times(element("p", *read), assign.value.right))
    filled = For("k", integer(0), SIZE, 1, LoopKind.SEQUENTIAL,
                 (Assign(element("p", *cell), value),))  # fmt: skip
    array = Array("p", F64, (add(SIZE, integer(length)),), Role.TEMP)
    return (DeclareArray(array), filled, *between, replace(loop, body=(used,)))


def test_the_same_product_computed_ahead_is_proven():
    assert not reasons(product, ahead(times(S, element("a", K))))
    moved = ahead(times(S, element("a", K)), cell=(add(K, integer(2)),), read=(add(I, integer(2)),))
    assert not reasons(product, moved)


@pytest.mark.parametrize(
    "body",
    [
        ahead(times(T, element("a", K))),
        ahead(times(element("a", K), S)),
        ahead(times(S, element("b", K))),
        ahead(Binary(BinaryOp.ADD, S, element("a", K), F64)),
        ahead(times(S, element("a", K)), cell=(add(K, integer(1)),)),
        ahead(times(S, element("a", K)), Assign(element("a", integer(0)), number(1.0))),
        ahead(times(S, element("a", K)), Assign(element("p", integer(0)), number(1.0))),
        ahead(times(S, element("a", K)),
              Assign(element("p", integer(0)), times(T, element("a", integer(0))))),
    ],
)  # fmt: skip
def test_another_value_is_not(body):
    assert reasons(product, body)


def test_a_scalar_that_is_set_meanwhile_stays():
    local = Symbol("u", F64)
    body = ahead(times(local, element("a", K)), SetLocal("u", F64, 1, T))
    body = (Declare("u", F64, 1, S), *body)
    assert reasons(product, body)
    assert substitute_operands(body, (f"${n}" for n in itertools.count())) == body


def test_signs_of_zeros_tell_constants_apart():
    both = ahead(
        times(number(0.0), element("a", K)),
        Assign(element("p", integer(0)), times(number(-0.0), element("a", integer(0)))),
    )
    assert substitute_operands(both, (f"${n}" for n in itertools.count())) == both
    one = substitute_operands(both[:2] + both[3:], (f"${n}" for n in itertools.count()))
    assert "p[" not in "".join(show_body(one))
