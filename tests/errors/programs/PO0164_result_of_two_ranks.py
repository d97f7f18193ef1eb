TYPES = "f64[:]"


def f(a):
    if a[0] > 0.0:
        return a[0]
    return a
