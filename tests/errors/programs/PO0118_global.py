TYPES = "f64[:]"


def f(a):
    global counter
    counter = 1
    a[0] = 1.0
