TYPES = "f64[:]"


def f(a):
    for i in range(0, a.shape[0], 0):
        a[i] = 1.0
