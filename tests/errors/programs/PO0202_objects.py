import numpy as np

import polyopt as po


@po.kernel
def f(a):
    a[0] = 1.0


def act():
    f(np.array([1, None]))
