"""Exactly commutative updates, by several statements, with operands in the same array."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import polyopt as po
from polyopt.errors import IllegalSchedule
from polyopt.frontend import build
from polyopt.frontend.syntax.type_inference import infer_types
from polyopt.ir.expr import BinaryOp
from polyopt.ir.loops import LoopKind
from polyopt.schedule import source_schedule
from polyopt.schedule.commutative_updates import commutative_operation
from polyopt.transforms import Parallelize, Reorder, Reverse, Vectorize
from tests.unit.proof.edits import loops_of, reasons

# ruff: noqa: F821, UP037 - sizes are named by strings


def two(a: po.i64["N"], b: po.i64["N"]):
    for i in range(a.shape[0]):
        a[i] = max(a[i], b[i])
        a[i] = max(a[i], b[0] + 3)


def mixed(a: po.i64["N"], b: po.i64["N"]):
    for i in range(a.shape[0]):
        a[i] = max(a[i], b[i])
        a[i] = min(a[i], b[0] + 3)


def floats(a: po.f64["N"], b: po.f64["N"]):
    for i in range(a.shape[0]):
        a[i] = max(a[i], b[i])
        a[i] = max(a[i], b[0] + 3.0)


def splits(a: po.i64["N,N"]):
    for i in range(a.shape[0]):
        for j in range(i + 1, a.shape[0]):
            for k in range(i + 1, j):
                a[j, i] = max(a[j, i], a[j, k] + a[k, i])


def own(a: po.i64["N"]):
    for i in range(a.shape[0]):
        for k in range(i + 1):
            a[i] = max(a[i], a[k] + 1)


def squares(a: po.i64["N"]):
    for i in range(a.shape[0]):
        a[i] = a[i] + a[i] * 3


def _updates(function):
    scop = build(function, infer_types(function)).scop
    return [commutative_operation(statement) for statement in scop.statements]


@pytest.mark.parametrize(
    ("function", "wanted"),
    [
        (two, [BinaryOp.MAX, BinaryOp.MAX]),
        (mixed, [BinaryOp.MAX, BinaryOp.MIN]),
        (floats, [None, None]),
        (splits, [BinaryOp.MAX]),
        (own, [None]),
        (squares, [None]),
    ],
)
def test_which_updates_are_exact(function, wanted):
    assert _updates(function) == wanted


def _schedule(function, *steps):
    return source_schedule(build(function, infer_types(function)).scop).apply(*steps)


SWAPPED = Reorder("L0", (1, 0))


def test_two_statements_change_places():
    assert _schedule(two, SWAPPED).steps == (SWAPPED,)


@pytest.mark.parametrize("function", [mixed, floats])
def test_operations_of_two_kinds_and_rounded_numbers_keep_their_order(function):
    with pytest.raises(IllegalSchedule) as refused:
        _schedule(function, SWAPPED)
    assert refused.value.witness is not None


@pytest.mark.parametrize(("function", "is_right"), [(two, True), (mixed, False), (floats, False)])
def test_the_certificate_tells_by_itself(function, is_right):
    """The loops are edited, so that nothing but the proof looks at the order."""
    (loop,) = loops_of(function).body
    swapped = replace(loop, body=tuple(reversed(loop.body)))
    assert (reasons(function, (swapped,)) == "") is is_right


def into_one(a: po.i64["N"], b: po.i64["N"]):
    for i in range(b.shape[0]):
        a[0] = max(a[0], b[i])
        a[0] = max(a[0], b[i] + 3)


@pytest.mark.parametrize("kind", [LoopKind.VECTOR, LoopKind.PARALLEL])
def test_the_certificate_refuses_updates_at_once(kind):
    (loop,) = loops_of(into_one).body
    assert "concurrency of loop i" in reasons(into_one, (replace(loop, kind=kind),))


def test_splits_run_in_any_order_but_not_at_once():
    """What is read from other elements keeps its order with their updates."""
    assert _schedule(splits, Reverse("L0[2]")).steps
    for step in (Parallelize("L0[2]"), Vectorize("L0[2]"), Reverse("L0[1]")):
        with pytest.raises(IllegalSchedule):
            _schedule(splits, step)


@pytest.mark.toolchain
@pytest.mark.parametrize("size", [0, 1, 2, 9])
def test_results_of_another_order(size):
    rng = np.random.default_rng(size)
    array = rng.integers(-99, 99, (size, size))
    want = array.copy()
    splits(want)
    po.kernel(schedule="reverse(L0[2])")(splits)(array)
    assert np.array_equal(array, want)
