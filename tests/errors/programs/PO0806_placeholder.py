import numpy as np

import polyopt as po


def act():
    po.tensor("x", po.f64["N,M-"])
