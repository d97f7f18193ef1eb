TYPES = "f64[:]"


def f(a):
    a[0] = undefined_name  # noqa: F821
