import numpy as np

import polyopt as po


def f(X: po.f64["N,M"], Y: po.f64["N,M"]):
    return X.T @ Y


def act():
    X = np.zeros((4, 3))
    po.kernel(schedule="mirror(S1, 24)")(f).schedule(X, X)
