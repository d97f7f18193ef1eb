import polyopt as po


def scaled(x, factor):
    return factor * x


def act():
    po.vmap(scaled, in_axes=(0,))
