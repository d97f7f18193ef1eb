import numpy as np

TYPES = "u64,f64"


def f(key, x):
    rng = np.random.Generator(np.random.Philox(key=key))
    y = rng.random() if x > 0.0 else x
    return y + rng.random()
