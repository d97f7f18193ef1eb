import numpy as np

import polyopt as po


@po.kernel
def f(a):
    a[0] = 1.0


def act():
    a = np.zeros(3)
    a.flags.writeable = False
    f(a)
