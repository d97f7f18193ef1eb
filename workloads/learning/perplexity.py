"""perplexity: of a language model's logits; the share of tokens it guesses right."""

from __future__ import annotations

import numpy as np

import polyopt as po
from workloads.data import integers, normal

SIZES = {
    "MINI": {"B": 2, "T": 4, "V": 9},
    "SMALL": {"B": 4, "T": 16, "V": 50},
    "MEDIUM": {"B": 4, "T": 64, "V": 200},
    "LARGE": {"B": 4, "T": 512, "V": 4000},
}
OUTPUTS = ("return[0]", "return[1]")
DTYPE = np.float32
LEAST = {"B": 1, "T": 1, "V": 1}


def perplexity_numpy(logits: po.f32["B,T,V"], targets: po.i64["B,T"]):
    B, T, V = logits.shape
    flat = logits.reshape(-1, V)
    wanted = targets.reshape(-1)
    top = flat.max(axis=-1, keepdims=True)
    log_total = np.log(np.exp(flat - top).sum(axis=-1)) + top[:, 0]
    chosen = flat[np.arange(B * T), wanted]
    accuracy = np.mean(flat.argmax(axis=-1) == wanted)
    return np.exp(np.mean(log_total - chosen)), accuracy


def make(B, T, V, dtype):
    return {"logits": normal(1, (B, T, V), dtype), "targets": integers(2, V, (B, T))}


def randomize(arguments, rng):
    logits = arguments["logits"]
    logits[:] = rng.uniform(-1, 1, logits.shape)


def flops(B, T, V):
    return 4 * B * T * V


def chain(B, T, V):
    return 4 * (V + B * T) + 60
