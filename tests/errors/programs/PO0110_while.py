TYPES = "f64[:]"


def f(a):
    while a[0] > 1.0:
        a[0] = 0.5 * a[0]
