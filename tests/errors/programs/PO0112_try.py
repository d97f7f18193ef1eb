TYPES = "f64[:]"


def f(a):
    try:
        a[0] = 1.0
    except IndexError:
        pass
