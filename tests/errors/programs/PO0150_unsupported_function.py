import numpy as np

TYPES = "f64[:,:]"


def f(a):
    return np.linalg.tensorsolve(a, a)
