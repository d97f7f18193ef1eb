import numpy as np

import polyopt as po


def f(A, B, C):
    for i in range(A.shape[0]):
        for j in range(B.shape[1]):
            for k in range(A.shape[1]):
                C[i, j] += A[i, k] * B[k, j]


def act():
    x = np.ones((4, 4))
    kernel = po.kernel(schedule="library(S0)")(f)
    kernel.compile(x, x + 1.0, x + 2.0)
