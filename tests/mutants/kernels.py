"""Kernels of many kinds, whose small edits the certificate must not take for the program.

In: nothing.  Out: `KERNELS`: programs with sizes, and `compiled`: a program's loops.
"""

# ruff: noqa: F821, UP037 - sizes are named by strings
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

import polyopt as po
from polyopt.emit import optimize_loops
from polyopt.emit.lower import lower
from polyopt.frontend import build
from polyopt.frontend.syntax.type_inference import infer_types
from polyopt.ir.loops import LoopFunction
from polyopt.ir.program import Program
from polyopt.machine import Machine
from polyopt.schedule import source_schedule
from polyopt.schedule.reductions import reassociated
from polyopt.schedule.regions import settle_regions
from polyopt.strategy import auto_schedule
from polyopt.transforms import parse_steps

MACHINE = Machine(cores=2, vector_bytes=32, l1=512, l2=2048, l3=8192)


@dataclass(frozen=True, eq=False)
class Kernel:
    """A function, the steps taken of it (None: the automatic schedule), and its sizes.

    `is_open`: the order of its sums is.
    """

    function: Callable[..., Any]
    steps: str | None = None
    sizes: tuple[dict[str, int], ...] = ({"N": 5, "M": 6}, {"N": 9, "M": 3}, {"N": 2, "M": 1})
    is_open: bool = False

    def __str__(self) -> str:
        return self.function.__name__


@cache
def compiled(kernel: Kernel) -> tuple[Program, LoopFunction]:
    """Return a kernel's program, and the loops that are printed."""
    program = build(kernel.function, infer_types(kernel.function))
    if kernel.is_open:
        program = reassociated(program)
    settled = program if program.is_static else settle_regions(program)
    if kernel.steps is None:
        schedules = [auto_schedule(scop, MACHINE) for scop in settled.scops]
    else:
        schedules = [source_schedule(scop) for scop in settled.scops]
        if kernel.steps:
            schedules[0] = schedules[0].apply(*parse_steps(kernel.steps))
    return program, optimize_loops(lower(schedules, settled), MACHINE, "strict")


def gemm(c: po.f64["N,N"], a: po.f64["N,M"], b: po.f64["M,N"]):
    c += a @ b


def heat(u: po.f64["N,M"]):
    for t in range(u.shape[0] - 1):
        for i in range(1, u.shape[1] - 1):
            u[t + 1, i] = 0.5 * u[t, i] + 0.25 * (u[t, i - 1] + u[t, i + 1])


def solve(x: po.f64["N"], l: po.f64["N,N"], b: po.f64["N"]):
    for i in range(x.shape[0]):
        x[i] = b[i]
        for j in range(i):
            x[i] -= l[i, j] * x[j]
        x[i] = x[i] / l[i, i]


def row_means(y: po.f64["N"], a: po.f64["N,M"]):
    for i in range(a.shape[0]):
        total = 0.0
        for j in range(a.shape[1]):
            total += a[i, j]
        y[i] = total / a.shape[1]


def clipped(y: po.f64["N"], x: po.f64["N"], z: po.f64["N"]):
    for i in range(x.shape[0]):
        if x[i] > 1.0:
            y[i] = x[i] - z[i]
        else:
            y[i] = z[i] * 2.0 - x[i]


def gathered(y: po.f64["N"], x: po.f64["M"], p: po.i64["N"]):
    for i in range(y.shape[0]):
        y[i] += x[p[i]]


def sums(a: po.f64["N,M"]):
    return a.sum(axis=0)


def largest(a: po.f64["N,M"]):
    return a.max(axis=1) - a.min(axis=1)


def blurred(b: po.f64["N,M"], a: po.f64["N,M"]):
    b[1:-1] = (a[:-2] + a[1:-1] + a[2:]) / 3.0


def halving(n: po.i64, x: po.f64["N"]):
    while n > 1:
        for i in range(x.shape[0]):
            x[i] = x[i] / 2.0 + 1.0
        n = n // 2


def picked(a: po.f64["N"], b: po.f64["N"]):
    return (a[a > 1.0] * 2.0).sum() + b[0]


def tables(y: po.f64["N,4"], a: po.f64["N,4"]):
    for i in range(a.shape[0]):
        row = np.empty(4)
        for j in range(4):
            row[j] = a[i, j] + 1.0
        for j in range(4):
            y[i, j] = row[3 - j] * 2.0


TILED = "tile(L1, 4, 4, 4); interchange(L1.point[1], L1.point[2]); vectorize(L1.point[1])"
KERNELS: tuple[Kernel, ...] = (
    Kernel(gemm),
    Kernel(
        gemm, "tile(L1, 4, 4, 4); interchange(L1.point[1], L1.point[2]); vectorize(L1.point[1])"
    ),
    Kernel(heat),
    Kernel(heat, "tile(L0, 4); parallelize(i)"),
    Kernel(solve),
    Kernel(row_means, is_open=True),
    Kernel(clipped),
    Kernel(gathered),
    Kernel(sums, is_open=True),
    Kernel(largest, is_open=True),
    Kernel(blurred),
    Kernel(halving),
    Kernel(picked),
    Kernel(tables),
)
