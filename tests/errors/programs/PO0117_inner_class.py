TYPES = "f64[:]"


def f(a):
    class Pair:
        pass

    a[0] = 1.0
