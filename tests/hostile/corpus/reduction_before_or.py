# the reduction before `or` was computed where it is zero only
# file: main
import numpy as np


def f(a):
    a[0] *= np.count_nonzero(a) or 1


# call
a = np.array([3], dtype=np.int16)
args = (a,)
