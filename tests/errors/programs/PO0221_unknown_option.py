import polyopt as po


def act():
    po.kernel(thread=2)
