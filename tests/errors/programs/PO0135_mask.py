TYPES = "f64[:]"


def f(a):
    a[a > 0.0] = 0.0
