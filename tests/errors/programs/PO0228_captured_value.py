import numpy as np

import polyopt as po

SCALE = 2.0


@po.kernel
def f(a):
    return a * SCALE


def act():
    global SCALE
    compiled = f.compile(np.ones(3))
    SCALE = 3.0
    compiled(np.ones(3))
