"""What type checkers accept of kernels."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from numpy.typing import NDArray

import polyopt as po

Matrix = Annotated[NDArray[np.float64], po.f64["N,M"]]


@po.kernel
def scaled(a: Matrix, k: float) -> Matrix:
    return a * k


@po.kernel(fp="reassociate", threads=2, schedule="source", budget=10, tune=None)
def total(a: Annotated[NDArray[np.float64], po.f64["N"]]) -> float:
    s = 0.0
    for i in range(a.shape[0]):
        s += float(a[i])
    return s


x = np.ones((2, 3))
y: NDArray[np.float64] = scaled(x, 2.0)
z: float = total(np.ones(4))
w: float = total.py_func(np.ones(4))
faster: float = total.with_options(fp="fast")(np.ones(4))


def not_run() -> None:
    table: po.Bench = total.compile(N=po.any).bench(np.ones(4), against=["numpy"], seconds=0.1)
    known: float = total.with_options(tuned="tunings.jsonl")(np.ones(4))
    with po.config(num_threads=2, debug=True):
        print(table, known)
