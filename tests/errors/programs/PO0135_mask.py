TYPES = "f64[:]"


def f(a):
    return a[a > 0.0]
