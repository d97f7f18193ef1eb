import numpy as np

import polyopt as po


def act():
    x = po.tensor("x", po.f64["N"])
    y = x.T
    y[0] = 1.0
