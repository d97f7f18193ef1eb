import numpy as np

import polyopt as po


def loss(weights):
    return np.sum(weights * weights)


def act():
    po.grad(loss, "weight")
