TYPES = "f64[:]"


def f(a):
    for x in (1.0, 2.0, 4.0):
        if a[0] > x:
            break
        a[0] = a[0] + x
