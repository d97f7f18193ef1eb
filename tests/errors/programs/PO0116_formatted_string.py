TYPES = "f64[:],i64"


def f(a, n):
    a[0] = float(f"{n}")
