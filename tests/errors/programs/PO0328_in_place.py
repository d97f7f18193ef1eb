import numpy as np

import polyopt as po


def f(u, steps):
    for t in range(steps):
        for i in range(1, u.shape[0] - 1):
            u[i] = u[i - 1] + u[i + 1]


def act():
    po.kernel(schedule="diamond(L0, 32)")(f).schedule(np.zeros(9), 3)
