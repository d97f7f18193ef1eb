"""Sums and products of 16-bit numbers: made in float32, rounded once, within their bounds."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import polyopt as po
from polyopt.ir.expr import Cast, Expr, rewrite
from polyopt.ir.interp import run_program
from polyopt.ir.loops import Assign, Node
from polyopt.ir.types import DType
from polyopt.numerics.reals import largest, unit
from polyopt.proof import certify
from polyopt.schedule.reductions import reassociated
from tests.unit.halves.arrays import HALVES
from tests.unit.proof.edits import edited

pytestmark = pytest.mark.toolchain


def products(a, b):
    return a @ b, np.inner(a[:5], b.T[:5]), a @ b[:, 0]


def sums(a):
    return np.sum(a), a.sum(axis=0), a.mean(axis=1), a.prod(axis=0), a.cumsum(axis=1), np.trace(a)


def spreads(a):
    return a.var(axis=1), a.std(), a.max(axis=1), a.min(), a.argmax(), np.ptp(a, axis=0)


def softmax(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def numbers(dtype: DType, *shape: int) -> Any:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(dtype.numpy)


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize("function", [sums, spreads, softmax], ids=lambda f: f.__name__)
def test_results_are_within_their_bounds(function: Any, dtype: DType) -> None:
    a = numbers(dtype, 19, 19)
    compiled = po.kernel(function).compile(a)
    for comparison in compiled.compare(a):
        assert comparison.holds, comparison
        assert comparison.unbounded == 0
    got, want = compiled(a), function(a)
    if not isinstance(got, tuple):
        got, want = (got,), (want,)
    for mine, theirs in zip(got, want, strict=True):
        assert (mine.dtype, type(mine)) == (theirs.dtype, type(theirs))


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_products_have_numpys_types_and_accumulate_in_float32(dtype: DType) -> None:
    a, b = numbers(dtype, 13, 60), numbers(dtype, 60, 11)
    exact = a.astype(np.float64) @ b.astype(np.float64)
    for mine, theirs in zip(po.kernel(products)(a, b), products(a, b), strict=True):
        assert mine.dtype == theirs.dtype
        reference = exact[:, 0] if mine.ndim == 1 else exact[: mine.shape[0], : mine.shape[1]]
        rounding = unit(DType(mine.dtype.name))
        far = np.abs(mine.astype(np.float64) - reference)
        assert (far <= 1.01 * rounding * np.abs(reference) + 1e-4).all()


def test_a_long_sum_does_not_stop_growing() -> None:
    """The next number after 2048 is 2050: one at a time, ones stop to count there."""
    ones = np.ones((5000, 3), np.float16)
    assert po.kernel(sums)(ones[:, :1] * np.ones(3, np.float16))[1].tolist() == [5000.0] * 3


def test_the_mean_does_not_overflow() -> None:
    large = np.full((4, 100), 60000, np.float16)
    assert po.kernel(sums)(large)[2].tolist() == [60000.0] * 4


def accumulate(a, out):
    for i in range(a.shape[0]):
        out[0] += a[i]


def test_the_order_of_sums_in_16_bits_stays_closed() -> None:
    """A partial sum of float32 would not be rounded where the source's is."""
    a = numbers(DType.FLOAT16, 300)
    for fp in ("strict", "reassociate"):
        mine, theirs = np.zeros(1, np.float16), np.zeros(1, np.float16)
        compiled = po.kernel(fp=fp)(accumulate)
        compiled(a, mine)
        accumulate(a, theirs)
        assert mine == theirs
    program = reassociated(compiled.compile(a, mine).program)
    assert not any(s.is_reassociable for s in program.scop.statements)
    wide = po.kernel(accumulate).compile(po.f32["N"], po.f32["M"]).program
    assert any(s.is_reassociable for s in reassociated(wide).scop.statements)


def rounds_between(a, b):
    b[:] = (a + b) * a


def without_rounding(part: Expr) -> Expr | None:
    if isinstance(part, Cast) and part.dtype is DType.FLOAT16:
        return part.operand
    return None


def half_of_single(a, b):
    b[:] = (a * 0.1).astype(np.float16).astype(np.float32) + a


def test_a_kernel_that_leaves_out_a_rounding_is_refused() -> None:
    a = np.ones(20, np.float32)
    stages = po.kernel(half_of_single).compile(a, a.copy()).stages
    assert stages.certificate is not None

    def change(node: Node) -> Node:
        if not isinstance(node, Assign):
            return node
        return replace(node, value=rewrite(node.value, without_rounding))

    body = edited(stages.loops.body, change)
    assert body != stages.loops.body
    faults = certify(stages.program, replace(stages.loops, body=body)).faults
    assert any("instead of float16(" in fault.reason for fault in faults), faults
    assert certify(stages.program, stages.loops).faults == ()


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_the_interpreter_rounds_as_the_code_does(dtype: DType) -> None:
    a, mine = numbers(dtype, 40), numbers(dtype, 40)
    theirs = mine.copy()
    compiled = po.kernel(rounds_between).compile(a, mine)
    run_program(compiled.program, (a, theirs))
    compiled(a, mine)
    assert mine.tobytes() == theirs.tobytes()


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_units(dtype: DType) -> None:
    kind = dtype.numpy.type
    ulp = 2 * unit(dtype)
    assert kind(1 + ulp) != kind(1)
    assert kind(1 + 0.5 * ulp) == kind(1)
    assert np.isfinite(float(kind(largest(dtype))))
    with np.errstate(over="ignore"):
        assert kind(float(kind(largest(dtype))) * 1.01) == np.inf
    assert float(kind(dtype.smallest)) == dtype.smallest
    assert float(kind(0.5 * dtype.smallest)) == 0.0


def test_bounds_are_open_where_the_reference_may_overflow() -> None:
    near = np.full((700, 2), 90.0, np.float16)  # 63,000: a few roundings from the last number
    bounds = po.kernel(sums).compile(near).error_bounds(near)
    assert np.isinf(bounds["return[1]"]).all()
    assert po.kernel(sums)(near)[1].tolist() == [63008.0] * 2
