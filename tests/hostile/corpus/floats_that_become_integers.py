# an array that a loop makes one of integers was added as one of floats
# file: main
import numpy as np


def f(a, c):
    size_n = a.shape[0]
    for i in range(1, size_n):
        a = np.concatenate((c[:1], c[1:]))
    return c + a


# call
a = np.array([5e-324, nan, 3.129, -4.0, -2.379], dtype=np.float64)
c = np.array([-1, np.iinfo(np.int64).max, 2, np.iinfo(np.int64).min, 6], dtype=np.int64)
args = (a, c)
