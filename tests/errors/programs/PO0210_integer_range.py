import numpy as np

import polyopt as po


@po.kernel
def f(a, n):
    a[0] = n


def act():
    f(np.zeros(3), 2**70)
