import numpy as np

import polyopt as po


def f(a, b):
    n, m = a.shape
    for i in range(1, n):
        for j in range(m - 1):
            a[i, j] = a[i - 1, j + 1]
    for i in range(n):
        for j in range(m):
            b[i, j] = 2.0 * a[i, j]


def act():
    po.kernel(schedule="parallelize(L0[0])")(f).schedule(np.zeros((4, 4)), np.zeros((4, 4)))
