import numpy as np

import polyopt as po


def f(x, s):
    for i in range(x.shape[0]):
        s[0] += x[i]


def act():
    steps = "tile(L0, 64); atomic(S0); threads(L0.point); grid(L0.tile)"
    kernel = po.kernel(target="opencl", schedule=steps, fp="reassociate")(f)
    kernel.compile(np.zeros(4), np.zeros(1))
