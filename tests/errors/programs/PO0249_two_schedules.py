import numpy as np

import polyopt as po


def f(x: po.f64["N"]):
    return x / np.sum(x)


def act():
    po.kernel(f, fuse="all", schedule="source").compile(np.ones(4))
