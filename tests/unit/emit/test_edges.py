"""Loops whose first or last iterations run other statements: these are outside of the loops."""

from __future__ import annotations

import numpy as np
import pytest

import polyopt as po
from polyopt.building import compile_stages
from polyopt.frontend import infer_types
from polyopt.ir.loops import For, If
from polyopt.ir.nodes import all_nodes
from polyopt.ir.scop import Role
from polyopt.machine import Machine
from polyopt.targets import Options

# ruff: noqa: F821, UP037 - sizes are named by strings


def shifted(f: po.f64["N"], out: po.f64["N,N"], e: float):
    for k in range(1, f.shape[0]):
        for i in range(k + 1):
            a = f[i] if i < k else 0.0
            b = f[k - i] if i > 0 else 1.0
            out[k, i] = (a - e * b) * 0.5
        out[0, k] = out[k, 0] + out[k - 1, 0]


def ends(x: po.f64["N"], out: po.f64["N"]):
    for i in range(x.shape[0]):
        left = 2.0 * x[i]
        if i == 0:
            left = x[i] + 1.0
        out[i] = left * left + x[i]


def ring(a: po.f64["N,N"], out: po.f64["N,N"]):
    n = a.shape[0]
    for i in range(n):
        for j in range(n):
            t = a[i, (j + 1) % n] + a[i, j - 1]
            out[i, j] = t * t - a[i, j]


def running(x: po.f64["N"], out: po.f64["N"]):
    for i in range(x.shape[0]):
        t = x[i] * 3.0
        if i >= 2:
            t = t + out[i - 2]
        if i == x.shape[0] - 1:
            t = t - 1.0
        out[i] = t


PROGRAMS = {
    shifted: lambda rng, n: (rng.normal(size=n), np.zeros((n, n)), 0.3),
    ends: lambda rng, n: (rng.normal(size=n), np.zeros(n)),
    ring: lambda rng, n: (rng.normal(size=(n, n)), np.zeros((n, n))),
    running: lambda rng, n: (rng.normal(size=n), np.zeros(n)),
}


@pytest.mark.parametrize("function", [shifted, ends], ids=lambda f: f.__name__)
def test_iterations_with_the_same_statements_have_a_loop(function):
    machine = Machine(cores=2, vector_bytes=32)
    found = compile_stages(function, infer_types(function), Options(), machine).loops
    loops = [node for node in all_nodes(found.body) if isinstance(node, For)]
    assert not any(isinstance(n, If) for loop in loops for n in loop.body)
    assert not [array.name for array in found.arrays if array.role is Role.TEMP]


@pytest.mark.toolchain
@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
def test_values_are_those_of_python(function):
    kernel = po.kernel(function, threads=1)
    for n in (1, 2, 3, 4, 17, 100):
        found = PROGRAMS[function](np.random.default_rng(n), n)
        expected = PROGRAMS[function](np.random.default_rng(n), n)
        kernel(*found)
        function(*expected)
        np.testing.assert_array_equal(found[1], expected[1])
