TYPES = "f64[:],f64"


def f(a, *rest):
    a[0] = 1.0
