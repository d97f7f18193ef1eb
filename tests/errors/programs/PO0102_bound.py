import numpy as np

import polyopt as po


class Model:
    def __init__(self):
        self.weights = np.ones(3)

    def loss(self, x):
        return np.sum(self.weights * x)


def act():
    model = Model()
    po.kernel(model.loss)(np.zeros(3))
