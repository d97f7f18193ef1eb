"""Loops whose iterations share only temporaries and reassociable sums."""

from __future__ import annotations

import numpy as np
import pytest

import polyopt as po
from polyopt.ir.loops import LoopKind
from polyopt.pipeline import compile_program
from polyopt.schedule import source_schedule
from polyopt.schedule.reductions import reassociated
from polyopt.schedule.tree import bands
from polyopt.strategy.loop_privatization import privatize_loops
from polyopt.targets import Options, detect_machine
from tests.unit.proof.edits import program_of

# ruff: noqa: F821, UP037 - sizes are named by strings


def forces(x: po.f64["N,3"], f: po.f64["N,3"]):
    energy = 0.0
    for i in range(x.shape[0]):
        for j in range(x.shape[0]):
            if i != j:
                d = x[i] - x[j]
                square = (d * d).sum()
                energy += 1.0 / square
                f[i] += d / square
    return energy


def windows(x: po.f64["N"], out: po.f64["N"]):
    w = np.zeros(3)
    for i in range(1, x.shape[0] - 1):
        for k in range(3):
            w[k] = x[i + k - 1]
        out[i] = w[0] * w[1] * w[2]


def kept(x: po.f64["N"], out: po.f64["N"]):
    w = np.zeros(3)
    for i in range(x.shape[0]):
        w[i % 3] = x[i]
        out[i] = w[0] + w[1] + w[2]


def seen(x: po.f64["N"], out: po.f64["N"]):
    w = np.zeros(3)
    for i in range(x.shape[0]):
        for k in range(3):
            w[k] = x[i] * k
        out[i] = w[1]
    out[0] = w[2]


def kinds(function, *, is_open: bool = True):
    """Return the kinds of all loops, by label, where sums have an open order or not."""
    program = program_of(function)
    program = reassociated(program, choices=True) if is_open else program
    found = privatize_loops(source_schedule(program.scop))
    return {b.label: [m.kind for m in b.members] for b in bands(found.tree)}


def test_arrays_of_one_iteration_and_sums():
    found = kinds(forces)
    assert found["L0"] == [LoopKind.PARALLEL]
    assert found["L0.inner"] == [LoopKind.VECTOR]
    assert found["L1"] == [LoopKind.UNROLL]


def test_sums_in_order_are_left():
    assert all(
        kind is LoopKind.SEQUENTIAL for k in kinds(forces, is_open=False).values() for kind in k
    )


def test_arrays_that_are_written_outside_and_again():
    assert kinds(windows)["L1"] == [LoopKind.PARALLEL]


@pytest.mark.parametrize("function", [kept, seen])
def test_what_iterations_share_is_left(function):
    assert kinds(function)["L1"] == [LoopKind.SEQUENTIAL]


@pytest.mark.toolchain
def test_they_are_right():
    x = np.random.default_rng(5).normal(size=(61, 3))
    expected, own = np.zeros((2, 61, 3))
    for mode, bound in (("strict", 0.0), ("reassociate", 1e-12)):
        own[:], expected[:] = 0.0, 0.0
        energy = po.kernel(forces, fp=mode)(x, own)
        assert energy == pytest.approx(forces(x, expected), rel=1e-12)
        np.testing.assert_allclose(own, expected, rtol=max(bound, 1e-14), atol=1e-13)


def pairs(x: po.f64["N"], f: po.f64["N"]):
    energy = 0.0
    for i in range(x.shape[0]):
        for j in range(x.shape[0]):
            if i != j:
                d = x[i] - x[j]
                s = 1.0 / (d * d)
                energy += s * (s - 1.0)
                f[i] += s * s * d
    return energy


@pytest.mark.machine
def test_scalars_of_pairs_take_no_matrix():
    """N points have N numbers each: the program is not to need the square of that."""
    made = compile_program(program_of(pairs), Options(), detect_machine())
    assert all(len(array.shape) < 2 for array in made.loops.arrays)


def clipped(x: po.f64["N"], out: po.f64["N"], high: float):
    over = 0
    for i in range(x.shape[0]):
        v = x[i]
        if v > high:
            v = high
            over += 1
        out[i] = v
    return over


@pytest.mark.machine
def test_sums_in_one_loop_have_no_partial_result_per_term():
    """What would have a sum for each element is summed in lanes."""
    made = compile_program(program_of(clipped), Options(), detect_machine())
    (loops,) = [s.tree for s in made.schedules]
    members = [member for band in bands(loops) for member in band.members]
    assert any(member.kind is LoopKind.VECTOR for member in members)
    sizes = [str(array.shape) for array in made.loops.arrays if "part" in array.name]
    assert sizes
    assert all("4096" in size for size in sizes)
