"""Temporaries that take turns in one memory: which do, how large it is, that results stay right."""

from __future__ import annotations

import functools
import itertools

import numpy as np
import pytest

import polyopt as po
from polyopt.emit import memory_plan
from polyopt.emit.memory_plan import lifetimes, plan_memory
from polyopt.ir.array import Role
from polyopt.ir.expr import Compare, CompareOp, Const, Param, integer
from polyopt.ir.loops import Assign, If
from polyopt.report.memory import explain_memory
from tests.unit.emit.kernels import F64, array, at, function, loop, op

# ruff: noqa: F821, UP037 - sizes are named by strings


def chain(
    A: po.f64["N,K"], B: po.f64["K,L"], C: po.f64["L,M"], D: po.f64["M,P"], E: po.f64["P,Q"],
    F: po.f64["Q,R"], G: po.f64["R,S"], out: po.f64["N,S"],
):  # fmt: skip
    out[:] = A @ B @ C @ D @ E @ F @ G


@pytest.mark.toolchain
def test_a_chain_of_products_needs_two_temporaries():
    loops = po.kernel(chain, schedule="source").compile().loops
    assert len(loops.turns) == 2
    assert sum(map(len, loops.turns)) == 5
    loops = po.kernel(chain).compile().loops
    assert len(loops.turns) == 2
    assert sum(map(len, loops.turns)) == 5


@pytest.mark.toolchain
@pytest.mark.parametrize("sizes", [(7, 30, 2, 41, 1, 33, 60, 3), (40, 3, 50, 3, 60, 3, 70, 3)])
def test_a_memory_has_the_size_of_its_largest_array(sizes):
    rng = np.random.default_rng(0)
    arrays = [rng.random(shape) for shape in itertools.pairwise(sizes)]
    out = np.zeros((sizes[0], sizes[-1]))
    po.kernel(chain)(*arrays, out)
    np.testing.assert_allclose(out, functools.reduce(np.matmul, arrays), rtol=1e-12)
    text = po.kernel(chain).compile(*arrays, out).source
    assert text.count("= po_alloc(po_largest(") == 2


def mixed(x: po.f64["N"], y: po.f32["N"], out: po.f64["N"]):
    for _ in range(3):
        x[:] = np.sort(x) + 1.0
    for _ in range(3):
        y[:] = np.sort(y) + 1.0
    for _ in range(3):
        x[:] = np.sort(x * 2.0)
    out[:] = x + y


@pytest.mark.toolchain
def test_arrays_of_different_types_have_memory_of_their_own():
    loops = po.kernel(mixed).compile().loops
    kinds = {array.name: array.dtype for array in loops.arrays}
    assert all(len({kinds[name] for name in group}) == 1 for group in loops.turns)
    x, y, out = np.arange(9.0)[::-1].copy(), np.ones(9, np.float32), np.zeros(9)
    want = [x.copy(), y.copy(), out.copy()]
    mixed(*want)
    po.kernel(mixed)(x, y, out)
    np.testing.assert_array_equal(out, want[2])


N, ONE = Param("N"), Const(1.0, F64)


def nest(target, *sources):
    """`target[i] = the sum of sources[i]` for all i."""
    value = functools.reduce(lambda a, b: op("+", a, b), (at(name, "i") for name in sources), ONE)
    return loop("i", 0, "N", Assign(at(target, "i"), value, "S"))


def planned(*body, shapes=None):
    """The memories of temporaries `a`, `b`, `c`, which have N elements unless `shapes` tell."""
    arrays = [array(n, *(shapes or {}).get(n, ("N",)), role=Role.TEMP) for n in "abc"]
    return plan_memory(function("f", [*arrays, array("x", "N")], ["N"], *body))


def test_lifetimes_that_do_not_meet_share():
    found = planned(nest("a"), nest("x", "a"), nest("b", "x"), nest("x", "b"))
    assert found.turns == (("a", "b"),)


def test_lifetimes_that_meet_in_one_nest_do_not_share():
    assert planned(nest("a"), nest("b", "a"), nest("x", "b")).turns == ()


def test_a_loop_around_both_is_one_nest():
    inner = nest("a"), nest("x", "a"), nest("b", "x"), nest("x", "b")
    assert planned(loop("t", 0, "N", *inner)).turns == ()


def test_sides_of_a_branch_follow_each_other():
    condition = Compare(CompareOp.GT, N, integer(3))
    one, two = (nest("a"), nest("x", "a")), (nest("b"), nest("x", "b"))
    assert planned(If(condition, one, two)).turns == (("a", "b"),)
    assert planned(If(condition, one, two), nest("x", "a")).turns == ()


def test_the_largest_comes_first_and_equals_join():
    shapes = {"a": (4,), "b": ("N", "N")}
    body = nest("a"), nest("x", "a"), nest("b"), nest("x", "b"), nest("c"), nest("x", "c")
    assert planned(*body, shapes=shapes).turns == (("b", "c", "a"),)
    shapes = {"a": ("N", "N"), "b": ("N", "N"), "c": ("N", "N")}
    body = nest("a"), nest("b", "a"), nest("c", "b"), nest("x", "c")
    assert planned(*body, shapes=shapes).turns == (("a", "c"),)


def test_first_values_are_given_directly_before_they_are_used():
    first, second = nest("b"), nest("a")
    found = planned(first, second, nest("x", "a"), nest("x", "b", "x"))
    assert found.body == (second, nest("x", "a"), first, nest("x", "b", "x"))
    assert found.turns == (("a", "b"),)


def test_a_nest_that_reads_temporaries_or_sets_what_others_see_stays():
    reading = nest("b", "a")
    body = nest("a"), reading, nest("x"), nest("x", "b")
    assert planned(*body).body == body
    body = nest("x"), nest("c"), nest("x", "b")
    assert planned(*body).body == body
    overwritten = nest("a", "x"), nest("x"), nest("x", "a")
    assert planned(*overwritten).body == overwritten


def test_lifetimes_go_from_the_first_to_the_last_place():
    found = lifetimes((nest("a"), nest("x", "a"), nest("b", "x"), nest("x", "a", "b")))
    assert found == {"a": (0, 3), "x": (1, 3), "b": (2, 3)}


@pytest.mark.toolchain
def test_the_explanation_adds_memories_not_arrays():
    compiled = po.kernel(chain).compile()
    arrays = [(a, "heap") for a in compiled.loops.arrays if a.role is Role.TEMP]
    sizes = dict.fromkeys(compiled.loops.params, 10)
    turns = compiled.loops.turns
    lines = list(explain_memory(arrays, compiled.program, (), sizes, turns))
    assert sum(", in the memory of " in line for line in lines) == 3
    assert lines[-1].startswith("at most at once, heap: max(")
    assert lines[-1].endswith(f"= {2 * 10 * 10 * 8}")


def products(A, B, C):
    return A @ B + (B @ C) @ (A @ C)


@pytest.mark.toolchain
def test_a_plan_in_which_lifetimes_meet_is_refused_and_left_out(monkeypatch):
    monkeypatch.setattr(memory_plan, "_fits", lambda *_: True)
    A, B, C = (np.random.default_rng(0).random((5, 5)) for _ in range(3))
    kernel = po.kernel(products, budget=99.0)
    np.testing.assert_allclose(kernel(A, B, C), products(A, B, C))
    assert kernel.compile(A, B, C).loops.turns == ()
