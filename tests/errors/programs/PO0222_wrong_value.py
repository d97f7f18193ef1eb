import polyopt as po


def act():
    po.kernel(fp="loose")
