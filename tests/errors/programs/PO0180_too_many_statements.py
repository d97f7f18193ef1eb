TYPES = "f64[:]"


def f(a):
    eight(a), eight(a), eight(a), eight(a), eight(a)


def eight(a):
    seven(a), seven(a), seven(a), seven(a), seven(a)


def seven(a):
    six(a), six(a), six(a), six(a), six(a)


def six(a):
    five(a), five(a), five(a), five(a), five(a)


def five(a):
    for i in range(a.shape[0]):
        a[i] = 2.0 * a[i]
    for i in range(a.shape[0]):
        a[i] = 3.0 + a[i]
    for i in range(a.shape[0]):
        a[i] = 4.0 * a[i]
    for i in range(a.shape[0]):
        a[i] = 5.0 + a[i]
