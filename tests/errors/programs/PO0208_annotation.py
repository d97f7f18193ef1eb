import numpy as np

import polyopt as po


@po.kernel
def f(a: po.f64["N"]):
    a[:] = 0.0


def act():
    f(np.ones((3, 4)))
