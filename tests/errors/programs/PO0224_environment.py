import os

import numpy as np

import polyopt as po


@po.kernel
def f(a):
    a[0] = 1.0


def act():
    before = os.environ.get("POLYOPT_NUM_THREADS")
    os.environ["POLYOPT_NUM_THREADS"] = "many"
    try:
        f(np.zeros(3))
    finally:
        os.environ.pop("POLYOPT_NUM_THREADS")
        if before is not None:
            os.environ["POLYOPT_NUM_THREADS"] = before
