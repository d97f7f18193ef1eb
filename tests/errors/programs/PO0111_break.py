TYPES = "f64[:]"


def f(a):
    for i in range(a.shape[0]):
        if i > 3:
            break
        a[i] = 0.0
