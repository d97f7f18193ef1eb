TYPES = "f64[:]"


def f(a):
    if a > 0.0:
        a[0] = 1.0
