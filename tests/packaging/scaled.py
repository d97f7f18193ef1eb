"""The kernel that the sample projects ship."""

import polyopt as po

# ruff: noqa: F821 - sizes are named by strings


def scaled(x: po.f64["N,M"], out: po.f64["N,M"], a: float):
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            out[i, j] = a * x[i, j]
