import numpy as np

import polyopt as po


def f(x, steps):
    for t in range(steps):
        for i in range(1, x.shape[0]):
            x[i] = 0.5 * (x[i - 1] + x[i])


def act():
    po.kernel(schedule="overlap(t, 4, 32)")(f).schedule(np.zeros(4), 2)
