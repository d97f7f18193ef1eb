import numpy as np

import polyopt as po


def f(a):
    i = 0
    while a[i] > 0.0:
        a[i] *= 0.5
        i += 1


def act():
    po.kernel(f).schedule(np.zeros(4)).tree
