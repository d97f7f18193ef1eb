import numpy as np

import polyopt as po


@po.kernel
def f(a, b):
    return a + b


def act():
    f(np.zeros(10), np.zeros(20))
