TYPES = "f64[:],i64[:]"


def f(a, index):
    for i in range(index.shape[0]):
        a[index[i]] = 1.0
