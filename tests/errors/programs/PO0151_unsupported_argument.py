import numpy as np

TYPES = "f64[:]"


def f(a):
    return np.pad(a, 1, mode="mean")
