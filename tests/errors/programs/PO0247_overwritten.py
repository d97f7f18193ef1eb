import numpy as np

import polyopt as po


def f(x: po.f64["N"]):
    total = np.sum(x * x)
    x[:] = x / total


def act():
    po.kernel(f, fuse="all").compile(np.ones(4))
