import numpy as np

import polyopt as po


def f(x):
    z = x / np.sum(x)
    return z.T @ z


def act():
    po.kernel(f, memory="1kB", threads=1).compile(np.ones((40, 40)))
