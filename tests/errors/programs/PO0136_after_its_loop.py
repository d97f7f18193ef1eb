TYPES = "f64[:]"


def f(a):
    for i in range(a.shape[0]):
        a[i] = 0.0
    a[0] = i
