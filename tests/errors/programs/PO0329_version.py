import numpy as np

import polyopt as po


def f(a):
    for i in range(a.shape[0]):
        a[i] = 1.0


def act():
    po.kernel(schedule="polyopt-schedule 7; unroll(i)")(f).schedule(np.zeros(4))
