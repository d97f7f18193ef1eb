import os

import numpy as np

import polyopt as po


@po.kernel
def f(a):
    a[0] = 1.0


def act():
    before = os.environ.get("POLYOPT_TUNINGS")
    os.environ["POLYOPT_TUNINGS"] = "tunings.jsonl"
    try:
        f(np.zeros(3))
    finally:
        os.environ.pop("POLYOPT_TUNINGS")
        if before is not None:
            os.environ["POLYOPT_TUNINGS"] = before
