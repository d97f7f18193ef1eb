"""What type checkers refuse of kernels: the lines that say so, and no others."""

from __future__ import annotations

import polyopt as po


@po.kernel(fp="nonsense")  # wrong
def a(x: float) -> float:
    return x


@po.kernel(thread=2)  # wrong
def b(x: float) -> float:
    return x


@po.kernel
def c(x: float) -> float:
    return x


c("text")  # wrong
c(1.0, 2.0)  # wrong
y: str = c(1.0)  # wrong
c.with_options(target="fortran")  # wrong
c.with_options(tuned=3)  # wrong
po.config(budget=[])  # wrong
