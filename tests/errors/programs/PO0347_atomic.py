import numpy as np

import polyopt as po


def f(a, b):
    n, m = a.shape
    for i in range(n):
        for j in range(m):
            b[i, j] = 2.0 * a[i, j]


def act():
    po.kernel(schedule="atomic(S0)")(f).schedule(np.zeros((4, 4)), np.zeros((4, 4)))
