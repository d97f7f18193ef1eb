"""gelu-backward: the gradient through the Gaussian error unit, added to what is there."""

from __future__ import annotations

import math

import numpy as np

import polyopt as po
from workloads.data import normal

SIZES = {
    "MINI": {"N": 6, "C": 12},
    "SMALL": {"N": 40, "C": 64},
    "MEDIUM": {"N": 256, "C": 384},
    "LARGE": {"N": 4096, "C": 1024},
}
OUTPUTS = ("dx",)
DTYPE = np.float32
EXACT = False


def gelu_backward(dx: po.f32["N"], x: po.f32["N"], dout: po.f32["N"]):
    scale = math.sqrt(2.0 / math.pi)
    for i in range(len(x)):
        cube = 0.044715 * x[i] * x[i] * x[i]
        arg = scale * (x[i] + cube)
        tanh_out = np.tanh(arg)
        cosh_out = np.cosh(arg)
        sech2 = 1.0 / (cosh_out * cosh_out)
        local = 0.5 * (1.0 + tanh_out) + x[i] * 0.5 * sech2 * scale * (
            1.0 + 3.0 * 0.044715 * x[i] * x[i]
        )
        dx[i] += local * dout[i]


def gelu_backward_numpy(dx: po.f32["N"], x: po.f32["N"], dout: po.f32["N"]):
    scale = math.sqrt(2.0 / math.pi)
    tanh_out = np.tanh(scale * (x + 0.044715 * x**3))
    sech2 = 1.0 - tanh_out**2
    local = 0.5 * (1.0 + tanh_out) + 0.5 * x * sech2 * scale * (1.0 + 3.0 * 0.044715 * x**2)
    dx += local * dout


def make(N, C, dtype):
    return {
        "dx": np.zeros(N * C, dtype),
        "x": normal(1, (N * C,), dtype),
        "dout": normal(2, (N * C,), dtype),
    }


def flops(N, C):
    return 22 * N * C


def chain(N, C):
    return 60
