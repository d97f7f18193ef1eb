import numpy as np

import polyopt as po


@po.kernel
def f(a: po.f64["N"], rate: po.f64):
    a[:] = rate * a


def act():
    a = np.ones(3, np.float32)
    f(a, 2)
