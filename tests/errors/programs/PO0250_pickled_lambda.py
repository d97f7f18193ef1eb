import pickle

import polyopt as po


def act():
    pickle.dumps(po.kernel(lambda r, g, b: r + g + b))
