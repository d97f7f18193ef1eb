import numpy as np

import polyopt as po


@po.kernel
def f(a, k):
    a[k:] = 1.0


def act():
    f(np.zeros(10), -20)
