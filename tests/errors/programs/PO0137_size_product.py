import numpy as np

TYPES = "f64[:,:]"


def f(a):
    n, m = a.shape
    flat = np.zeros(n * m)
    flat[0] = a[0, 0]
    return flat
