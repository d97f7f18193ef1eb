import numpy as np

TYPES = "f64[:]"


def f(a):
    found = []
    for i in range(len(a)):
        if a[i] > 0.0:
            found.append(a[i])
    return np.concatenate(found)
