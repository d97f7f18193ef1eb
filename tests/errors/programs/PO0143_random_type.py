import numpy as np

import polyopt as po

TYPES = "u64,i64"


def f(key, n):
    return po.random.normal(key, n, dtype=np.float16)
