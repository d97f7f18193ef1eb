TYPES = "f64[:]"


def f(a):
    table = {"first": 1.0}
    a[0] = table["first"]
