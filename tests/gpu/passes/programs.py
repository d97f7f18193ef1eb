# ruff: noqa: F821, UP037
"""Programs and mappings that need barriers, each of another kind.

In: a name of `MAPPED`.  Out: the program and its loops with kernels.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

import polyopt as po
from polyopt.emit.gpu import device_loops
from polyopt.emit.lower import lower
from polyopt.frontend import build
from polyopt.frontend.syntax.type_inference import infer_types
from polyopt.ir.loops import LoopFunction
from polyopt.ir.program import Program
from polyopt.schedule import source_schedule
from polyopt.transforms import parse_steps


def product(A: po.f64["N,K"], B: po.f64["K,M"], C: po.f64["N,M"]):
    for i in range(A.shape[0]):
        for j in range(B.shape[1]):
            for k in range(A.shape[1]):
                C[i, j] += A[i, k] * B[k, j]


def transposed(A: po.f64["N,N"], B: po.f64["N,N"]):
    for i in range(A.shape[0]):
        for j in range(A.shape[0]):
            B[j, i] = A[i, j]


def stencil(A: po.f64["N,N"], B: po.f64["N,N"]):
    for i in range(1, A.shape[0] - 1):
        for j in range(1, A.shape[0] - 1):
            B[i, j] = A[i, j] + A[i - 1, j] + A[i + 1, j] + A[i, j - 1] + A[i, j + 1]


def row_sums(A: po.f64["N,M"], s: po.f64["N"]):
    for i in range(A.shape[0]):
        part = np.zeros(32)
        for t in range(32):
            for j in range(A.shape[1] // 32):
                part[t] += A[i, 32 * j + t]
        s[i] = 0.0
        for u in range(32):
            s[i] += part[u]


def steps_in_time(A: po.f64["N,N"], B: po.f64["N,N"], T: int):
    for _ in range(T):
        for i in range(1, A.shape[0] - 1):
            for j in range(1, A.shape[0] - 1):
                B[i, j] = A[i - 1, j] + A[i + 1, j] + A[i, j - 1] + A[i, j + 1]
        for i in range(1, A.shape[0] - 1):
            for j in range(1, A.shape[0] - 1):
                A[i, j] = B[i - 1, j] + B[i + 1, j] + B[i, j - 1] + B[i, j + 1]


def scaled(A: po.f64["N,M"], B: po.f64["N,M"]):
    B[:] = A / np.sum(A, axis=1, keepdims=True)


def shortened(A: po.f64["N,40"], B: po.f64["N,40"]):
    B[:] = A - np.max(A, axis=1, keepdims=True)


def doubled(A: po.f64["N,M"], B: po.f64["N,M"]):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            B[i, j] = 2.0 * A[i, j]


def triangle(A: po.f64["N,N"]):
    for i in range(A.shape[0]):
        for j in range(i, A.shape[0]):
            A[i, j] = A[i, j] * 2.0


def script(a: po.f64["N"], index: po.i64["N"], out: po.f64["N"]):
    most = 0.0
    for i in range(a.shape[0]):
        if a[i] > most:
            most = a[i]
    for i in range(a.shape[0]):
        out[i] = a[index[i]] / most
    while most > 1.0:
        most = most / 2.0
    if most > 0.5:
        out[0] = np.linalg.norm(out)


TILED = "tile(L0, 16, 16); grid(L0.tile); pack(A, j_tile); threads(A_in); threads(L0.point)"
PRODUCT = (
    "tile(L0, 16, 16, 8); grid(i_tile, j_tile); pack(A, k_tile); pack(B, k_tile);"
    "threads(L0.point[0], L0.point[1])"
)

MAPPED: dict[str, tuple[Callable[..., Any], str]] = {
    "product, copied by one thread": (product, PRODUCT),
    "product": (product, f"{PRODUCT}; threads(A_in); threads(B_in)"),
    "product in registers": (
        product,
        "tile(L0, 16, 16, 8); tile(L0.point, 2, 2, 8);"
        "threads(L0.point.tile[0], L0.point.tile[1]); pack(A, L0.tile[2]); threads(A_in);"
        "pack(B, L0.tile[2]); threads(B_in); pack(C, L0.tile[1]); tile(C_in, 2, 2);"
        "threads(C_in.tile); tile(C_out, 2, 2); threads(C_out.tile);"
        "grid(L0.tile[0], L0.tile[1])",
    ),
    "transposed": (
        transposed,
        "tile(L0, 16, 16); interchange(L0.point[0], L0.point[1]); grid(L0.tile);"
        "pack(A, L0.tile[1]); threads(A_in); threads(L0.point)",
    ),
    "stencil": (stencil, TILED),
    "sums of rows": (row_sums, "grid(i); threads(t)"),
    "rows of blocks": (
        scaled,
        "deal(L1[1], 64); rfactor(S1, L1[1]); strip(tmp_join[0], 32);"
        "rfactor(tmp_join, tmp_join[0]); deal(L2[1], 64); fuse(L0, L1, 1); fuse(L0, L2, 1);"
        "threads(L1.inner2); threads(L2[0]); threads(tmp_join); combine(tmp_join.inner[0]);"
        "combine(tmp_join2[0]); grid(L0)",
    ),
    "rows of warps": (
        shortened,
        "deal(L1[1], 32); rfactor(S1, L1[1]); deal(L2[1], 32); fuse(L0, L1, 1);"
        "fuse(L0, L2, 1); tile(L0, 2); distribute(L0.point); threads(L0.point.0);"
        "threads(L0.point.1); threads(L0.point.2[0]); combine(L0.point.2[1]);"
        "threads(L0.point.3[0], L0.point.3[1]); grid(L0.tile)",
    ),
}


@cache
def program_of(function: Callable[..., Any]) -> Program:
    """Return the program of an annotated function."""
    return build(function, infer_types(function))


@cache
def kernels_of(function: Callable[..., Any], steps: str = "") -> LoopFunction:
    """Return the kernels of a function; `steps` are for one with one static control part."""
    program = program_of(function)
    schedules = [source_schedule(scop) for scop in program.scops]
    if steps:
        schedules = [schedules[0].apply(*parse_steps(steps))]
    return device_loops(lower(tuple(schedules), program))


def searches(a: po.f64["N"], wanted: po.f64["Q"], found: po.i64["Q"]):
    for i in range(wanted.shape[0]):
        low = 0
        high = a.shape[0]
        while low < high:
            middle = (low + high) // 2
            if a[middle] < wanted[i]:
                low = middle + 1
            else:
                high = middle
        found[i] = low
