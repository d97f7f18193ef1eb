TYPES = "f64[:]"


def f(a):
    for i in range(a.shape[0]):
        if a[i] > 0.0:
            return a[i]
