import numpy as np

import polyopt as po


def f(a):
    for i in range(1, a.shape[0]):
        a[i] = a[i - 1]


def act():
    po.kernel(schedule="peel(L0)")(f).schedule(np.zeros(4))
