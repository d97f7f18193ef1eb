"""Values that do not live across a loop take no memory that grows with it.

Each program is compared with Python, and its temporaries with its arguments.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import polyopt as po
from polyopt.frontend import build
from polyopt.frontend.syntax.type_inference import infer_types
from polyopt.machine import Machine
from polyopt.pipeline import compile_program
from polyopt.targets import FpMode, Options, Target
from polyopt.tuning import tune
from tests.machines import NARROW, WIDE
from tests.memory import assert_bounded

# ruff: noqa: F821, UP037, B007, SIM108 - programs as users write them


def n_body(
    x: po.f64["n"],
    y: po.f64["n"],
    z: po.f64["n"],
    u: po.f64["n"],
    v: po.f64["n"],
    w: po.f64["n"],
    m: po.f64["n"],
    steps: int,
    dt: float,
):
    n = x.shape[0]
    for t in range(steps):
        for i in range(n):
            ax = 0.0
            ay = 0.0
            az = 0.0
            for j in range(n):
                dx = x[j] - x[i]
                dy = y[j] - y[i]
                dz = z[j] - z[i]
                d = dx * dx + dy * dy + dz * dz + 0.01
                f = m[j] / (d * np.sqrt(d))
                ax += f * dx
                ay += f * dy
                az += f * dz
            u[i] += ax * dt
            v[i] += ay * dt
            w[i] += az * dt
        for i in range(n):
            x[i] += u[i] * dt
            y[i] += v[i] * dt
            z[i] += w[i] * dt


def leapfrog(x: po.f64["n"], v: po.f64["n"], m: po.f64["n"], steps: int, dt: float):
    n = x.shape[0]
    for t in range(steps):
        for i in range(n):
            a = 0.0
            for j in range(n):
                d = x[j] - x[i]
                a += m[j] * d / (abs(d) ** 3 + 0.1)
            v[i] += 0.5 * dt * a
        for i in range(n):
            x[i] += dt * v[i]
        for i in range(n):
            a = 0.0
            for j in range(n):
                d = x[j] - x[i]
                a += m[j] * d / (abs(d) ** 3 + 0.1)
            v[i] += 0.5 * dt * a


def short_arrays(x: po.f64["n", "m"], steps: int):
    n, m = x.shape
    for t in range(steps):
        for i in range(n):
            for j in range(m):
                h = np.zeros(4)
                for q in range(4):
                    h[q] = x[i, j] * (q + 1)
                s = 0.0
                for q in range(4):
                    s += h[q] / (1.0 + h[q] * h[q])
                x[i, j] = s


def normalized(x: po.f64["n"], steps: int):
    n = x.shape[0]
    for t in range(steps):
        s = 0.0
        for i in range(n):
            s += x[i]
        mean = s / n
        q = 0.0
        for i in range(n):
            q += (x[i] - mean) * (x[i] - mean)
        r = 1.0 / np.sqrt(q + 1.0)
        for i in range(n):
            x[i] = (x[i] - mean) * r + 0.5


def curvature(u: po.f64["n", "m"], steps: int):
    for t in range(steps):
        l = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4.0 * u[1:-1, 1:-1]
        g = np.sqrt(l * l + 1.0)
        u[1:-1, 1:-1] += 0.1 * l / g


def power_iteration(A: po.f64["n", "n"], x: po.f64["n"], steps: int):
    n = x.shape[0]
    for t in range(steps):
        y = np.zeros(n)
        for i in range(n):
            for j in range(n):
                y[i] += A[i, j] * x[j]
        s = 0.0
        for i in range(n):
            s += y[i] * y[i]
        for i in range(n):
            x[i] = y[i] / np.sqrt(s)


def power_iteration_whole(A: po.f64["n", "n"], x: po.f64["n"], steps: int):
    for t in range(steps):
        y = A @ x
        x[:] = y / np.sqrt(np.sum(y * y))


def rolling(x: po.f64["n"], steps: int):
    n = x.shape[0]
    for t in range(steps):
        prev = x[0]
        for i in range(1, n):
            cur = x[i]
            x[i] = 0.5 * (prev + cur)
            prev = cur


def recurrence(out: po.f64["1"], steps: int):
    a = 0.0
    b = 1.0
    for t in range(steps):
        c = a + b
        a = b * 0.5
        b = c * 0.6
    out[0] = b


def until_small(x: po.f64["n"], tol: float):
    n = x.shape[0]
    err = 1.0
    while err > tol:
        err = 0.0
        for i in range(n):
            y = 0.5 * x[i]
            z = y * y
            err += z
            x[i] = y
    return err


def helper(v):
    w = np.zeros(3)
    for k in range(3):
        w[k] = v[k] * 0.5
    return w[0] + w[1] * w[2]


def inlined(p: po.f64["n", 3], steps: int):
    for t in range(steps):
        for i in range(p.shape[0]):
            s = helper(p[i])
            p[i, 0] = s * 0.5
            p[i, 1] -= 0.1 * s


def chosen(x: po.f64["n", "n"], steps: int):
    n = x.shape[0]
    for t in range(steps):
        for i in range(n):
            for j in range(n):
                if i > j:
                    s = 1.0 * x[i, j]
                else:
                    s = 2.0 * x[i, j]
                r = s * s + np.exp(s)
                x[i, j] = r / (1.0 + r * r)


def absorbing(e: po.f64["n"], h: po.f64["n"], steps: int):
    n = e.shape[0]
    for t in range(steps):
        left = e[1]
        right = e[n - 2]
        for i in range(1, n):
            e[i] += 0.5 * (h[i - 1] - h[i])
        e[0] = left
        e[n - 1] = right
        for i in range(n - 1):
            h[i] += 0.5 * (e[i] - e[i + 1])


def flipped(s: po.f64["n", "n"], r: po.f64["steps", "n", "n"]):
    steps = r.shape[0]
    n = s.shape[0]
    for t in range(steps):
        for i in range(n):
            for j in range(n):
                nb = (
                    s[(i + 1) % n, j]
                    + s[(i + n - 1) % n, j]
                    + s[i, (j + 1) % n]
                    + s[i, (j + n - 1) % n]
                )
                de = 2.0 * s[i, j] * nb
                if de < 0.0 or r[t, i, j] < np.exp(-de):
                    s[i, j] = -s[i, j]


def in_two_nests(u: po.f64["n"], v: po.f64["n"], steps: int):
    n = u.shape[0]
    f = np.zeros(n)
    for t in range(steps):
        for i in range(1, n - 1):
            f[i] = u[i + 1] - u[i - 1]
        for i in range(1, n - 1):
            v[i] += f[i] * 0.1
        for i in range(1, n - 1):
            u[i] -= f[i + 1] * f[i - 1] * 0.01


def n_body_whole(pos: po.f64["n", 3], vel: po.f64["n", 3], m: po.f64["n"], steps: int, dt: float):
    for t in range(steps):
        d = pos[None, :, :] - pos[:, None, :]
        r = np.sum(d * d, axis=2) + 0.01
        inv = m[None, :] / (r * np.sqrt(r))
        vel += dt * np.sum(d * inv[:, :, None], axis=1)
        pos += dt * vel


def layers(x: po.f64["a", "b", "c"], steps: int):
    a, b, c = x.shape
    for t in range(steps):
        for i in range(a):
            for j in range(b):
                s = 0.0
                for k in range(c):
                    s += x[i, j, k]
                mu = s / c
                v = 0.0
                for k in range(c):
                    v += (x[i, j, k] - mu) ** 2
                for k in range(c):
                    x[i, j, k] = (x[i, j, k] - mu) / np.sqrt(v + 1.0)


FUNCTIONS: tuple[Callable[..., Any], ...] = (
    n_body, n_body_whole, leapfrog, short_arrays, normalized, curvature, power_iteration,
    power_iteration_whole, in_two_nests, rolling, recurrence, until_small, inlined, chosen,
    absorbing, flipped, layers,
)  # fmt: skip
DIMENSIONS = {"n": 9, "m": 5, "a": 3, "b": 4, "c": 6, "steps": 5}


def arguments(function: Callable[..., Any]) -> list[Any]:
    """Return values for a program: its names tell which are numbers."""
    rng = np.random.default_rng(4)
    found: list[Any] = []
    for name, kind in inspect.get_annotations(function).items():
        if name == "steps":
            found.append(DIMENSIONS["steps"])
        elif "[" not in kind:
            found.append(0.01)
        else:
            extents = re.findall(r"\w+", kind.partition("[")[2])
            shape = [int(e) if e.isdecimal() else DIMENSIONS[e] for e in extents]
            found.append(rng.uniform(0.1, 1.0, shape))
    return found


@pytest.mark.parametrize("fp, machine", [*zip(FpMode, (WIDE, NARROW, WIDE), strict=True)])
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_memory_on_processors(function: Callable[..., Any], fp: FpMode, machine: Machine) -> None:
    """In each mode, and on both machines: a mode is as good for one as for the other."""
    assert_small(function, Options(fp=fp), machine)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_memory_on_devices(function: Callable[..., Any]) -> None:
    assert_small(function, Options(target=Target.CUDA), Machine())


def assert_small(function: Callable[..., Any], options: Options, machine: Machine) -> None:
    """Assert that the temporaries of a program are no larger than its arguments."""
    program = build(function, infer_types(function))
    found = compile_program(program, options, machine)
    assert_bounded(program, found.loops)


@pytest.mark.toolchain
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_results(function: Callable[..., Any]) -> None:
    want, got = arguments(function), arguments(function)
    with np.errstate(all="ignore"):
        expected = function(*want)
    result = po.kernel(function, threads=2)(*got)
    if expected is not None:
        np.testing.assert_allclose(result, expected, rtol=1e-12)
    for one, two in zip(got, want, strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-9)


def test_memory_of_schedules_to_tune() -> None:
    """No candidate of a search keeps sums of all time steps."""
    program = build(normalized, infer_types(normalized))
    made = compile_program(program, Options(), WIDE)
    for text in tune.alternative_texts(made, Options(), WIDE):
        assert_bounded(program, compile_program(program, Options(schedule=text), WIDE).loops)
