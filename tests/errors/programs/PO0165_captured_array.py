import numpy as np

TYPES = "f64[:]"
COUNTS = np.zeros(3)


def f(a):
    COUNTS[1] = a[0]
    return a + COUNTS[1]
