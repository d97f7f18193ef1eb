import polyopt as po

TYPES = "f64,i64"


def f(key, n):
    return po.random.uniform(key, n)
