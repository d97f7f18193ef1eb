import polyopt as po


def act():
    po.f64["N,M-"]
