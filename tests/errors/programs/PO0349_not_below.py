import numpy as np

import polyopt as po


def f(x: po.f64["N,M"]):
    w = np.exp(2.0 * x - np.max(x, axis=1, keepdims=True))
    return w / np.sum(w, axis=1, keepdims=True)


def act():
    po.kernel(schedule="online(S1, 64, 64)", fp="reassociate")(f).schedule(np.zeros((4, 4)))
