import numpy as np

import polyopt as po


def act():
    x = po.tensor("x", po.f64["N,M"])
    y = x.T.reshape(-1)
    y[0] = 1.0
