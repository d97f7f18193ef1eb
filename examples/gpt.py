"""A small GPT, trained on the text. Run as `python -m examples.gpt [STEPS] [CURVE.svg]`.

A step is one kernel: forward pass, gradient of every parameter and AdamW in place.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import polyopt as po
from examples.adamw import adamw, update
from examples.curve import draw
from examples.gpt_numpy import numpy_gradient
from examples.text import garden
from examples.training import Report, train

LAYERS, HEADS, WIDTH, LENGTH, BATCH = 2, 4, 64, 32, 8


class Block(NamedTuple):
    """The parameters of a block."""

    gain1: np.ndarray
    bias1: np.ndarray
    qkv: np.ndarray
    out: np.ndarray
    gain2: np.ndarray
    bias2: np.ndarray
    up: np.ndarray
    up_bias: np.ndarray
    down: np.ndarray
    down_bias: np.ndarray


class Outer(NamedTuple):
    """The parameters around the blocks."""

    embedding: np.ndarray
    position: np.ndarray
    gain: np.ndarray
    bias: np.ndarray
    head: np.ndarray


class Gpt(NamedTuple):
    """All parameters."""

    outer: Outer
    blocks: tuple[Block, ...]


def layernorm(x, gain, bias):
    """Return rows with mean 0 and variance 1, scaled."""
    centred = x - x.mean(axis=-1, keepdims=True)
    variance = (centred * centred).mean(axis=-1, keepdims=True)
    return centred / np.sqrt(variance + 1e-5) * gain + bias


def softmax(x):
    """Return shares that add up to 1 in each row."""
    exps = np.exp(x - x.max(axis=-1, keepdims=True))
    return exps / exps.sum(axis=-1, keepdims=True)


def gelu(x):
    """Return the smooth ReLU, as GPT-2 has it."""
    return 0.5 * x * (1.0 + np.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))


def attention(x, block):
    """Return what each position takes from itself and those before."""
    batch, length, width = x.shape
    size = width // HEADS
    qkv = x @ block.qkv
    split = batch, length, HEADS, size
    q = qkv[:, :, :width].reshape(split).transpose(0, 2, 1, 3)
    k = qkv[:, :, width : 2 * width].reshape(split).transpose(0, 2, 1, 3)
    v = qkv[:, :, 2 * width :].reshape(split).transpose(0, 2, 1, 3)
    scores = q @ k.transpose(0, 1, 3, 2) * size**-0.5
    before = np.tril(np.ones((length, length), dtype=np.bool_))
    shares = softmax(np.where(before, scores, np.float32(-1e9)))
    return (shares @ v).transpose(0, 2, 1, 3).reshape(batch, length, width) @ block.out


def loss(params, tokens, targets):
    """Return the mean cross-entropy of the characters that follow."""
    batch, length = tokens.shape
    outer = params.outer
    x = outer.embedding[tokens] + outer.position
    for block in params.blocks:
        x = x + attention(layernorm(x, block.gain1, block.bias1), block)
        hidden = gelu(layernorm(x, block.gain2, block.bias2) @ block.up + block.up_bias)
        x = x + (hidden @ block.down + block.down_bias)
    logits = layernorm(x, outer.gain, outer.bias) @ outer.head
    shifted = logits - logits.max(axis=-1, keepdims=True)
    sums = np.log(np.exp(shifted).sum(axis=-1))
    rows, columns = np.arange(batch)[:, None], np.arange(length)[None, :]
    return np.mean(sums - shifted[rows, columns, targets])


def step(params, m, v, tokens, targets, t, rate):
    """Do a step of training in place; return the loss before."""
    value, gradient = po.value_and_grad(loss)(params, tokens, targets)
    update(params.outer, gradient.outer, m.outer, v.outer, t, rate)
    for block, found, first, second in zip(
        params.blocks, gradient.blocks, m.blocks, v.blocks, strict=True
    ):
        update(block, found, first, second, t, rate)
    return value


def numpy_step(params, m, v, tokens, targets, t, rate):
    """Do the same in NumPy, with the gradient written by hand."""
    value, outer, blocks = numpy_gradient(params, tokens, targets, HEADS)
    update(params.outer, outer, m.outer, v.outer, t, rate)
    for some in zip(params.blocks, blocks, m.blocks, v.blocks, strict=True):
        for arrays in zip(*some, strict=True):
            adamw(*arrays, t, rate)
    return value


def start(count: int, layers: int = LAYERS, width: int = WIDTH, length: int = LENGTH) -> Gpt:
    """Return parameters to begin with, for texts of `count` different characters."""
    rng = np.random.default_rng(3)

    def normal(*shape: int) -> np.ndarray:
        return (0.05 * rng.standard_normal(shape)).astype(np.float32)

    def ones() -> np.ndarray:
        return np.ones(width, np.float32)

    def zeros(size: int = width) -> np.ndarray:
        return np.zeros(size, np.float32)

    def block() -> Block:
        return Block(
            ones(), zeros(), normal(width, 3 * width), normal(width, width), ones(), zeros(),
            normal(width, 4 * width), zeros(4 * width), normal(4 * width, width), zeros(),
        )  # fmt: skip

    outer = Outer(
        normal(count, width), normal(length, width), ones(), zeros(), normal(width, count)
    )
    return Gpt(outer, tuple(block() for _ in range(layers)))


def run(steps: int = 200, repeats: int = 50, layers: int = LAYERS, **sizes: Any) -> Report:  # noqa: ANN401
    """Train on the text."""
    text = garden()
    params = start(len(text.characters), layers, **sizes)
    batches = text.batches(BATCH, len(params.outer.position))
    return train("gpt", step, numpy_step, params, batches, steps, 3e-3, repeats)


if __name__ == "__main__":
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    report = run(count)
    print(report)
    if len(sys.argv) > 2:
        curves = {"one kernel": report.losses, "NumPy": report.expected}
        picture = draw("A GPT of two blocks on garden.txt", curves)
        Path(sys.argv[2]).write_text(picture, encoding="utf-8")
