import numpy as np

import polyopt as po


@po.kernel
def f(a, n):
    for i in range(n):
        s = a[i]
    return s


def act():
    f(np.zeros(10), 0)
