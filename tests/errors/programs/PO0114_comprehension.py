TYPES = "f64[:]"


def f(a):
    squares = [x * x for x in a]
    a[0] = squares[0]
