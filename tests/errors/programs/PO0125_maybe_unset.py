TYPES = "f64[:],i64"


def f(a, n):
    if n > 3:
        x = 1.0
    a[0] = x
