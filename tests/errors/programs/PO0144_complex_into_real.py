TYPES = "f64[:],c128[:]"


def f(a, z):
    a[:] = z
