import polyopt as po

TYPES = "u64,f64"


def f(key, n):
    return po.random.uniform(key, n)
