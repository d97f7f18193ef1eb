TYPES = "f64[:]"


def f(a):
    best = None
    for i in range(len(a)):
        if best is None or a[i] > best:
            best = a[i]
    return best
