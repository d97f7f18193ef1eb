"""Functions that show a fault of the front end, one for each mutant of `of_reading`.

In: nothing.  Out: plain Python functions with annotations.
"""

# ruff: noqa: F821 - programs as users write them

import numpy as np

import polyopt as po

FACTOR = 3.0
scale = 5.0


def row_sums(x: po.i32["N,M"]):
    return np.sum(x, axis=1)


def unsigned_sum(x: po.u8["N"]):
    return np.sum(x)


def signs(out: po.f64["N"], x: po.f64["N"]):
    for i in range(len(x)):
        if x[i] > 0.5:
            out[i] = 1.0
        else:
            out[i] = x[i] * 2.0


def difference(x: po.f64["N"], y: po.f64["N"]):
    return x - y


def rebound(x: po.f64["N"]):
    t = x * 2.0
    t = t + 1.0
    return t


def integer_product(x: po.i32["N"], y: po.i32["N"]):
    return x * y


def single_scaled(x: po.f32["N"]):
    return x * 2.0


def prefix(x: po.f64["N"]):
    total = np.zeros(len(x))
    for i in range(1, len(x)):
        total[i] = total[i - 1] + x[i]
    return total


def backwards(x: po.f64["N"]):
    return x[::-1] + 0.0


def along(x: po.f64["N,N"]):
    return np.sum(x, axis=0)


def normalized(x: po.f64["N,N"]):
    return x - np.sum(x, axis=1, keepdims=True)


def weighted_rows(x: po.f64["N,N"], w: po.f64["N"]):
    return x * w[:, None]


def through_view(x: po.f64["N"]):
    y = x[1:]
    y[:] = y * 2.0
    return x.sum()


def through_copy(x: po.f64["N"]):
    y = x.copy()
    y[:] = y * 2.0
    return x + y


def exchanged(x: po.f64["N"]):
    for i in range(len(x) - 1):
        x[i], x[i + 1] = x[i + 1], x[i]


def shifted(x: po.f64["N"]):
    x[1:] += x[:-1]


def counted(x: po.i64["N"]):
    k = 0
    while k * k < len(x):
        k += 1
    x[:] = x + k


def exchanged_until(x: po.i64["N"], y: po.i64["N"]):
    k = 0
    while k * k < len(x):
        y[:] = x + 1
        x, y = y, x
        k += 1
    return x - 2 * y


def first_large(x: po.i64["N"]):
    found = -1
    for i in range(len(x)):
        if x[i] > -2:
            found = i
            break
    return found


def last_index(x: po.f64["N"]):
    n = len(x)
    assert n > 0
    for j in range(n):
        x[j] = x[j] + 1.0
    return x * j


def _affine(v, a=2.0, c=5.0):
    return a * v + c


def defaulted(x: po.f64["N"]):
    return _affine(x)


def by_keywords(x: po.f64["N"]):
    return _affine(x, c=7.0, a=3.0)


def floored(x: po.i64["N"], y: po.i64["N"]):
    return x // (y * y + 2)


def remainders(x: po.i64["N"], y: po.i64["N"]):
    return (x - 7) % (y * y + 2)


def minus_square(x: po.f64["N"]):
    return -(x**2)


def between(x: po.i64["N"]):
    out = np.zeros(len(x), dtype=np.int64)
    for i in range(len(x)):
        if 0 < x[i] < 3:
            out[i] = x[i]
    return out


def both_set(x: po.i64["N"], y: po.i64["N"]):
    out = np.zeros(len(x), dtype=np.int64)
    for i in range(len(x)):
        if x[i] and y[i]:
            out[i] = 1
    return out


def larger(x: po.f64["N"], y: po.f64["N"]):
    return np.maximum(x, y)


def magnitudes(x: po.i64["N"]):
    return np.abs(x)


def tenth(x: po.f32["N"]):
    return x * np.float32(0.1)


def conjugated(x: po.c128["N"]):
    return np.conj(x)


def head(x: po.f64["N"]):
    return np.sum(x[:3])


def ends(x: po.f64["N"]):
    assert len(x) > 0
    return x[-1] - x[0]


def product_of_none(x: po.f64["N"]):
    return np.prod(x[:0])


def best(x: po.i64["N"]):
    assert len(x) > 0
    return np.argmin(x)


def where_positive(x: po.f64["N"], m: po.bool_["N"]):
    return np.sum(x, where=m)


def widened(x: po.f32["N"]):
    return np.sum(x, dtype=np.float64)


def early(x: po.f64["N"], flag: int):
    if flag > 0:
        return x * 2.0
    return x + 1.0


def by_global(x: po.f64["N"]):
    return x * FACTOR


def shadowed(x: po.f64["N"], scale: float):
    return x * scale


def _helped(v):
    t = v * 10.0
    return t + 1.0


def leaking(x: po.f64["N"]):
    t = x + 1.0
    y = _helped(x)
    return t + y


def started(x: po.f64["N"]):
    return np.sum(x, initial=4.0)


def otherwise(x: po.i64["N"]):
    found = 0
    for i in range(len(x)):
        if x[i] == 2:
            found = 1
            break
    else:
        found = 5
    return found


def skipping(x: po.f64["N"]):
    total = 0.0
    for i in range(len(x)):
        if x[i] < 1.0:
            continue
        total += x[i]
    return total


def negated(x: po.f64["N"]):
    out = np.zeros(len(x))
    for i in range(len(x)):
        if not x[i] > 1.0:
            out[i] = x[i]
    return out


def stepped(x: po.f64["N"]):
    out = np.zeros(len(x))
    for i in range(0, len(x), 2):
        out[i] = x[i]
    return out


def descending(x: po.f64["N"]):
    for i in range(len(x) - 2, -1, -1):
        x[i] = x[i] + x[i + 1]


def transposed(x: po.f64["N,N"]):
    return x.T + 0.0


def truncated(x: po.f64["N"]):
    out = np.zeros(len(x), dtype=np.int64)
    for i in range(len(x)):
        out[i] = int(x[i] * 3.0)
    return out


def chosen(x: po.f64["N"], y: po.f64["N"]):
    return np.where(x > y, x, y * 2.0)


def outer_first(x: po.f64["N"], y: po.f64["N"]):
    return np.outer(x, y)


def matrix_vector(a: po.f64["N,N"], x: po.f64["N"]):
    return a @ x


def running(x: po.f64["N"]):
    return np.cumsum(x)


def conditional(x: po.f64["N"]):
    out = np.zeros(len(x))
    for i in range(len(x)):
        out[i] = x[i] if x[i] > 1.0 else -x[i]
    return out


def mean_of(x: po.f64["N"]):
    assert len(x) > 0
    return np.mean(x)
