import numpy as np

import polyopt as po


@po.kernel
def f(a, x):
    a[0] = x


def act():
    f.compile(np.zeros(3), 2.0)(np.zeros(3), np.zeros(2))
