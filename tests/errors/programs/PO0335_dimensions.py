import numpy as np

import polyopt as po


def f(x, y):
    t = np.empty_like(x)
    for i in range(x.shape[0]):
        t[i] = x[i] * 2.0
    for i in range(x.shape[0]):
        y[i] = t[x.shape[0] - 1 - i]


def act():
    po.kernel(schedule="layout(t, 1, 0)")(f).schedule(np.zeros(4), np.zeros(4))
