TYPES = "f64[:]"


def f(a):
    a[::0] = 1.0
