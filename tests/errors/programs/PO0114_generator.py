TYPES = "f64[:]"


def f(a):
    positive = (x for x in a if x > 0.0)
    a[0] = sum(positive)
