TYPES = "f64[:]"


def f(a):
    one, other = {"x": a[0]}, {"x": a[1]}
    a[2] = one == other
