TYPES = "f64[:,:]"


def f(a):
    return 2.0 @ a
