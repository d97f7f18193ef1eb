"""gradient-descent: logistic regression by steps down the gradient, with momentum."""

from __future__ import annotations

import numpy as np

import polyopt as po
from workloads.data import normal

SIZES = {
    "MINI": {"N": 20, "D": 3, "STEPS": 3},
    "SMALL": {"N": 100, "D": 8, "STEPS": 6},
    "MEDIUM": {"N": 500, "D": 20, "STEPS": 10},
    "LARGE": {"N": 5000, "D": 100, "STEPS": 20},
    "EXTRALARGE": {"N": 20000, "D": 200, "STEPS": 20},
}
OUTPUTS = ("return[0]", "return[1]")
STEPS = "STEPS"
LEAST = {"N": 1}


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def gradient_descent_numpy(X: po.f64["N,D"], y: po.f64["N"], rate: po.f64, steps: int):
    w = np.zeros(X.shape[1])
    velocity = np.zeros_like(w)
    losses = []
    for _ in range(steps):
        p = sigmoid(X @ w)
        gradient = X.T @ (p - y) / len(y)
        velocity = 0.9 * velocity - rate * gradient
        w += velocity
        losses.append(-np.mean(y * np.log(p) + (1 - y) * np.log(1 - p)))
    return w, np.array(losses)


def make(N, D, STEPS, dtype):
    return {
        "X": normal(1, (N, D), dtype),
        "y": (normal(2, N, dtype) > 0).astype(dtype),
        "rate": 0.1,
        "steps": STEPS,
    }


def randomize(arguments, rng):
    arguments["X"][...] = rng.uniform(-1, 1, arguments["X"].shape)


def chain(N, D, STEPS):
    return 100 * STEPS * (N + D)
