"""Products and the sums they are added to: they may round once, the order being kept."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import polyopt as po
from polyopt.building import compile_stages
from polyopt.emit.lower import lower
from polyopt.emit.passes.fma import contract
from polyopt.emit.passes.rewriting import bottom_up
from polyopt.frontend import infer_types
from polyopt.ir.expr import Call, Expr, MathFunc, walk
from polyopt.ir.loops import Assign, Declare, LoopFunction, SetLocal
from polyopt.ir.nodes import all_nodes
from polyopt.ir.showing import show
from polyopt.machine import Machine
from polyopt.numerics import Exactness
from polyopt.proof import certify
from polyopt.schedule import reductions, source_schedule
from polyopt.schedule.fusible_products import with_fusible_products
from polyopt.targets import Options
from tests.heldout.sums import attraction
from tests.oracle.enumerate import enumerate_kernel
from tests.oracle.symbolic import lanes_of
from tests.unit.proof.edits import program_of

MACHINE = Machine(cores=2, vector_bytes=32)

# ruff: noqa: F821, UP037 - sizes are named by strings


def triangle(A: po.f64["M,M"], B: po.f64["M,N"]):
    M, N = B.shape
    for i in range(M):
        for j in range(N):
            for k in range(i + 1, M):
                B[i, j] += A[k, i] * B[k, j]


def eliminated(A: po.f64["N,N"]):
    for k in range(A.shape[0]):
        for i in range(k + 1, A.shape[0]):
            for j in range(k + 1, A.shape[0]):
                A[i, j] -= A[i, k] * A[k, j]


def whole(A: po.f64["M,M"], B: po.f64["M,N"]):
    M, N = B.shape
    for i in range(M):
        for j in range(N):
            for k in range(M):
                B[i, j] += A[k, i] * B[k, j]


def smoothed(A: po.f64["N,N"]):
    for t in range(A.shape[0]):
        for i in range(A.shape[0]):
            for j in range(A.shape[0]):
                A[i, j] -= A[i, t] * A[t, j]


def once(y: po.f64["N"], x: po.f64["N"]):
    for i in range(y.shape[0]):
        y[i] += x[i] * y[y.shape[0] - 1 - i]


def scaled(A: po.f64["N,N"]):
    for k in range(A.shape[0]):
        for i in range(k + 1, A.shape[0]):
            A[i, i] = A[i, i] * A[i, k] - 0.5 * A[k, k]


def taken_away(A: po.f64["M,K"], B: po.f64["K,N"], C: po.f64["M,N"]):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            for k in range(A.shape[1]):
                C[i, j] -= A[i, k] * B[k, j]


def both_products(A: po.f64["M,K"], B: po.f64["M,K"], C: po.f64["M,M"]):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            for k in range(A.shape[1]):
                C[i, j] += A[i, k] * B[j, k] - 0.5 * B[i, k] * A[j, k]


def cross_products(A: po.f64["M,K"], B: po.f64["M,K"], C: po.f64["M,M"]):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            for k in range(A.shape[1]):
                C[i, j] += A[i, k] * B[j, k] - B[i, k] * A[j, k]


def added(y: po.f64["N"], x: po.f64["N"]):
    for i in range(y.shape[0]):
        y[i] = (y[i] + x[i]) * 0.5 / (x[i] - y[i])


def compared(y: po.f64["N"], x: po.f64["N"]):
    for i in range(y.shape[0]):
        y[i] = x[i] if x[i] * x[i] - y[i] > 0.0 else x[i] * 2.0


def stencil(y: po.f64["N"], x: po.f64["N"]):
    for i in range(1, y.shape[0] - 1):
        y[i] = 0.25 * (x[i - 1] - 2.0 * x[i] + x[i + 1]) + 0.5 * (x[i + 1] - x[i - 1]) + x[i]


def ratio(y: po.f64["N"], x: po.f64["N"]):
    for i in range(y.shape[0]):
        y[i] = np.sqrt(x[i] * x[i] + y[i] * y[i]) / (1.0 - 3.0 * x[i])


def distance(y: po.f64["N"], x: po.f64["N"]):
    for i in range(y.shape[0]):
        for j in range(y.shape[0]):
            y[i] += np.sqrt(x[i] * x[j] + 1.0)


def difference(y: po.f64["N"], x: po.f64["N"]):
    for i in range(y.shape[0]):
        y[i] = x[i] * y[i] - x[0] + (x[i] * 3.0 - y[i] * 5.0)


def chosen(y: po.f64["N"], x: po.f64["N"]):
    for i in range(y.shape[0]):
        y[i] = x[i] * x[i] + 1.0 if y[i] > 0.0 else x[i] - y[i] * 2.0


FUSIBLE = (stencil, ratio, distance, difference, chosen)


def reassociated(program):
    return with_fusible_products(reductions.reassociated(program))


def fused(function: LoopFunction) -> bool:
    values = (node.value for node in all_nodes(function.body) if isinstance(node, Assign))
    return any(isinstance(p, Call) and p.func is MathFunc.FMA for v in values for p in walk(v))


def _adds_once(value: Expr) -> bool:
    return any(isinstance(part, Call) and part.func is MathFunc.FMA for part in walk(value))


def widest_fused(function: LoopFunction) -> int:
    values = (n.value for n in all_nodes(function.body) if isinstance(n, Assign | SetLocal))
    parts = (part for value in values for part in walk(value))
    return max(lanes_of(p) for p in parts if isinstance(p, Call) and p.func is MathFunc.FMA)


@pytest.mark.parametrize(
    ("func", "fuses"),
    [(f, True) for f in (whole, smoothed, once, scaled)] + [(added, True), (compared, False)],
)
def test_which_updates_fuse(func, fuses):
    (statement,) = reassociated(program_of(func)).scop.statements
    assert statement.fuses is fuses
    assert not statement.is_reassociable


@pytest.mark.parametrize(("fp", "fuses"), [("reassociate", True), ("strict", False)])
def test_a_sum_kept_in_a_local_rounds_once(fp, fuses):
    """The loop that uses a number keeps it in a register, as a declaration."""
    options = Options().changed({"fp": fp})
    stages = compile_stages(attraction, infer_types(attraction), options, MACHINE)
    found = [n for n in all_nodes(stages.loops.body) if isinstance(n, Declare | SetLocal)]
    squares = [node.value for node in found if "x[i]" in show(node.value)]
    assert squares
    assert any(_adds_once(value) for value in squares) is fuses


@pytest.mark.parametrize("func", [triangle, eliminated])
def test_sums_of_other_elements_than_their_own_are_open(func):
    (statement,) = reassociated(program_of(func)).scop.statements
    assert statement.is_reassociable


@pytest.mark.parametrize("func", [whole, smoothed, once, scaled, *FUSIBLE])
def test_it_is_proven_where_it_is_open_and_refuted_elsewhere(func):
    program = program_of(func)
    opened = reassociated(program)
    loops = lower(source_schedule(opened.scop), opened)
    assert loops.fusible
    once_rounded = contract(loops)
    assert fused(once_rounded)
    assert certify(opened, once_rounded).is_proven
    assert not certify(program, once_rounded).is_proven
    assert not fused(contract(replace(loops, fusible=frozenset(), reassociable=frozenset())))
    assert not enumerate_kernel(opened, once_rounded, dict.fromkeys(loops.params, 5))
    assert enumerate_kernel(program, once_rounded, dict.fromkeys(loops.params, 5))


@pytest.mark.toolchain
@pytest.mark.parametrize("size", [(0, 3), (1, 1), (2, 0), (13, 29), (67, 41)])
def test_results_lie_within_their_bounds(size):
    m, n = size
    rng = np.random.default_rng(m + n)
    a, b = rng.normal(size=(m, m)), rng.normal(size=(m, n))
    want = b.copy()
    triangle(a, want)
    strict, free = b.copy(), b.copy()
    po.kernel(triangle)(a, strict)
    assert strict.tobytes() == want.tobytes()
    kernel = po.kernel(fp="reassociate")(triangle)
    kernel(a, free)
    bounds = kernel.compile(a, b).error_bounds(a, b)["B"]
    assert (abs(free - want) <= bounds).all()


@pytest.mark.toolchain
@pytest.mark.parametrize("func", FUSIBLE)
@pytest.mark.parametrize("size", [0, 1, 7, 300])
def test_expressions_lie_within_their_bounds(func, size):
    rng = np.random.default_rng(size)
    x, y = rng.normal(size=size) ** 2, rng.normal(size=size)
    x[: size // 50], y[: size // 90] = np.inf, np.nan
    x[size // 40 : size // 20] *= 1e200
    want, strict, free = y.copy(), y.copy(), y.copy()
    with np.errstate(all="ignore"):
        func(want, x)
    po.kernel(func)(strict, x)
    assert strict.tobytes() == want.tobytes()
    made = po.kernel(fp="reassociate")(func).compile(free, x)
    bounds = made.error_bounds(free, x)["y"]
    made(free, x)
    finite = np.isfinite(bounds)
    assert (finite | (size < 50) | ~np.isfinite(want) | (abs(x) > 1e150)).all()
    same = (free == want) | (np.isnan(free) & np.isnan(want))
    with np.errstate(all="ignore"):
        assert (same | (abs(free - want) <= bounds) | ~finite).all()


@pytest.mark.parametrize("func", [taken_away, both_products])
def test_products_of_reductions_are_added_one_by_one(func):
    program = program_of(func)
    opened = reassociated(program)
    assert opened.scop.statements[0].is_reassociable
    once_rounded = contract(lower(source_schedule(opened.scop), opened))
    assert fused(once_rounded)
    assert certify(opened, once_rounded).is_proven
    assert not certify(program, once_rounded).is_proven


@pytest.mark.toolchain
@pytest.mark.parametrize("sizes", [(1, 1), (9, 40), (70, 131)])
def test_several_products_run_on_lanes_within_bounds(sizes):
    rng = np.random.default_rng(sum(sizes))
    a, b = rng.normal(size=sizes), rng.normal(size=sizes)
    want, free = np.zeros((2, sizes[0], sizes[0]))
    both_products(a, b, want)
    made = po.kernel(fp="reassociate")(both_products).compile(a, b, free)
    assert not made.stages.dropped
    assert widest_fused(made.stages.loops) > 1
    bounds = made.error_bounds(a, b, free)["C"]
    made(a, b, free)
    assert (abs(free - want) <= bounds).all()


def test_a_sign_that_is_lost_is_refuted():
    opened = reassociated(program_of(taken_away))
    loops = contract(lower(source_schedule(opened.scop), opened))

    def added(node):
        if isinstance(node, Assign):
            negative, factor, sum_ = node.value.args
            node = replace(node, value=replace(node.value, args=(negative.operand, factor, sum_)))
        return (node,)

    assert not certify(opened, replace(loops, body=bottom_up(loops.body, added))).is_proven


def test_a_product_that_is_added_twice_is_refuted():
    opened = reassociated(program_of(both_products))
    loops = contract(lower(source_schedule(opened.scop), opened))

    def doubled(node):
        if isinstance(node, Assign):
            a, b, (c, d, old) = *node.value.args[:2], node.value.args[2].args
            assert (a, b) != (c, d)
            inner = replace(node.value, args=(c, d, old))
            node = replace(node, value=replace(node.value, args=(c, d, inner)))
        return (node,)

    assert not certify(opened, replace(loops, body=bottom_up(loops.body, doubled))).is_proven


@pytest.mark.toolchain
def test_products_that_cancel_stay_within_bounds():
    rng = np.random.default_rng(5)
    a = rng.normal(size=(9, 40))
    b, c = a * (1 + 1e-13 * rng.normal(size=a.shape)), np.zeros((9, 9))
    want = c.copy()
    cross_products(a, b, want)
    kernel = po.kernel(fp="reassociate")(cross_products)
    kernel(a, b, c)
    bounds = kernel.compile(a, b, c).error_bounds(a, b, c * 0)["C"]
    assert (abs(c - want) <= bounds).all()
    assert abs(c - want).max() > 1e-18
    assert bounds.max() < 1e-11


@pytest.mark.toolchain
def test_the_contract_tells_of_it():
    made = po.kernel(fp="reassociate")(eliminated).compile(np.eye(5))
    assert [o.exactness for o in made.numerics.outputs] == [Exactness.REASSOCIATED]
    exact = po.kernel(eliminated).compile(np.eye(5))
    assert [o.exactness for o in exact.numerics.outputs] == [Exactness.EXACT]
