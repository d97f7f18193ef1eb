TYPES = "f64[:]"


def f(a):
    for i in range(a.shape[0] / 2):
        a[i] = 0.0
