import numpy as np

import polyopt as po


def act():
    po.compile({"loss": 3})
