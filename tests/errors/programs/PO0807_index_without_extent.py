import numpy as np

import polyopt as po


def act():
    i, k = po.indices("i k")
    A = po.tensor("A", po.f64["N,K"])
    return po.comprehend[i](A[i, k])
