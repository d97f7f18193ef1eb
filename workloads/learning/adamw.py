"""adamw: one step of AdamW on flat parameters, in place."""

from __future__ import annotations

import numpy as np

import polyopt as po
from workloads.data import normal, positive

SIZES = {
    "MINI": {"N": 30},
    "SMALL": {"N": 1000},
    "MEDIUM": {"N": 50000},
    "LARGE": {"N": 8000000},
}
OUTPUTS = ("params", "m", "v")
DTYPE = np.float32
EXACT = False


def adamw(
    params: po.f32["N"],
    grads: po.f32["N"],
    m: po.f32["N"],
    v: po.f32["N"],
    t: int,
    lr: float,
    beta1: float,
    beta2: float,
    eps: float,
    decay: float,
):
    for i in range(params.shape[0]):
        m[i] = beta1 * m[i] + (1.0 - beta1) * grads[i]
        v[i] = beta2 * v[i] + (1.0 - beta2) * grads[i] * grads[i]
        m_hat = m[i] / (1.0 - beta1**t)
        v_hat = v[i] / (1.0 - beta2**t)
        params[i] -= lr * (m_hat / (np.sqrt(v_hat) + eps) + decay * params[i])


def adamw_numpy(
    params: po.f32["N"],
    grads: po.f32["N"],
    m: po.f32["N"],
    v: po.f32["N"],
    t: int,
    lr: float,
    beta1: float,
    beta2: float,
    eps: float,
    decay: float,
):
    m *= beta1
    m += (1.0 - beta1) * grads
    v *= beta2
    v += (1.0 - beta2) * grads**2
    m_hat = m / (1.0 - beta1**t)
    v_hat = v / (1.0 - beta2**t)
    params -= lr * (m_hat / (np.sqrt(v_hat) + eps) + decay * params)


def make(N, dtype):
    return {
        "params": normal(1, (N,), dtype),
        "grads": normal(2, (N,), dtype),
        "m": normal(3, (N,), dtype),
        "v": positive(4, (N,), dtype),
        "t": 7,
        "lr": 1e-3,
        "beta1": 0.9,
        "beta2": 0.999,
        "eps": 1e-8,
        "decay": 0.01,
    }


def randomize(arguments, rng):
    for name in ("params", "grads", "m"):
        arguments[name][:] = rng.uniform(-1, 1, arguments[name].shape)


def flops(N):
    return 18 * N


def chain(N):
    return 60
