TYPES = "f64[:]"


def f(a):
    a[:] = a & 1
