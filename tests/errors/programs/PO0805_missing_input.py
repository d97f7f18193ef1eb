import numpy as np

import polyopt as po


def act():
    x = po.tensor("x", po.f64["N,K"])
    w = po.tensor("w", po.f64["K,M"])
    po.compile(x @ w, inputs=[x])
