import numpy as np

import polyopt as po


@po.kernel
def f(n, m):
    return np.zeros(n) + np.ones(m)


def act():
    f(10, 20)
