TYPES = "f64[:]"


def f(a):
    while True:
        a[0] = 0.5 * a[0]
