TYPES = "f64[:],f64[:],i64"


def f(a, b, n):
    for _ in range(n):
        a, b = b, a
    a[0] = 1.0
