import numpy as np

TYPES = "f64[:]"


def f(a):
    return a.astype(np.longdouble)
