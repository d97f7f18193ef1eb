TYPES = "f64[:]"


def f(a):
    for i in range(a.shape[0]):
        k = 2 * i
        a[i] = k
    a[0] = k
