import numpy as np

import polyopt as po
from polyopt.schedule.tree import Leaf


def f(a):
    for i in range(1, a.shape[0]):
        a[i] = a[i - 1]


class Forget:
    """A step that drops every loop."""

    def rewrite(self, tree, scop):
        return Leaf()

    def __str__(self):
        return "forget()"


def act():
    po.kernel(schedule="source")(f).schedule(np.zeros(4)).apply(Forget())
