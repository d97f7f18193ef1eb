TYPES = "f64[:]"


def f(a):
    assert a.shape[0] > 0
    a[0] = 1.0
