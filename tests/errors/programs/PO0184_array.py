import numpy as np

import polyopt as po


def doubled(x):
    return x * 2.0


def act():
    po.grad(doubled)(np.ones(3))
