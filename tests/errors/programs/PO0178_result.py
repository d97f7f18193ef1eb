import numpy as np

import polyopt as po


@po.kernel
def f(a: po.f32["N"]) -> po.f64["N"]:
    return 2.0 * a


def act():
    f(np.ones(3, np.float32))
