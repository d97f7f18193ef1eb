TYPES = "f64[:]"


def f(a):
    for i in {0, 1}:
        a[i] = 0.0
