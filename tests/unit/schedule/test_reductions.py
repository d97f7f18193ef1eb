"""Reductions are recognised in any loop; only exact ones, or declared ones, are free in order."""

from __future__ import annotations

import numpy as np
import pytest

import polyopt as po
from polyopt.cli.prepare import parse_types
from polyopt.frontend import build
from polyopt.ir.expr import BinaryOp
from polyopt.schedule import source_schedule
from polyopt.schedule.reductions import Form, FoundReduction, find_reductions, reassociated
from polyopt.transforms import Interchange, Reverse, Vectorize


def _program(function, types):
    return build(function, parse_types(types, function))


def _found(function, types) -> FoundReduction:
    (found,) = find_reductions(_program(function, types).scop)
    return found


def add(a, s):
    for i in range(a.shape[0]):
        s[0] += a[i]


def some(a):
    s = a.dtype.type(1)
    for i in range(a.shape[0]):
        if a[i] > 0:
            s = s * a[i]
    return s


def bits(a, s):
    for i in range(a.shape[0]):
        s[0] = a[i] ^ s[0]


def most(a, s):
    for i in range(a.shape[0]):
        s[0] = max(s[0], a[i])


def least(a, s):
    for i in range(a.shape[0]):
        if a[i] < s[0]:
            s[0] = a[i]


def lowest(a):
    s = a.dtype.type(1)
    for i in range(a.shape[0]):
        if a[i] < s:
            s = a[i]
    return s


def place(a, s, k):
    for i in range(a.shape[0]):
        if s[0] < a[i]:
            s[0] = a[i]
            k[0] = i


def prefix(a, s):
    for i in range(1, a.shape[0]):
        s[i] = s[i - 1] + a[i]


def mixed(a, s):
    for i in range(a.shape[0]):
        s[0] = s[0] + a[i] * s[0]


@pytest.mark.parametrize(
    ("function", "types", "op", "form", "free"),
    [
        (add, "i64[:],i64[:]", BinaryOp.ADD, Form.UPDATE, True),
        (add, "f64[:],f64[:]", BinaryOp.ADD, Form.UPDATE, False),
        (add, "c128[:],c128[:]", BinaryOp.ADD, Form.UPDATE, False),
        (some, "i32[:]", BinaryOp.MUL, Form.UPDATE, True),
        (bits, "u8[:],u8[:]", BinaryOp.XOR, Form.UPDATE, True),
        (most, "f64[:],f64[:]", BinaryOp.MAX, Form.CHOICE, False),
        (least, "f64[:],f64[:]", BinaryOp.MIN, Form.CHOICE, False),
        (lowest, "f64[:]", BinaryOp.MIN, Form.CHOICE, False),
        (lowest, "i64[:]", BinaryOp.MIN, Form.GUARDED, False),
        (place, "f64[:],f64[:],i64[:]", BinaryOp.MAX, Form.PLACE, False),
    ],
)
def test_recognised(function, types, op, form, free):
    found = _found(function, types)
    assert (found.op, found.form, found.open) == (op, form, free)


@pytest.mark.parametrize("function", [prefix, mixed])
def test_what_reads_other_results_is_no_reduction(function):
    assert find_reductions(_program(function, "i64[:],i64[:]").scop) == ()


def test_conditions():
    assert _found(some, "f64[:]").conditional
    assert not _found(add, "f64[:],f64[:]").conditional


def test_the_place_of_an_extremum_belongs_to_it():
    found = _found(place, "f64[:],f64[:],i64[:]")
    assert len(found.statements) == 2


def test_sums_of_integers_may_run_in_any_order_and_those_of_floats_may_not():
    exact = source_schedule(_program(add, "i64[:],i64[:]").scop)
    assert exact.attempt(Reverse("i")) is not None
    assert exact.attempt(Vectorize("i")) is not None
    ordered = source_schedule(_program(add, "f64[:],f64[:]").scop)
    assert ordered.attempt(Reverse("i")) is None
    (scop,) = reassociated(_program(add, "f64[:],f64[:]")).scops
    assert source_schedule(scop).attempt(Reverse("i")) is not None


def columns(a, s):
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            s[j] += a[i, j]


@pytest.mark.machine
def test_the_mode_opens_sums():
    a = np.ones((3, 4))
    strict = po.kernel(schedule="source")(columns).schedule(a, np.zeros(4))
    assert strict.attempt(Reverse("i")) is None
    assert strict.attempt(Interchange("i", "j")) is not None
    loose = po.kernel(schedule="source", fp="reassociate")(columns).schedule(a, np.zeros(4))
    assert loose.attempt(Reverse("i")) is not None
