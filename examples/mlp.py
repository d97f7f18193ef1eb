"""A character model of three layers: the next character from the eight before.

Run as `python -m examples.mlp`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

import polyopt as po
from examples.adamw import update
from examples.text import garden
from examples.training import Report, train

CONTEXT = 8


class Mlp(NamedTuple):
    """The parameters."""

    embedding: np.ndarray
    w1: np.ndarray
    b1: np.ndarray
    w2: np.ndarray
    b2: np.ndarray


def loss(params, tokens, targets):
    """Return the mean cross-entropy of the characters that follow."""
    count = len(tokens)
    known = params.embedding[tokens].reshape(count, -1)
    hidden = np.tanh(known @ params.w1 + params.b1)
    logits = hidden @ params.w2 + params.b2
    shifted = logits - logits.max(axis=1, keepdims=True)
    sums = np.log(np.exp(shifted).sum(axis=1))
    return np.mean(sums - shifted[np.arange(count), targets])


def step(params, m, v, tokens, targets, t, rate):
    """Do a step of training in place; return the loss before."""
    value, gradient = po.value_and_grad(loss)(params, tokens, targets)
    update(params, gradient, m, v, t, rate)
    return value


def numpy_step(params, m, v, tokens, targets, t, rate):
    """Do the same in NumPy, with the gradient written by hand."""
    count = len(tokens)
    places = np.arange(count)
    known = params.embedding[tokens].reshape(count, -1)
    hidden = np.tanh(known @ params.w1 + params.b1)
    logits = hidden @ params.w2 + params.b2
    exps = np.exp(logits - logits.max(axis=1, keepdims=True))
    shares = exps / exps.sum(axis=1, keepdims=True)
    value = -np.log(shares[places, targets]).mean()
    shares[places, targets] -= 1.0
    shares /= np.float32(count)
    inner = (shares @ params.w2.T) * (1.0 - hidden * hidden)
    embedding = np.zeros_like(params.embedding)
    np.add.at(embedding, tokens, (inner @ params.w1.T).reshape(*tokens.shape, -1))
    gradient = Mlp(
        embedding, known.T @ inner, inner.sum(axis=0), hidden.T @ shares, shares.sum(axis=0)
    )
    update(params, gradient, m, v, t, rate)
    return value


def start(count: int, width: int = 16, hidden: int = 128, seed: int = 1) -> Mlp:
    """Return parameters to begin with."""
    rng = np.random.default_rng(seed)

    def normal(*shape: int) -> np.ndarray:
        return (shape[0] ** -0.5 * rng.standard_normal(shape)).astype(np.float32)

    zeros = np.zeros(hidden, np.float32), np.zeros(count, np.float32)
    size = CONTEXT * width
    return Mlp(
        normal(count, width), normal(size, hidden), zeros[0], normal(hidden, count), zeros[1]
    )


def run(steps: int = 100, repeats: int = 30) -> Report:
    """Train on the text."""
    text = garden()
    batches = ((x, y[:, -1]) for x, y in text.batches(128, CONTEXT))
    params = start(len(text.characters))
    return train("mlp", step, numpy_step, params, batches, steps, 1e-2, repeats)


if __name__ == "__main__":
    print(run())
