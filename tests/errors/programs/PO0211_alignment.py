import numpy as np

import polyopt as po


@po.kernel
def f(a):
    return np.sum(a)


def act():
    f(np.frombuffer(bytes(25), np.float64, offset=1))
