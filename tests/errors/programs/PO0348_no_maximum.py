import numpy as np

import polyopt as po


def f(x: po.f64["N,M"]):
    return np.sum(x, axis=1)


def act():
    po.kernel(schedule="online(S1, 64, 64)", fp="reassociate")(f).schedule(np.zeros((4, 4)))
