TYPES = "f64[:]"


def f(a):
    for i in range(4):
        a[i * i :] = 1.0
