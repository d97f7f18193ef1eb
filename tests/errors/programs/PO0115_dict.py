TYPES = "f64[:]"


def f(a):
    table = {0: 1.0}
    a[0] = table[0]
