import numpy as np

TYPES = "f64[:]"


def f(a):
    return a[np.sqrt(a)]
