TYPES = "f64[:]"


def f(a):
    (a + 1.0)[0] = 1.0
