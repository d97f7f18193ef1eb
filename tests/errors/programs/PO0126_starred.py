TYPES = "f64[:]"


def f(a):
    sizes = (*3,)
    a[0] = sizes[0]
