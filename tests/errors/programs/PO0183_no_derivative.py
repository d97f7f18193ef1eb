import numpy as np

import polyopt as po


def loss(x):
    total = 0.0
    for i in range(x.shape[0]):
        total += np.linalg.det(x[i])
    return total


def act():
    po.grad(loss)(np.ones((3, 2, 2)))
