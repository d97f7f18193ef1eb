from dataclasses import replace

import numpy as np

import polyopt as po
from polyopt.schedule.tree import Sequence


def f(a, b):
    n = a.shape[0]
    for i in range(n):
        a[i] = 2 * b[i]
    for i in range(n):
        b[i] = 3 * b[i]


class Drop:
    """A step that forgets the last part of a sequence."""

    def rewrite(self, tree, scop):
        assert isinstance(tree, Sequence)
        return replace(tree, parts=tree.parts[:-1])

    def __str__(self):
        return "drop()"


def act():
    po.kernel(schedule="source")(f).schedule(np.zeros(4), np.ones(4)).apply(Drop())
