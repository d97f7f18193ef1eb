import numpy as np

import polyopt as po


@po.kernel
def f(a: po.f64["N"], rate: po.f64):
    a[:] = rate * a


def act():
    rate = 2.0 + 0.0j
    f(np.ones(3), rate)
