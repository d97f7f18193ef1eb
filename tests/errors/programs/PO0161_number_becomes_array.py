TYPES = "f64[:],i64"


def f(a, n):
    x = 1.0
    for _ in range(n):
        x = a * x
    return x
