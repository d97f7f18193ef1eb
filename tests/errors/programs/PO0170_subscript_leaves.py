import numpy as np

import polyopt as po


@po.kernel
def f(a, n):
    for i in range(n):
        a[i] = 1.0


def act():
    f(np.zeros(10), 20)
