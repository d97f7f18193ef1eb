"""Programs for several ranks, with the arrays that are cut, and arguments of any size."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import polyopt as po
from polyopt.dataclass import dataclass
from workloads.learning.adamw import adamw as adamw
from workloads.learning.adamw import make as make_adamw
from workloads.polybench.fdtd_2d import fdtd_2d, fdtd_2d_numpy
from workloads.polybench.heat_3d import heat_3d
from workloads.polybench.jacobi_2d import jacobi_2d
from workloads.polybench.seidel_2d import seidel_2d

RANDOM = np.random.default_rng(7)


def random(*shape: int) -> Any:
    """Return random numbers between 0 and 1."""
    return RANDOM.random(shape)


def whole(*shape: int) -> Any:
    """Return whole numbers of both signs."""
    return RANDOM.integers(-50, 50, shape)


def gemm(alpha: float, beta: float, C: po.f64["N,M"], A: po.f64["N,K"], B: po.f64["K,M"]):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            C[i, j] *= beta
        for k in range(A.shape[1]):
            for j in range(C.shape[1]):
                C[i, j] += alpha * A[i, k] * B[k, j]


def conjugate_gradient(steps: int, A: po.f64["N,N"], b: po.f64["N"], x: po.f64["N"]):
    r = b - A @ x
    p = r.copy()
    old = r @ r
    for _ in range(steps):
        q = A @ p
        alpha = old / (p @ q)
        x += alpha * p
        r -= alpha * q
        new = r @ r
        p = r + (new / old) * p
        old = new


def nbody(
    steps: int, pos: po.f64["N,3"], vel: po.f64["N,3"], mass: po.f64["N"], dt: float, soft: float
):
    for _t in range(steps):
        for i in range(pos.shape[0]):
            for j in range(pos.shape[0]):
                dx = pos[j, 0] - pos[i, 0]
                dy = pos[j, 1] - pos[i, 1]
                dz = pos[j, 2] - pos[i, 2]
                w = mass[j] / (dx * dx + dy * dy + dz * dz + soft)
                vel[i, 0] += dt * w * dx
                vel[i, 1] += dt * w * dy
                vel[i, 2] += dt * w * dz
        for i in range(pos.shape[0]):
            for c in range(3):
                pos[i, c] += dt * vel[i, c]


def softmax(x: po.f64["N"]):
    e = np.exp(x - np.max(x))
    return e / np.sum(e)


def softmax_rows(x: po.f64["N,M"]):
    e = np.exp(x - np.max(x, axis=1, keepdims=True))
    return e / np.sum(e, axis=1, keepdims=True)


def lu(A: po.f64["N,N"]):
    for k in range(A.shape[0]):
        for i in range(k + 1, A.shape[0]):
            A[i, k] /= A[k, k]
            for j in range(k + 1, A.shape[0]):
                A[i, j] -= A[i, k] * A[k, j]


def cholesky(A: po.f64["N,N"]):
    for i in range(A.shape[0]):
        for j in range(i):
            for k in range(j):
                A[i, j] -= A[i, k] * A[j, k]
            A[i, j] /= A[j, j]
        for k in range(i):
            A[i, i] -= A[i, k] * A[i, k]
        A[i, i] = np.sqrt(A[i, i])


def upwards(steps: int, A: po.f64["N,M"]):
    for _t in range(steps):
        for i in range(A.shape[0] - 2, -1, -1):
            for j in range(A.shape[1]):
                A[i, j] += 0.5 * A[i + 1, j]


def transpose(A: po.f64["N,M"], B: po.f64["M,N"]):
    for i in range(B.shape[0]):
        for j in range(B.shape[1]):
            B[i, j] = 2.0 * A[j, i]


def ordered_sum(x: po.f64["N"], y: po.f64["N"]):
    s = 0.0
    for i in range(x.shape[0]):
        s += x[i]
    for i in range(x.shape[0]):
        y[i] = x[i] * s


def largest(x: po.i64["N"], y: po.i64["N"]):
    most = np.max(x)
    total = np.sum(x)
    for i in range(x.shape[0]):
        y[i] = most * x[i] + total


def second_order(A: po.f64["N,M"], B: po.f64["N,M"]):
    for i in range(2, A.shape[0] - 2):
        for j in range(A.shape[1]):
            B[i, j] = A[i - 2, j] + A[i + 2, j] - A[i, j] + A[i - 1, j]


def two_loops(few: int, many: int, A: po.f64["N"], B: po.f64["N"]):
    for _t in range(few):
        for i in range(1, A.shape[0]):
            B[i] = A[i] + 0.5 * A[i - 1]
        for i in range(1, A.shape[0]):
            A[i] = B[i] + 0.5 * B[i - 1]
    for t in range(many, 0, -1):
        for i in range(A.shape[0] - 1):
            B[i] = A[i] + 0.25 * A[i + 1] + t
        for i in range(A.shape[0] - 1):
            A[i] = B[i] + 0.25 * B[i + 1]


def running_sum(x: po.i64["N"]):
    return np.cumsum(x)


def running_least(A: po.i64["N,M"], B: po.i64["N,M"]):
    for i in range(2, A.shape[0]):
        for j in range(1, A.shape[1]):
            B[i, j] = min(B[i - 1, j], A[i, j])


def running_in_steps(steps: int, x: po.i64["N"], y: po.i64["N"]):
    for t in range(steps):
        for i in range(1, x.shape[0]):
            y[i] = y[i - 1] + (x[i] + t)


def column_sums(X: po.f64["N,M"], p: po.f64["M"]):
    g = np.sum(X, axis=0)
    for j in range(p.shape[0]):
        p[j] -= 0.125 * g[j]


def later_product(C: po.i64["N,M"], A: po.i64["N,K"], B: po.i64["K,M"], D: po.i64["N,M"]):
    C += A @ B
    for i in range(1, C.shape[0]):
        for j in range(C.shape[1]):
            D[i, j] = C[i - 1, j]


def first_row(x: po.f64["N,M"]):
    return x[0] * 2.0


def to_the_first(x: po.f64["N"], y: po.f64["N"]):
    for _t in range(2):
        for i in range(x.shape[0]):
            y[0] += x[i]
        for i in range(x.shape[0]):
            x[i] *= 2.0


def turned_round(A, B):
    for i in range(A.shape[0]):
        B[i] = A[A.shape[0] - 1 - i]


def sums_of_sums_before(A, x):
    for i in range(A.shape[0]):
        for j in range(i):
            x[i] -= A[i, j] * x[j]


@dataclass(frozen=True, slots=True)
class Case:
    """A function, the axis that each array is cut along, arguments of size `n`.

    `exact`: results have the same bits on any number of ranks.
    """

    function: Callable[..., Any]
    shard: dict[str, Any]
    make: Callable[[int], tuple[Any, ...]]
    exact: bool = True
    least: int = 0


def _spd(n: int) -> Any:
    A = random(n, n)
    return A @ A.T + n * np.eye(n)


CASES: dict[str, Case] = {
    "jacobi_2d": Case(jacobi_2d, {"A": 0}, lambda n: (3, random(n, n), random(n, n))),
    "jacobi_2d by columns": Case(jacobi_2d, {"A": 1}, lambda n: (3, random(n, n), random(n, n))),
    "heat_3d": Case(heat_3d, {"A": 0}, lambda n: (2, random(n, n, n), random(n, n, n))),
    "fdtd_2d": Case(
        fdtd_2d,
        {"ex": 0, "ey": 0, "hz": 0},
        lambda n: (random(n, n + 2), random(n, n + 2), random(n, n + 2), random(3)),
        least=1,
    ),
    "fdtd_2d, NumPy": Case(
        fdtd_2d_numpy,
        {"hz": 0},
        lambda n: (random(n, n + 2), random(n, n + 2), random(n, n + 2), random(3)),
        least=1,
    ),
    "seidel_2d": Case(seidel_2d, {"A": 0}, lambda n: (3, random(n, n))),
    "gemm": Case(
        gemm,
        {"C": 0, "A": 0, "B": 0},
        lambda n: (1.5, 1.2, random(n, 5), random(n, 7), random(7, 5)),
    ),
    "conjugate_gradient": Case(
        conjugate_gradient,
        {"A": 0},
        lambda n: (3, _spd(n), random(n), np.zeros(n)),
        exact=False,
        least=1,
    ),
    "nbody": Case(
        nbody, {"pos": 0}, lambda n: (2, random(n, 3), random(n, 3), random(n), 0.01, 0.1)
    ),
    "softmax": Case(softmax, {"x": 0}, lambda n: (random(n),), exact=False, least=1),
    "softmax_rows": Case(softmax_rows, {"x": 1}, lambda n: (random(4, n),), exact=False, least=1),
    "adamw": Case(
        adamw,
        {"params": 0, "m": 0, "v": 0},
        lambda n: tuple(make_adamw(n, np.float32).values()),
    ),
    "lu": Case(lu, {"A": 0}, lambda n: (_spd(n),)),
    "lu, cyclic": Case(lu, {"A": po.cyclic(0)}, lambda n: (_spd(n),)),
    "lu, blocks in turn": Case(lu, {"A": po.cyclic(1, 2)}, lambda n: (_spd(n),)),
    "cholesky, blocks in turn": Case(cholesky, {"A": po.cyclic(0, 3)}, lambda n: (_spd(n),)),
    "upwards, in turn": Case(upwards, {"A": po.cyclic(0, 2)}, lambda n: (2, random(n, 3))),
    "softmax, in turn": Case(
        softmax, {"x": po.cyclic(0, 2)}, lambda n: (random(n),), exact=False, least=1
    ),
    "upwards": Case(upwards, {"A": 0}, lambda n: (3, random(n, 5))),
    "transpose": Case(transpose, {"A": 0, "B": 0}, lambda n: (random(n, n + 3), random(n + 3, n))),
    "ordered_sum": Case(ordered_sum, {"x": 0}, lambda n: (random(n), random(n))),
    "largest": Case(
        largest, {"x": 0}, lambda n: (np.arange(n) * 7919 % 31, np.zeros(n, np.int64)), least=1
    ),
    "two_loops": Case(two_loops, {"A": 0}, lambda n: (2, 5, random(n), random(n))),
    "running_sum": Case(running_sum, {"x": 0}, lambda n: (whole(n),), least=1),
    "running_least": Case(running_least, {"A": 0, "B": 0}, lambda n: (whole(n, 4), whole(n, 4))),
    "running_in_steps": Case(running_in_steps, {"y": 0}, lambda n: (3, whole(n), whole(n))),
    "column_sums": Case(
        column_sums, {"X": 0, "p": 0}, lambda n: (random(n + 2, n), random(n)), exact=False
    ),
    "later_product": Case(
        later_product,
        {"C": 0, "A": 1, "B": 0, "D": 0},
        lambda n: (whole(n, 4), whole(n, n + 1), whole(n + 1, 4), whole(n, 4)),
    ),
    "first_row": Case(first_row, {"x": 0}, lambda n: (random(n, 3),), least=1),
    "turned_round, in turn": Case(
        turned_round, {"A": po.cyclic(0, 2)}, lambda n: (random(n), random(n))
    ),
    "sums_of_sums_before": Case(sums_of_sums_before, {"A": 1}, lambda n: (whole(n, n), whole(n))),
    "second_order": Case(second_order, {"A": 0}, lambda n: (random(n, 4), random(n, 4))),
}
