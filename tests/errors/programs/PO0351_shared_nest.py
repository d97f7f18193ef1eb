import numpy as np

import polyopt as po


def f(x: po.f64["N,M"]):
    w = np.exp(x - np.max(x, axis=1, keepdims=True))
    return w / np.sum(w, axis=1, keepdims=True)


def act():
    steps = "fuse(L4, L5, 1); tile(L4, 4); online(S1, 64, 64)"
    po.kernel(schedule=steps, fp="reassociate")(f).schedule(np.zeros((4, 4)))
