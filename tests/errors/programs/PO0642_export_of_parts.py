import tempfile

import numpy as np

import polyopt as po


def f(a, b):
    for i in range(a.shape[0]):
        a[i] = b[i] + 1.0


def act():
    x = np.zeros(5)
    with tempfile.TemporaryDirectory() as folder:
        po.kernel(f).export(folder, x[1:], x[:-1])
