import polyopt as po


def act():
    po.kernel(3)
