import os
from unittest.mock import patch

import numpy as np

import polyopt as po


@po.kernel
def f(a):
    a[0] = 1.0


def act():
    with patch.dict(os.environ, POLYOPT_NUM_THREADS="many"):
        f(np.zeros(3))
