TYPES = "f64[:]"


def f(a):
    b = 2.0 * a
    a[:] = b
    del b
