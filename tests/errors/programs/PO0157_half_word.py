import numpy as np

TYPES = "u64,i64"


def f(key, n):
    rng = np.random.Generator(np.random.Philox(key=key))
    a = rng.random(n, dtype=np.float32)
    b = rng.random(n)
    return a, b, rng.random(n, dtype=np.float32)
