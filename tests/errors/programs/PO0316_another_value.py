import numpy as np

import polyopt as po


def f(s, x):
    for i in range(x.shape[0]):
        s[0] = s[0] * 0.5 + x[i]


def act():
    po.kernel(schedule="expand(s, i)")(f).schedule(np.zeros(1), np.zeros(4))
