TYPES = "f64[:]"


def f(a):
    import math

    a[0] = math.sqrt(a[0])
