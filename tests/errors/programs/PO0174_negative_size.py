import numpy as np

import polyopt as po


@po.kernel
def f(a, n):
    b = np.zeros(n - 5)
    b[:] = a[0]
    return b


def act():
    f(np.zeros(10), 2)
