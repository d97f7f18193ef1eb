TYPES = "f64[:],i64"


def f(a, n):
    for i in n:
        a[i] = 1.0
