TYPES = "f64[:]"


def f(a):
    for i in range(a.shape[0]):
        for j in range(i * i):
            a[i] += j
