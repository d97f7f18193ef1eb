import numpy as np

import polyopt as po


@po.kernel
def f(a, b, c):
    d = a + b
    return d @ c.T + np.ones(4)


def act():
    f(np.zeros((3, 5)), np.zeros((3, 5)), np.zeros((5, 5)))
