"""Loops marked parallel that must not be: legality is switched off, the tree is marked directly.

In: nothing.  Out: `PLANTED`: programs, the loop to mark, arguments that show the conflict; `plant`
makes the loop AST that is printed.  Whatever judges compiled kernels must catch each of them.
"""

# ruff: noqa: B007, F821, UP037 - sizes are named by strings
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import polyopt as po
from polyopt.emit import optimize_loops
from polyopt.emit.lower import lower
from polyopt.emit.passes.nontemporal_stores import STRIP
from polyopt.frontend import build
from polyopt.frontend.syntax.type_inference import infer_types
from polyopt.ir.loops import LoopFunction, LoopKind
from polyopt.ir.program import Program
from polyopt.schedule import source_schedule
from polyopt.transforms.reference import change_loop
from polyopt.transforms.text import parse_steps
from tests.machines import NARROW

N = 40


@dataclass(frozen=True, slots=True)
class Planted:
    """A program, steps that are legal, and a loop that they leave dependences on."""

    function: Callable[..., Any]
    loop: str
    steps: str = ""
    kind: LoopKind = LoopKind.PARALLEL
    size: int = N

    def __str__(self) -> str:
        return f"{self.function.__name__}-{self.loop}-{self.kind.value}"


def plant(planted: Planted) -> tuple[Program, LoopFunction]:
    """Return the program, and the loops that are printed when no judge sees the mark."""
    program = build(planted.function, infer_types(planted.function))
    schedule = source_schedule(program.scop)
    steps = parse_steps(planted.steps)
    if steps:
        schedule = schedule.apply(*steps)
    tree = change_loop(
        schedule.tree, planted.loop, "plant", lambda m: replace(m, kind=planted.kind)
    )
    return program, optimize_loops(lower(replace(schedule, tree=tree), program), NARROW, "strict")


def arguments(planted: Planted) -> tuple[Any, ...]:
    """Return arguments whose subscripts meet."""
    rng = np.random.default_rng(11)
    made: list[Any] = []
    for kind in infer_types(planted.function):
        shape = (planted.size,) * getattr(kind, "rank", 0)
        if kind.dtype.is_float:
            made.append(rng.uniform(1.0, 2.0, shape))
        else:
            made.append(rng.integers(0, planted.size // 2, shape))
    return tuple(made)


def neighbour(a: po.f64["N"]):
    for i in range(1, a.shape[0]):
        a[i] = a[i - 1] + 1.0


def far_neighbour(a: po.f64["N"]):
    for i in range(7, a.shape[0]):
        a[i] = a[i - 7] * 2.0


def mirror(a: po.f64["N"]):
    for i in range(a.shape[0]):
        a[a.shape[0] - 1 - i] = a[i] + 1.0


def one_pair(a: po.f64["N"], b: po.f64["N"]):
    for i in range(a.shape[0]):
        b[i] = a[i]
        if i % 31 == 30:
            b[2] = 0.5


def last_value(x: po.f64["N"], y: po.f64["N"], s: po.f64["M"]):
    for i in range(x.shape[0]):
        s[0] = x[i]
        y[i] = x[i] * 2.0


def decay(x: po.f64["N"], y: po.f64["N"]):
    m = x[0]
    for i in range(x.shape[0]):
        m = 0.9 * m + 0.1 * x[i]
        y[i] = m


def heat(a: po.f64["N"], b: po.f64["N"]):
    for t in range(10):
        for i in range(1, a.shape[0] - 1):
            b[i] = (a[i - 1] + a[i] + a[i + 1]) / 3.0
        for i in range(1, a.shape[0] - 1):
            a[i] = b[i]


def sweep(a: po.f64["N,N"]):
    for t in range(4):
        for i in range(1, a.shape[0] - 1):
            for j in range(1, a.shape[1] - 1):
                a[i, j] = (a[i - 1, j] + a[i, j - 1] + a[i, j + 1] + a[i + 1, j]) / 4.0


def diagonals(c: po.f64["N,N"]):
    for i in range(1, c.shape[0]):
        for j in range(1, c.shape[1]):
            c[i, j] = c[i - 1, j] + c[i, j - 1]


def knights(c: po.f64["N,N"]):
    for i in range(1, c.shape[0]):
        for j in range(2, c.shape[1] - 2):
            c[i, j] = c[i - 1, j + 2] + c[i, j - 1]


def elimination(a: po.f64["N,N"]):
    for k in range(a.shape[0]):
        for i in range(k + 1, a.shape[0]):
            a[i, k] = a[i, k] / a[k, k]
            for j in range(k + 1, a.shape[0]):
                a[i, j] = a[i, j] - a[i, k] * a[k, j]


def shortest(d: po.f64["N,N"]):
    for k in range(d.shape[0]):
        for i in range(d.shape[0]):
            for j in range(d.shape[0]):
                d[i, j] = min(d[i, j], d[i, k] + d[k, j])


def forward(l: po.f64["N,N"], b: po.f64["N"], x: po.f64["N"]):
    for i in range(x.shape[0]):
        x[i] = b[i]
        for j in range(i):
            x[i] = x[i] - l[i, j] * x[j]
        x[i] = x[i] / l[i, i]


def transpose(a: po.f64["N,N"]):
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            a[j, i] = a[i, j] + 1.0


def columns(a: po.f64["N,N"], top: po.f64["N"]):
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            top[j] = a[i, j]


def scatter(y: po.f64["N"], index: po.i64["N"], x: po.f64["N"]):
    for i in range(x.shape[0]):
        y[index[i]] = x[i]


def scaled_histogram(h: po.f64["N"], index: po.i64["N"], x: po.f64["N"]):
    for i in range(x.shape[0]):
        h[index[i]] = 0.5 * h[index[i]] + x[i]


def strided(a: po.f64["N,N"]):
    for i in range(1, a.shape[0]):
        for j in range(a.shape[1]):
            a[i, j] = a[i - 1, a.shape[1] - 1 - j] + 1.0


PLANTED: tuple[Planted, ...] = (
    Planted(neighbour, "i"),
    Planted(far_neighbour, "i"),
    Planted(mirror, "i"),
    Planted(one_pair, "i"),
    Planted(last_value, "i", size=3 * STRIP),
    Planted(decay, "i", size=3 * STRIP),
    Planted(heat, "t"),
    Planted(sweep, "t"),
    Planted(sweep, "i"),
    Planted(sweep, "j"),
    Planted(diagonals, "i"),
    Planted(diagonals, "i", "skew(i, j, 1)"),
    Planted(knights, "j", "skew(j, i, 1)"),
    Planted(elimination, "k"),
    Planted(shortest, "k"),
    Planted(forward, "i"),
    Planted(transpose, "i"),
    Planted(columns, "i"),
    Planted(scatter, "i"),
    Planted(scaled_histogram, "i"),
    Planted(strided, "i"),
    Planted(strided, "i", kind=LoopKind.VECTOR),
    Planted(mirror, "i", kind=LoopKind.VECTOR),
)
