"""The loss of the small GPT and its gradient, written by hand in NumPy.

In: parameters, tokens, targets.  Out: the loss, gradients around and in the blocks.
Linear layers run over all positions of a batch as one matrix.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray
SCALE, CUBIC = 0.7978845608, 0.044715


def numpy_gradient(
    params: Any,  # noqa: ANN401
    tokens: Array,
    targets: Array,
    heads: int,
) -> tuple[Array, tuple[Array, ...], list[tuple[Array, ...]]]:
    """Return the loss, and the gradient in the order of the parameters."""
    outer = params.outer
    width = outer.position.shape[1]
    x = (outer.embedding[tokens] + outer.position).reshape(-1, width)
    known = []
    for block in params.blocks:
        x, kept = _block(x, block, tokens.shape, heads)
        known.append(kept)
    last, normal = _layernorm(x, outer.gain, outer.bias)
    logits = last @ outer.head
    exps = np.exp(logits - logits.max(axis=1, keepdims=True))
    shares = exps / exps.sum(axis=1, keepdims=True)
    places = np.arange(len(shares)), targets.ravel()
    value = -np.log(shares[places]).mean()
    shares[places] -= 1.0
    shares /= np.float32(len(shares))
    head = last.T @ shares
    bar, gain, bias = _layernorm_bar(shares @ outer.head.T, normal, outer.gain)
    blocks = []
    for block, kept in zip(reversed(params.blocks), reversed(known), strict=True):
        bar, found = _block_bar(bar, block, kept, tokens.shape, heads)
        blocks.append(found)
    embedding = np.zeros_like(outer.embedding)
    np.add.at(embedding, tokens.ravel(), bar)
    position = bar.reshape(*tokens.shape, width).sum(axis=0)
    return value, (embedding, position, gain, bias, head), blocks[::-1]


def _layernorm(x: Array, gain: Array, bias: Array) -> tuple[Array, tuple[Array, Array]]:
    centred = x - x.mean(axis=1, keepdims=True)
    inverse = 1.0 / np.sqrt((centred * centred).mean(axis=1, keepdims=True) + 1e-5)
    normal = centred * inverse
    return normal * gain + bias, (normal, inverse)


def _layernorm_bar(bar: Array, kept: tuple[Array, Array], gain: Array) -> tuple[Array, ...]:
    normal, inverse = kept
    by_gain, by_bias = (bar * normal).sum(axis=0), bar.sum(axis=0)
    bar = bar * gain
    means = bar.mean(axis=1, keepdims=True), (bar * normal).mean(axis=1, keepdims=True)
    return (bar - means[0] - normal * means[1]) * inverse, by_gain, by_bias


def _split(x: Array, shape: tuple[int, ...], heads: int) -> Array:
    return x.reshape(*shape, heads, -1).transpose(0, 2, 1, 3)


def _joined(x: Array) -> Array:
    return x.transpose(0, 2, 1, 3).reshape(x.shape[0] * x.shape[2], -1)


def _block(x: Array, block: Any, shape: tuple[int, ...], heads: int) -> tuple[Array, Any]:  # noqa: ANN401
    width, length = x.shape[1], shape[1]
    first, normal1 = _layernorm(x, block.gain1, block.bias1)
    qkv = first @ block.qkv
    q, k, v = (_split(qkv[:, n * width : (n + 1) * width], shape, heads) for n in range(3))
    scores = q @ k.transpose(0, 1, 3, 2) * (width // heads) ** -0.5
    before = np.tril(np.ones((length, length), dtype=np.bool_))
    scores = np.where(before, scores, np.float32(-1e9))
    exps = np.exp(scores - scores.max(axis=-1, keepdims=True))
    shares = exps / exps.sum(axis=-1, keepdims=True)
    taken = _joined(shares @ v)
    x = x + taken @ block.out
    second, normal2 = _layernorm(x, block.gain2, block.bias2)
    up = second @ block.up + block.up_bias
    tanh = np.tanh(SCALE * (up + CUBIC * up * up * up))
    hidden = 0.5 * up * (1.0 + tanh)
    x = x + (hidden @ block.down + block.down_bias)
    return x, (first, normal1, q, k, v, shares, taken, second, normal2, up, tanh, hidden)


def _block_bar(
    bar: Array,
    block: Any,  # noqa: ANN401
    kept: Any,  # noqa: ANN401
    shape: tuple[int, ...],
    heads: int,
) -> tuple[Array, tuple[Array, ...]]:
    first, normal1, q, k, v, shares, taken, second, normal2, up, tanh, hidden = kept
    down, down_bias = hidden.T @ bar, bar.sum(axis=0)
    slope = SCALE * (1.0 + 3.0 * CUBIC * up * up)
    slope = 0.5 * (1.0 + tanh) + 0.5 * up * (1.0 - tanh * tanh) * slope
    inner = (bar @ block.down.T) * slope
    by_up, up_bias = second.T @ inner, inner.sum(axis=0)
    more, gain2, bias2 = _layernorm_bar(inner @ block.up.T, normal2, block.gain2)
    bar = bar + more
    out = taken.T @ bar
    by_taken = _split(bar @ block.out.T, shape, heads)
    by_shares = by_taken @ v.transpose(0, 1, 3, 2)
    by_v = shares.transpose(0, 1, 3, 2) @ by_taken
    by_scores = shares * (by_shares - (by_shares * shares).sum(axis=-1, keepdims=True))
    by_scores *= q.shape[-1] ** -0.5
    by_q, by_k = by_scores @ k, by_scores.transpose(0, 1, 3, 2) @ q
    inner = np.concatenate([_joined(by_q), _joined(by_k), _joined(by_v)], axis=1)
    qkv = first.T @ inner
    more, gain1, bias1 = _layernorm_bar(inner @ block.qkv.T, normal1, block.gain1)
    found = gain1, bias1, qkv, out, gain2, bias2, by_up, up_bias, down, down_bias
    return bar + more, found
