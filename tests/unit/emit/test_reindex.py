"""Loops in the source's coordinates: same instances, simpler subscripts."""

from __future__ import annotations

import pytest

from polyopt.emit.lower import lower
from polyopt.emit.reindex import cancelled, plus, reindex
from polyopt.ir.expr import Compare, CompareOp, Iter, add, integer, mul, sub
from polyopt.ir.interp import run_loops
from polyopt.ir.loops import Assign, For, If, LoopKind, show_body
from polyopt.ir.showing import show
from polyopt.schedule import source_schedule
from polyopt.transforms import Interchange, Skew, Tile
from tests import scops
from tests.checks import assert_computes
from tests.oracle.program import as_program
from tests.unit.emit.kernels import array, at, data, ex, function, least, loop, op

I, J, T = Iter("i"), Iter("j"), Iter("t")


def text(*body):
    return "\n".join(show_body(reindex(tuple(body))))


def assert_equal_runs(*body, extent=40):
    """Both bodies leave the same arrays and run the same instances in the same order."""
    arrays = (array("A", extent, extent), array("B", extent, extent))
    before, after = (function("f", arrays, "N", *b) for b in (body, reindex(body)))
    for size in (0, 1, 5):
        start = data(before, {"N": size})
        results = []
        for fn in (before, after):
            copies, trace = {name: value.copy() for name, value in start.items()}, []
            run_loops(fn, copies, {"N": size}, trace=trace)
            results.append((trace, {name: value.tolist() for name, value in copies.items()}))
        assert results[0] == results[1]


def skewed():
    """`j` runs over 2*t + j, as after a skew by two."""
    inner = sub(J, mul(integer(2), T))
    store = Assign(at("A", "t", inner), at("B", "t", inner), "S0", (T, inner))
    low, high = mul(integer(2), T), add(mul(integer(2), T), ex("N"))
    return loop("t", 0, "N", loop("j", low, high, store))


def test_a_skewed_loop_is_shifted_back():
    assert text(skewed()) == (
        "for t in range(0, N):\n    for j in range(0, N):\n        A[t, j] = B[t, j]"
    )
    assert_equal_runs(skewed())


def test_instances_follow():
    (outer,) = reindex((skewed(),))
    assert isinstance(outer, For)
    inner = outer.body[0]
    assert isinstance(inner, For)
    (assign,) = inner.body
    assert isinstance(assign, Assign)
    assert assign.instance == (T, J)


def test_the_most_common_offset_wins():
    near, far = sub(J, T), sub(J, mul(integer(3), T))
    store = Assign(at("A", "t", near), op("+", at("B", "t", near), at("B", "t", far)), "S0")
    body = loop("t", 0, "N", loop("j", mul(integer(3), T), add(mul(integer(3), T), ex("N")), store))
    assert text(body).splitlines()[1:] == [
        "    for j in range(2 * t, 2 * t + N):",
        "        A[t, j] = B[t, j] + B[t, j - 2 * t]",
    ]


def test_bounds_move_inside_minima_and_maxima():
    bound = least(add(T, ex("N")), add(T, integer(7)))
    assert show(plus(bound, sub(integer(0), T))) == "min(N, 7)"
    store = Assign(at("A", "t", sub(J, T)), at("B", "t", sub(J, T)), "S0", (T, sub(J, T)))
    body = loop("t", 0, "N", loop("j", "t", bound, store))
    assert "for j in range(0, min(N, 7)):" in text(body)
    assert_equal_runs(body)


def test_inner_bounds_and_conditions_follow():
    condition = Compare(CompareOp.LT, sub(J, T), integer(3))
    store = Assign(at("A", "i", sub(J, T)), at("B", "i", sub(J, T)), "S0", (T, sub(J, T), I))
    inner = loop("i", sub(J, T), ex("N"), If(condition, (store,)))
    body = loop("t", 0, "N", loop("j", "t", add(T, ex("N")), inner))
    assert text(body).splitlines()[1:] == [
        "    for j in range(0, N):",
        "        for i in range(j, N):",
        "            if j < 3:",
        "                A[i, j] = B[i, j]",
    ]
    assert_equal_runs(body)


def test_offsets_of_inner_loops_cannot_be_used():
    """A loop may only be shifted by iterators that are known where it starts."""
    store = Assign(at("A", "t", sub(J, I)), at("B", "t", sub(J, I)), "S0")
    body = loop("t", 0, 5, loop("j", 9, 20, loop("i", 0, 5, store)))
    assert reindex((body,)) == (body,)


def test_steps_are_kept():
    store = Assign(at("A", "t", sub(J, T)), at("B", "t", sub(J, T)), "S0", (T, J))
    body = loop("t", 0, "N", loop("j", "t", add(T, ex("N")), store, step=2))
    assert reindex((body,)) == (body,)


def test_kinds_and_labels_stay():
    inner = sub(J, T)
    store = Assign(at("A", "t", inner), at("B", "t", inner), "S0")
    made = loop("j", "t", add(T, ex("N")), store, kind=LoopKind.VECTOR, label="L0[1]")
    (outer,) = reindex((loop("t", 0, "N", made),))
    assert isinstance(outer, For)
    (found,) = outer.body
    assert isinstance(found, For)
    assert (found.kind, found.label, found.iter) == (LoopKind.VECTOR, "L0[1]", "j")


def test_sums_of_both_sides_cancel():
    comparison = Compare(CompareOp.GE, add(J, mul(integer(2), T)), add(add(T, J), integer(4)))
    assert show(cancelled(comparison)) == "t >= 4"


@pytest.mark.parametrize("factor", [-2, -1, 1, 2, 3])
def test_skews_of_stencils(factor):
    """What a skew adds is gone from the subscripts, whatever the tiles."""
    steps = (Skew("j", "i", factor),)
    fn = lower(source_schedule(scops.diagonal()).apply(*steps), as_program(scops.diagonal()))
    assert show_body(fn.body)[-1].strip() == "A[i, j] = A[i - 1, j + 1]"
    assert_computes(scops.diagonal(), *steps)


def test_wavefronts():
    assert_computes(scops.seidel(), Skew("i", "j"), Interchange("i", "j"), Tile("L0", (3, 2)))
