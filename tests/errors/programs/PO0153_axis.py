import numpy as np

TYPES = "f64[:,:]"


def f(a):
    return np.sum(a, axis=2)
