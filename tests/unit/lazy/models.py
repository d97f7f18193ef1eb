"""Models written as plain Python over lists of layers; they run on NumPy and on lazy arrays."""

from __future__ import annotations

from typing import Any

import numpy as np


def mlp_step(x: Any, y: Any, layers: list[tuple[Any, Any]], rate: float) -> tuple[Any, Any]:
    """Loss and new parameters after a step of gradient descent on a classifier."""
    inputs = [x]
    h = x
    for number, (w, b) in enumerate(layers):
        h = h @ w + b
        if number < len(layers) - 1:
            h = np.maximum(h, 0.0)
        inputs.append(h)
    e = np.exp(h - h.max(axis=1, keepdims=True))
    p = e / e.sum(axis=1, keepdims=True)
    loss = -(y * np.log(p)).sum() / x.shape[0]
    d = (p - y) / x.shape[0]
    new: list[tuple[Any, Any]] = []
    for number in reversed(range(len(layers))):
        w, b = layers[number]
        new.insert(0, (w - rate * (inputs[number].T @ d), b - rate * d.sum(axis=0)))
        if number:
            d = (d @ w.T) * (inputs[number] > 0)
    return loss, new


def normalized(x: Any) -> Any:
    """Layer normalization without parameters."""
    centred = x - x.mean(-1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5)


def attention(x: Any, wq: Any, wk: Any, wv: Any, wo: Any, heads: int) -> Any:
    """Self-attention with a residual connection."""
    b, t, d = x.shape
    h = normalized(x)
    q, k, v = ((h @ w).reshape(b, t, heads, d // heads).transpose(0, 2, 1, 3) for w in (wq, wk, wv))
    scores = q @ np.swapaxes(k, -1, -2)
    scores *= 0.25
    e = np.exp(scores - scores.max(-1, keepdims=True))
    mixed = (e / e.sum(-1, keepdims=True)) @ v
    return x + mixed.transpose(0, 2, 1, 3).reshape(b, t, d) @ wo


def convolution(x: Any, w: Any, b: Any) -> Any:
    """2x2 convolution of NHWC images by slices, ReLU, 2x2 maximum pooling."""
    height, width = x.shape[1] - 1, x.shape[2] - 1
    y = b
    for i in range(2):
        for j in range(2):
            y = y + x[:, i : i + height, j : j + width, :] @ w[i, j]
    y = np.maximum(y, 0)
    rows = np.maximum(y[:, ::2], y[:, 1::2])
    return np.maximum(rows[:, :, ::2], rows[:, :, 1::2])


def rnn(steps: Any, wx: Any, wh: Any, h: Any, count: int) -> Any:
    """The last state of a recurrent network over `count` steps."""
    for t in range(count):
        h = np.tanh(steps[t] @ wx + h @ wh)
    return h


def adam(parameters: list[tuple[Any, Any, Any, Any]], t: Any) -> list[dict[str, Any]]:
    """An Adam step for each (parameter, gradient, first moment, second moment)."""
    result = []
    for p, g, m, v in parameters:
        m = 0.9 * m + (1 - 0.9) * g
        v = 0.999 * v + (1 - 0.999) * g * g
        step = (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.999**t)) + 1e-8)
        result.append({"p": p - 1e-3 * step, "m": m, "v": v})
    return result


def aliased(x: Any) -> list[Any]:
    """Stores into arrays, parts of arrays and parts of parts, with other names for them in use."""
    y = x * 1
    part = y[1:]
    part[0] = 5
    part += 1
    y[:, 0] *= 3
    y[0][1] = 7
    z = y
    z -= 2
    first = y.copy()
    turned = (y * 2).T
    turned *= 0.5
    turned[0] = 1
    w = y[:, 1:][1:]
    w[...] = 4
    for i in range(3):
        y[i] = y[i] * 2 + i
    y[y > 9] = 9
    return [first, turned, part, w, y + z]
