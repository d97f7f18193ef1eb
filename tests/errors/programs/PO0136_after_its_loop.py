TYPES = "f64[:]"


def f(a):
    for i in range(a.shape[0]):
        k = a[: i + 1]
        a[i] = k[0]
    a[0] = k[0]
