"""A bigram model: a table of logits for the next character. Run as `python -m examples.bigram`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

import polyopt as po
from examples.adamw import update
from examples.text import garden
from examples.training import Report, train


class Bigram(NamedTuple):
    """The parameters."""

    logits: np.ndarray


def loss(params, tokens, targets):
    """Return the mean cross-entropy of the characters that follow."""
    logits = params.logits[tokens]
    shifted = logits - logits.max(axis=1, keepdims=True)
    sums = np.log(np.exp(shifted).sum(axis=1))
    return np.mean(sums - shifted[np.arange(len(tokens)), targets])


def step(params, m, v, tokens, targets, t, rate):
    """Do a step of training in place; return the loss before."""
    value, gradient = po.value_and_grad(loss)(params, tokens, targets)
    update(params, gradient, m, v, t, rate)
    return value


def numpy_step(params, m, v, tokens, targets, t, rate):
    """Do the same in NumPy, with the gradient written by hand."""
    places = np.arange(len(tokens))
    logits = params.logits[tokens]
    exps = np.exp(logits - logits.max(axis=1, keepdims=True))
    shares = exps / exps.sum(axis=1, keepdims=True)
    value = -np.log(shares[places, targets]).mean()
    shares[places, targets] -= 1.0
    gradient = np.zeros_like(params.logits)
    np.add.at(gradient, tokens, shares / np.float32(len(tokens)))
    update(params, (gradient,), m, v, t, rate)
    return value


def run(steps: int = 100, repeats: int = 30) -> Report:
    """Train on the text."""
    text = garden()
    count = len(text.characters)
    params = Bigram(np.zeros((count, count), np.float32))
    batches = ((x.ravel(), y.ravel()) for x, y in text.batches(16, 32))
    return train("bigram", step, numpy_step, params, batches, steps, 0.1, repeats)


if __name__ == "__main__":
    print(run())
