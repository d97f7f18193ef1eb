import numpy as np

import polyopt as po


def f(x: po.f64["N"], n: int):
    t = np.zeros(n + 1)
    for i in range(n):
        t[i + 1] = t[i] + x[0]
    return t[::-1] * 2.0


def act():
    po.kernel(f, memory="64MB").compile(np.ones(4), 5)
