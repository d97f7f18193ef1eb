import numpy as np

import polyopt as po


@po.kernel
def f(a, b):
    a[:] = 2.0 * b


def act():
    a = np.zeros(10)
    f(a[1:], a.view(np.int64)[:-1])
