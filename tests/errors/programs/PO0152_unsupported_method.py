TYPES = "f64[:]"


def f(a):
    return a.tofile("x.bin")
