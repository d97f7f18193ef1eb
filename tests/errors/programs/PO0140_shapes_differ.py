import numpy as np

TYPES = "f64[:]"


def f(a):
    b = np.zeros(3) + np.zeros(4)
    a[0] = b[0]
