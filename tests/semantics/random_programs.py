"""Programs with random numbers, in the forms that kernels and graphs have.

In: nothing.  Out: functions; their results without polyopt's compiler are what kernels must give.
"""

from __future__ import annotations

import numpy as np

import polyopt as po


def numbers(key, x):
    shape = x.shape
    return (
        po.random.bits(key, shape),
        po.random.bits(key, shape, dtype=np.uint32),
        po.random.uniform(key, shape),
        po.random.uniform(key, shape, dtype=np.float32),
        po.random.normal(key, shape, stream=3),
        po.random.normal(key, shape, 1.0, 0.5, dtype=np.float32),
        po.random.integers(key, -5, 2**40, shape, offset=7),
    )


def row(key, n: int):
    return (
        po.random.uniform(key, n),
        po.random.uniform(key, n, dtype=np.float32),
        po.random.normal(key, n),
    )


def dropout(key, x, p: float):
    """Leave elements out, and scale the others; no mask is stored."""
    return np.where(po.random.uniform(key, x.shape) < p, 0.0, x / (1.0 - p))


def dropped_layer(key, x, w, p: float):
    kept = np.where(po.random.uniform(key, x.shape) < p, 0.0, x / (1.0 - p))
    return np.maximum(kept @ w, 0.0)


def rounded(key, x, step: float):
    """Round to a grid, up as often as `x` lies nearer to the upper neighbour."""
    place = x / step
    low = np.floor(place)
    return (low + (po.random.uniform(key, x.shape) < place - low)) * step


def in_loops(key, x):
    y = np.empty_like(x)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            y[i, j] = x[i, j] + po.random.uniform(key, offset=i * x.shape[1] + j)
    return y


def walk(key, x, steps: int):
    for t in range(steps):
        x[:] = 0.5 * x + po.random.normal(key, x.shape, stream=t)
    return x


def transposed(key, x):
    return po.random.uniform(key, x.shape).T + po.random.normal(key, (x.shape[1], 1))


def of_keys(keys, n: int):
    out = np.zeros((len(keys), n))
    for b in range(len(keys)):
        out[b] = po.random.uniform(keys[b], n)
    return out


def total(key, n: int):
    return np.sum(po.random.uniform(key, n))


def estimated_pi(key, n: int):
    """Count the points in a quarter of a circle."""
    inside = 0
    for i in range(n):
        x = po.random.uniform(key, offset=2 * i)
        y = po.random.uniform(key, offset=2 * i + 1)
        if x * x + y * y < 1.0:
            inside += 1
    return 4.0 * inside / n


def shard(key, x, first: int):
    """Return what rows of a larger array get, of which `first` is the first one's number."""
    return x * po.random.uniform(key, x.shape, offset=first * x.shape[1])


# -- NumPy's generators --------------------------------------------------------------------------


def drawn_twice(key, n: int):
    rng = np.random.Generator(np.random.Philox(key=key))
    first = rng.random(n)
    second = rng.random((3, n))
    return first, second, rng.random(), rng.uniform(-1.0, 2.0, n)


def drawn_halves(key, n: int):
    rng = np.random.Generator(np.random.Philox(key=key).jumped(4))
    first = rng.random(n, dtype=np.float32)
    second = rng.random(size=n, dtype=np.float32)
    return first, second, rng.random(n)


def drawn_mixed(key):
    rng = np.random.Generator(np.random.Philox(key=key, counter=6))
    first = rng.random(4, dtype=np.float32)
    second = rng.random(5)
    return first, second, rng.random(3, np.float32), rng.random((2, 2), dtype=np.float32)


def drawn_in_steps(key, x, steps: int):
    for t in range(steps):
        rng = np.random.Generator(np.random.Philox(key=key).jumped(t))
        x[:] = x + rng.random(x.shape)
    return x


def drawn_of_constants(n: int):
    one = np.random.Generator(np.random.Philox(key=2**100 + 17))
    two = np.random.Generator(np.random.Philox(key=[3, 2**62]))
    return one.random(n) + two.random(n)


def drawn(rng, n):
    return rng.random(n)


def drawn_in_many_places(key, x):
    rng = np.random.Generator(np.random.Philox(key=key))
    several = np.array([rng.random() for _ in range(3)])
    summed = 0.0
    for weight in (1.0, 2.0, 3.0):
        summed += weight * rng.random()
    part = rng.random(x.shape)[1:, ::2]
    return several, drawn(rng, 3) + drawn(rng, 3), summed, part, max(rng.random(), 0.5)


def until_three(key):
    count, total = 0, 0.0
    while total < 3.0:
        total += po.random.uniform(key, offset=count)
        count += 1
    return count, total


def of_found_size(key, x):
    large = x[x > 0.0]
    return large * po.random.uniform(key, large.shape)


def of_drawn_keys(n: int):
    out = np.zeros(n)
    for i in range(n):
        key = po.random.bits(7, offset=i)
        out[i] = po.random.normal(key)
    return out
