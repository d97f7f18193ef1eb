"""Sums of products with fewer operations, or with fewer after what an earlier iteration made."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import polyopt as po
from polyopt.emit.lower import lower
from polyopt.emit.passes.regrouping import regroup
from polyopt.ir.expr import Binary, BinaryOp, Const, Expr, Load, add, integer, rewrite
from polyopt.ir.loops import Assign, LoopFunction
from polyopt.ir.nodes import all_nodes
from polyopt.ir.showing import show
from polyopt.numerics import Exactness
from polyopt.proof import certify
from polyopt.schedule import source_schedule
from polyopt.schedule.fusible_products import with_fusible_products
from polyopt.schedule.reductions import reassociated
from tests.oracle.enumerate import enumerate_kernel
from tests.unit.proof.edits import program_of

# ruff: noqa: F821, UP037 - sizes are named by strings


def common_factors(y: po.f64["N"], x: po.f64["N"]):
    for i in range(1, y.shape[0] - 1):
        y[i] = 0.25 * x[i - 1] + 0.5 * x[i] + 0.25 * x[i + 1] - 0.25 * y[i]


def merged(y: po.f64["N"], x: po.f64["N"]):
    for i in range(1, y.shape[0] - 1):
        y[i] = 0.125 * (x[i + 1] - 2.0 * x[i] + x[i - 1]) + x[i]


def shared(y: po.f64["N"], a: po.f64["N"], b: po.f64["N"], c: po.f64["N"]):
    for i in range(y.shape[0]):
        y[i] = abs(a[i] + b[i] - c[i] + 3.0) * abs(b[i] - a[i] + c[i] + 5.0)


def filtered(y: po.f64["N"], x: po.f64["N"]):
    for i in range(2, y.shape[0]):
        y[i] = 0.5 * y[i - 1] + 0.25 * x[i] + 0.125 * y[i - 2] + 0.5 * x[i - 1]


def swept(A: po.f64["M,N"]):
    for i in range(1, A.shape[0] - 1):
        for j in range(1, A.shape[1] - 1):
            A[i, j] = (A[i, j - 1] + A[i, j] + A[i, j + 1] + A[i - 1, j] + A[i + 1, j]) / 5.0


def scaled_sum(y: po.f64["N"], x: po.f64["N,M"]):
    for i in range(y.shape[0]):
        for j in range(2, x.shape[1]):
            y[i] += 0.3 * x[i, j] + 0.3 * x[i, j - 1] + 0.3 * x[i, j - 2]


def single(y: po.f32["N"], x: po.f32["N"]):
    for i in range(1, y.shape[0] - 1):
        y[i] = x[i - 1] * np.float32(0.1) + x[i] * np.float32(0.7) + x[i + 1] * np.float32(0.1)


CHANGED = (common_factors, merged, shared, filtered, swept, scaled_sum, single)


def cancelled(y: po.f64["N"], x: po.f64["N"]):
    for i in range(y.shape[0]):
        y[i] = (x[i] + y[i]) - x[i]


def balanced_already(y: po.f64["N"], x: po.f64["N"]):
    for i in range(1, y.shape[0] - 1):
        y[i] = 0.2 * (x[i - 1] + x[i] + x[i + 1])


def decided(y: po.f64["N"], x: po.f64["N"]):
    for i in range(y.shape[0]):
        y[i] = 1.0 if 0.5 * x[i] + 0.5 * y[i] > 1.0 else 2.0


def opened(func):
    return with_fusible_products(reassociated(program_of(func)))


def plain_loops(program) -> LoopFunction:
    return lower(source_schedule(program.scop), program)


def values(function: LoopFunction) -> list[str]:
    return [show(n.value) for n in all_nodes(function.body) if isinstance(n, Assign)]


@pytest.mark.parametrize("func", CHANGED)
def test_it_is_proven_where_roundings_are_open_and_refuted_elsewhere(func):
    program = opened(func)
    loops = plain_loops(program)
    regrouped = regroup(loops, fma=True)
    assert values(regrouped) != values(loops)
    assert certify(program, regrouped).is_proven
    sizes = dict.fromkeys(loops.params, 6)
    assert not enumerate_kernel(program, regrouped, sizes)
    assert not certify(program_of(func), regrouped).is_proven
    assert enumerate_kernel(program_of(func), regrouped, sizes)
    closed = replace(loops, fusible=frozenset())
    assert regroup(closed, fma=True) == closed


@pytest.mark.parametrize("func", [cancelled, balanced_already, decided])
def test_what_stays(func):
    loops = plain_loops(opened(func))
    assert values(regroup(loops, fma=True)) == values(loops)


def test_a_value_of_the_iteration_before_joins_last():
    (value,) = values(regroup(plain_loops(opened(swept)), fma=True))
    assert value.endswith("0.2 * A[i, j - 1]")
    (value,) = values(regroup(plain_loops(opened(filtered)), fma=True))
    assert value.endswith("0.125 * y[i - 2] + 0.5 * y[i - 1]")


def test_sums_in_common_are_made_of_the_same_operands():
    (value,) = values(regroup(plain_loops(opened(shared)), fma=True))
    assert value.count("a[i] - c[i]") + value.count("b[i] - c[i]") + value.count("a[i]") > 1
    parts = value.replace("abs(", "").replace(")", "").split(" * ")
    assert len(parts) == 2


def planted(function: LoopFunction, rule) -> LoopFunction:
    """Return loops with the first place that `rule` changes changed."""
    done: list[Expr] = []

    def once(part: Expr) -> Expr | None:
        found = None if done else rule(part)
        if found is not None:
            done.append(found)
        return found

    def renewed(node):
        if isinstance(node, Assign):
            return replace(node, value=rewrite(node.value, once))
        return replace(node, body=tuple(map(renewed, node.body)))

    changed = replace(function, body=tuple(map(renewed, function.body)))
    assert done
    return changed


def other_constant(part: Expr) -> Expr | None:
    if isinstance(part, Const) and part.dtype.is_float:
        return Const(float(np.float32(part.value * (1 + 2.0**-20))), part.dtype)
    return None


def other_operation(part: Expr) -> Expr | None:
    if isinstance(part, Binary) and part.dtype.is_float and part.op is BinaryOp.ADD:
        return replace(part, op=BinaryOp.SUB)
    return None


def lost_term(part: Expr) -> Expr | None:
    is_sum = isinstance(part, Binary) and part.dtype.is_float and part.op is BinaryOp.ADD
    return part.left if is_sum else None


def repeated_term(part: Expr) -> Expr | None:
    is_sum = isinstance(part, Binary) and part.dtype.is_float and part.op is BinaryOp.ADD
    return (
        replace(part, right=Binary(part.op, part.right, part.right, part.dtype)) if is_sum else None
    )


@pytest.mark.parametrize("rule", [other_constant, other_operation, lost_term, repeated_term])
@pytest.mark.parametrize("func", [common_factors, merged, filtered, swept, single])
def test_faults_are_refuted(func, rule):
    program = opened(func)
    wrong = planted(regroup(plain_loops(program), fma=True), rule)
    assert not certify(program, wrong).is_proven
    assert enumerate_kernel(program, wrong, dict.fromkeys(wrong.params, 6))


def test_a_neighbour_in_place_of_an_element_is_refuted():
    program = opened(common_factors)
    loops = regroup(plain_loops(program), fma=True)

    def neighbour(part: Expr) -> Expr | None:
        if not isinstance(part, Load) or show(part) != "x[i + 1]":
            return None
        return replace(part, index=(add(part.index[0], integer(1)),))

    assert not certify(program, planted(loops, neighbour)).is_proven


@pytest.mark.toolchain
@pytest.mark.parametrize("func", CHANGED)
def test_strict_kernels_keep_the_source_and_open_ones_are_classified(func):
    strict, loose = (
        po.kernel(func, fp=fp).compile().numerics.outputs[0].exactness
        for fp in ("strict", "reassociate")
    )
    assert strict is Exactness.EXACT
    assert loose is Exactness.REASSOCIATED


@pytest.mark.toolchain
@pytest.mark.parametrize("func", CHANGED)
@pytest.mark.parametrize("size", [0, 3, 29, 67])
def test_results_lie_within_their_bounds(func, size):
    kernel = po.kernel(func, fp="reassociate").compile()
    rng = np.random.default_rng(size)
    args = []
    for argument in kernel.signature.arguments:
        if hasattr(argument, "array"):
            dtype = np.float32 if func is single else np.float64
            rank = 2 if func is swept or (func is scaled_sum and argument.name == "x") else 1
            args.append(rng.normal(size=(size,) * rank).astype(dtype))
    for compared in kernel.compare(*args):
        assert compared.holds
