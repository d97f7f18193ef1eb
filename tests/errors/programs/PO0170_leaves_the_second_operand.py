import numpy as np

import polyopt as po


@po.kernel
def f(C, A, B):
    n, m = C.shape
    for i in range(n):
        for j in range(m):
            for k in range(A.shape[1]):
                C[i, j] += A[i, k] * B[k, j]


def act():
    f(np.zeros((4, 5)), np.zeros((4, 3)), np.zeros((2, 5)))
