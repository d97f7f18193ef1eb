TYPES = "f64[:],i64"


def f(a, n):
    if n > 3:
        x = a * 2.0
    a[:] = x
