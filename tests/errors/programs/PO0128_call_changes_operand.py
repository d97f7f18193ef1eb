TYPES = "f64[:]"


def double(x):
    x[0] = 2.0 * x[0]
    return x[0]


def f(a):
    a[1] = a[0] + double(a)
