"""The head of a GPT, trained on several ranks. Run as `mpirun -n 2 python -m examples.gpt_ranks`.

Each rank has a part of the batch.  By `DATA` it has all parameters, and gradients are all-reduced;
by `ZERO` (Rajbhandari et al., "ZeRO: memory optimizations toward training trillion parameter
models", 2020) it keeps a part of each gradient, of its moments and of the parameters: sums are
reduce-scattered, parameters all-gathered.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

import polyopt as po
from examples.adamw import adamw
from examples.gpt import gelu, layernorm

Up, Down = po.f64["W,H"], po.f64["H,C"]
X, Hot = po.f64["N,W"], po.f64["N,C"]
DATA = {"x": 0, "hot": 0}
ZERO = {**DATA, "m_up": 0, "v_up": 0, "m_down": 0, "v_down": 0, "up": 0, "down": 0}


def loss(up, down, x, hot):
    """Return the mean cross-entropy of the characters that follow, `hot` being 1 at each."""
    hidden = gelu(layernorm(x, 1.0, 0.0) @ up)
    logits = hidden @ down
    shifted = logits - logits.max(axis=-1, keepdims=True)
    sums = np.log(np.exp(shifted).sum(axis=-1))
    return np.mean(sums - (shifted * hot).sum(axis=-1))


def step(
    up: Up, down: Down, m_up: Up, v_up: Up, m_down: Down, v_down: Down, x: X, hot: Hot,
    t: int, rate: float,
):  # fmt: skip
    """Do a step of training in place; return the loss before."""
    value, (d_up, d_down) = po.value_and_grad(loss, wrt=("up", "down"))(up, down, x, hot)
    adamw(up, d_up, m_up, v_up, t, rate)
    adamw(down, d_down, m_down, v_down, t, rate)
    return value


def start(batch: int, width: int = 16, hidden: int = 24, count: int = 10) -> tuple[Any, ...]:
    """Return arguments of `step`, the same on all ranks."""
    rng = np.random.default_rng(5)
    up, down = rng.normal(0, 0.1, (width, hidden)), rng.normal(0, 0.1, (hidden, count))
    moments = [np.zeros_like(p) for p in (up, up, down, down)]
    hot = np.eye(count)[rng.integers(0, count, batch)]
    return up, down, *moments, rng.normal(0, 1, (batch, width)), hot, 1, 3e-3


def run(steps: int = 20, batch: int = 64) -> tuple[str, float, float]:
    """Train by the cut with the fewest bytes; return it, the last loss, that of one process."""
    given = start(batch)
    ranks = _ranks()
    best = po.suggest_shard(step, *given, mesh=ranks, shards=(DATA, ZERO), fp="reassociate")[0]
    on_ranks = po.kernel(step, mesh=ranks, shard=best.shard, fp="reassociate")
    alone = po.kernel(step, fp="reassociate")
    losses = []
    for kernel in (on_ranks, alone):
        *arrays, _, rate = start(batch)
        for t in range(1, steps + 1):
            value = kernel(*arrays, t, rate)
        losses.append(float(value))
    return str(best), *losses


def _ranks() -> po.Mesh:
    from mpi4py import MPI

    return po.mesh(MPI.COMM_WORLD.size)


if __name__ == "__main__":
    name, loss_on_ranks, loss_alone = run(int(sys.argv[1]) if len(sys.argv) > 1 else 20)
    print(f"{name}\n  loss {loss_on_ranks:.12g}, on one rank {loss_alone:.12g}")
