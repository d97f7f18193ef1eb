TYPES = "f64[:]"


def f(a):
    square = lambda x: x * x  # noqa: E731
    a[0] = square(a[0])
