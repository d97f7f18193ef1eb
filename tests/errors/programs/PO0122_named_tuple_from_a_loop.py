from typing import NamedTuple

TYPES = "f64[:]"


class Found(NamedTuple):
    place: int
    value: float


def f(a):
    for i in range(len(a)):
        if a[i] > 0.0:
            return Found(i, a[i])
    return Found(-1, 0.0)
