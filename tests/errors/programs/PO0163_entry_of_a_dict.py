TYPES = "f64[:]"


def f(a):
    found = {"sum": a[0] + a[1]}
    found["difference"] = a[0] - a[1]
    return found
