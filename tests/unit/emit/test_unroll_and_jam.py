"""Rows of stencils in groups: how many, where, and that every row runs once."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import polyopt as po
from polyopt.emit import optimize_loops
from polyopt.emit.lower import lower
from polyopt.emit.passes.unroll import unroll_and_jam
from polyopt.ir.loops import For, LoopFunction, LoopKind
from polyopt.ir.nodes import all_nodes
from polyopt.machine import Machine
from polyopt.proof import certify
from polyopt.schedule import source_schedule
from polyopt.schedule.fusible_products import with_fusible_products
from polyopt.schedule.reductions import reassociated
from polyopt.transforms import Vectorize
from tests.oracle.enumerate import enumerate_kernel
from tests.unit.proof.edits import program_of

MACHINE = Machine(cores=1, vector_bytes=16)

# ruff: noqa: F821, UP037 - sizes are named by strings


def box(b: po.f64["N,M"], a: po.f64["N,M"]):
    for i in range(1, a.shape[0] - 1):
        for j in range(a.shape[1] - 1):
            b[i, j] = (
                a[i - 1, j]
                + a[i - 1, j + 1]
                + a[i, j]
                + a[i, j + 1]
                + a[i + 1, j]
                + a[i + 1, j + 1]
            )


def weighted(b: po.f64["N,M"], a: po.f64["N,M"]):
    for i in range(2, a.shape[0]):
        for j in range(1, a.shape[1] - 1):
            low = a[i - 2, j - 1] + 2.0 * a[i - 2, j] + a[i - 2, j + 1]
            middle = a[i - 1, j - 1] + 2.0 * a[i - 1, j] + a[i - 1, j + 1]
            b[i, j] = low + 2.0 * middle + a[i, j - 1] + 2.0 * a[i, j] + a[i, j + 1]


def no_row_in_common(b: po.f64["N,M"], a: po.f64["N,M"]):
    for i in range(a.shape[0]):
        for j in range(1, a.shape[1] - 1):
            b[i, j] = a[i, j - 1] + a[i, j] + a[i, j + 1]


def rows_that_depend(b: po.f64["N,M"], a: po.f64["N,M"]):
    for i in range(1, a.shape[0] - 1):
        for j in range(a.shape[1]):
            b[i, j] = b[i - 1, j] + a[i - 1, j] + a[i, j] + a[i + 1, j]


def one_row_for_all(b: po.f64["M"], a: po.f64["N,M"]):
    for i in range(1, a.shape[0] - 1):
        for j in range(a.shape[1]):
            b[j] = a[i - 1, j] + a[i, j] + a[i + 1, j]


def rows_of_zeros(b: po.f64["N,M"]):
    for i in range(b.shape[0]):
        for j in range(b.shape[1]):
            b[i, j] = 0.0


def opened(func):
    return with_fusible_products(reassociated(program_of(func)))


def in_lanes(program) -> LoopFunction:
    return lower(source_schedule(program.scop).apply(Vectorize("j")), program)


def steps(function: LoopFunction) -> list[int]:
    return [n.step for n in all_nodes(function.body) if isinstance(n, For) and n.step > 1]


@pytest.mark.parametrize("func", [box, weighted])
@pytest.mark.parametrize("rows", range(10))
def test_every_row_runs_once(func, rows):
    program = opened(func)
    grouped = unroll_and_jam(in_lanes(program), MACHINE)
    assert steps(grouped) == [4]
    sizes = dict.fromkeys(grouped.params, 5) | {grouped.params[0]: rows}
    assert not enumerate_kernel(program, grouped, sizes)


@pytest.mark.parametrize("func", [box, weighted])
def test_it_is_proven_with_shared_sums(func):
    program = opened(func)
    loops = optimize_loops(in_lanes(program), MACHINE, "reassociate")
    assert 4 in steps(loops)
    assert certify(program, loops).is_proven
    assert not certify(program_of(func), loops).is_proven


@pytest.mark.parametrize(
    "func", [no_row_in_common, rows_that_depend, one_row_for_all, rows_of_zeros]
)
def test_other_rows_stay(func):
    program = opened(func)
    loops = lower(source_schedule(program.scop), program)
    vectors = replace(loops, body=tuple(map(_innermost_in_lanes, loops.body)))
    assert unroll_and_jam(vectors, MACHINE) == vectors


def _innermost_in_lanes(node):
    if not isinstance(node, For):
        return node
    if not any(isinstance(inner, For) for inner in node.body):
        return replace(node, kind=LoopKind.VECTOR)
    return replace(node, body=tuple(map(_innermost_in_lanes, node.body)))


def _changed_loop(function: LoopFunction, change) -> LoopFunction:
    def renewed(node):
        if not isinstance(node, For):
            return node
        return change(replace(node, body=tuple(map(renewed, node.body))))

    return replace(function, body=tuple(map(renewed, function.body)))


def one_row_too_few(loop: For) -> For:
    return replace(loop, step=5) if loop.step == 4 else loop


def the_rest_is_left_out(loop: For) -> For:
    is_rest = loop.step == 1 and loop.kind is LoopKind.SEQUENTIAL
    return replace(loop, lower=loop.upper) if is_rest else loop


def groups_overlap(loop: For) -> For:
    return replace(loop, step=3) if loop.step == 4 else loop


@pytest.mark.parametrize("fault", [one_row_too_few, the_rest_is_left_out, groups_overlap])
def test_faults_are_refuted(fault):
    program = opened(box)
    grouped = unroll_and_jam(in_lanes(program), MACHINE)
    assert not certify(program, _changed_loop(grouped, fault)).is_proven


@pytest.mark.matrix(3)
@pytest.mark.toolchain
@pytest.mark.parametrize("func", [box, weighted])
@pytest.mark.parametrize("shape", [(0, 4), (3, 40), (6, 67), (17, 131), (4, 3)])
@pytest.mark.parametrize("threads", [1, 2])
def test_results_lie_within_their_bounds(func, shape, threads):
    kernel = po.kernel(func, fp="reassociate", threads=threads).compile()
    rng = np.random.default_rng(1)
    (compared,) = kernel.compare(np.zeros(shape), rng.normal(size=shape))
    assert compared.holds


def test_small_machines_have_no_lanes_to_share():
    program = opened(box)
    loops = in_lanes(program)
    assert unroll_and_jam(loops, replace(MACHINE, vector_bytes=8)) == loops
