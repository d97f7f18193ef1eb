import numpy as np

import polyopt as po


def act():
    po.tensor("x", ("N", "M-"), np.float64)
