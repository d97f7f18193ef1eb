TYPES = "f64[:]"


def f(a):
    def double(x):
        return 2.0 * x

    a[0] = double(a[0])
