TYPES = "u8[:]"


def f(a):
    a[0] = 300
