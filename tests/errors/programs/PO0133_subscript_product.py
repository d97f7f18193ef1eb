TYPES = "f64[:]"


def f(a):
    for i in range(4):
        for j in range(4):
            a[i * j] = 1.0
