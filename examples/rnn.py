"""A recurrent character model, trained through time. Run as `python -m examples.rnn`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

import polyopt as po
from examples.adamw import update
from examples.text import garden
from examples.training import Report, train


class Rnn(NamedTuple):
    """The parameters."""

    embedding: np.ndarray
    inner: np.ndarray
    bias: np.ndarray
    head: np.ndarray


def loss(params, tokens, targets):
    """Return the mean cross-entropy of the characters that follow; `tokens` is time by batch."""
    times, count = tokens.shape
    places = np.arange(count)
    state = np.zeros((count, params.inner.shape[0]), params.inner.dtype)
    total = np.float32(0.0)
    for time in range(times):
        state = np.tanh(params.embedding[tokens[time]] + state @ params.inner + params.bias)
        logits = state @ params.head
        shifted = logits - logits.max(axis=1, keepdims=True)
        sums = np.log(np.exp(shifted).sum(axis=1))
        total += np.mean(sums - shifted[places, targets[time]])
    return total / times


def step(params, m, v, tokens, targets, t, rate):
    """Do a step of training in place; return the loss before."""
    value, gradient = po.value_and_grad(loss)(params, tokens, targets)
    update(params, gradient, m, v, t, rate)
    return value


def numpy_step(params, m, v, tokens, targets, t, rate):
    """Do the same in NumPy, with the gradient written by hand."""
    times, count = tokens.shape
    places = np.arange(count)
    states = [np.zeros((count, params.inner.shape[0]), np.float32)]
    errors, value = [], 0.0
    for time in range(times):
        inside = params.embedding[tokens[time]] + states[-1] @ params.inner + params.bias
        states.append(np.tanh(inside))
        logits = states[-1] @ params.head
        exps = np.exp(logits - logits.max(axis=1, keepdims=True))
        shares = exps / exps.sum(axis=1, keepdims=True)
        value -= np.log(shares[places, targets[time]]).mean()
        shares[places, targets[time]] -= 1.0
        errors.append(shares / np.float32(count * times))
    gradient = Rnn(*map(np.zeros_like, params))
    later = np.zeros_like(states[0])
    for time in reversed(range(times)):
        state = states[time + 1]
        gradient.head[...] += state.T @ errors[time]
        inside = (errors[time] @ params.head.T + later) * (1.0 - state * state)
        np.add.at(gradient.embedding, tokens[time], inside)
        gradient.inner[...] += states[time].T @ inside
        gradient.bias[...] += inside.sum(axis=0)
        later = inside @ params.inner.T
    update(params, gradient, m, v, t, rate)
    return value / times


def start(count: int, hidden: int = 64, seed: int = 2) -> Rnn:
    """Return parameters to begin with."""
    rng = np.random.default_rng(seed)

    def normal(*shape: int) -> np.ndarray:
        return (hidden**-0.5 * rng.standard_normal(shape)).astype(np.float32)

    zeros = np.zeros(hidden, np.float32)
    return Rnn(normal(count, hidden), normal(hidden, hidden), zeros, normal(hidden, count))


def run(steps: int = 100, repeats: int = 30) -> Report:
    """Train on the text."""
    text = garden()
    batches = (
        (np.ascontiguousarray(x.T), np.ascontiguousarray(y.T)) for x, y in text.batches(16, 16)
    )
    params = start(len(text.characters))
    return train("rnn", step, numpy_step, params, batches, steps, 1e-2, repeats, budget=30.0)


if __name__ == "__main__":
    print(run())
