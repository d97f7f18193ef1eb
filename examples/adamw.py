"""AdamW in place (I. Loshchilov and F. Hutter, Decoupled weight decay regularization, 2019).

In: parameters, gradients and moments, in one structure.  Out: nothing; kernels read it, too.
"""

from __future__ import annotations

BETA1, BETA2, SMALL, DECAY = 0.9, 0.99, 1e-6, 0.01


def adamw(p, g, m, v, t, rate):
    """Do step `t`, counted from 1, for an array of parameters."""
    m *= BETA1
    m += (1.0 - BETA1) * g
    v *= BETA2
    v += (1.0 - BETA2) * g * g
    p -= rate * (m / (1.0 - BETA1**t) / (((v / (1.0 - BETA2**t)) ** 0.5) + SMALL) + DECAY * p)


def update(ps, gs, ms, vs, t, rate):
    """Do a step for each array of a tuple."""
    for p, g, m, v in zip(ps, gs, ms, vs, strict=True):
        adamw(p, g, m, v, t, rate)
