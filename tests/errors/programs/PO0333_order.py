import numpy as np

import polyopt as po


def f(s, x):
    for i in range(x.shape[0]):
        s[0] += x[i]


def act():
    po.kernel(schedule="rfactor(S0, i)")(f).schedule(np.zeros(1), np.zeros(4))
