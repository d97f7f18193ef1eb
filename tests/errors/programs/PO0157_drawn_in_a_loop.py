import numpy as np

TYPES = "u64,f64[:]"


def f(key, a):
    rng = np.random.Generator(np.random.Philox(key=key))
    for t in range(a.shape[0]):
        a[t] = rng.random()
