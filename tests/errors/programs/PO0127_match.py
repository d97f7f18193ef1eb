TYPES = "f64[:],i64"


def f(a, n):
    match n:
        case 0:
            a[0] = 1.0
