import numpy as np

import polyopt as po


def f(a, b):
    n, m = a.shape
    for i in range(n):
        for j in range(m):
            b[i, j] = 2.0 * a[i, j]


def act():
    a = np.zeros((4, 4))
    po.kernel(schedule="tile(L0, 2, 2); grid(L0.tile)")(f).compile(a, a.copy())
