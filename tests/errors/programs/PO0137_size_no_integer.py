import numpy as np

TYPES = "f64[:]"


def f(a):
    b = np.zeros(a.shape[0] / 2)
    b[:] = a[0]
    return b
