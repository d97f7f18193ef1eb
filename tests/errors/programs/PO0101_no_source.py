import numpy as np

import polyopt as po


def act():
    scope = {}
    exec("def f(a): a[0] = 1.0", scope)
    po.kernel(scope["f"]).compile(np.zeros(3))
