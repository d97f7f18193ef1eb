TYPES = "f64[:],i64"


def f(a, n):
    a[n] = 1.0
    f(a, n - 1)
