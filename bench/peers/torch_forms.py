"""Programs that PyTorch has operations of its own for, called as a user of PyTorch would.

In: tensors that share memory with the arguments.  Out: `FORMS`, by the name of the workload.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812

Tensor = Any


def attention(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """One head."""
    return F.scaled_dot_product_attention(q[None, None], k[None, None], v[None, None])[0, 0]


def conv2d(image: Tensor, weights: Tensor, bias: Tensor) -> Tensor:
    """NHWC in and out."""
    out = F.conv2d(image.permute(0, 3, 1, 2), weights.permute(3, 2, 0, 1), bias)
    return out.permute(0, 2, 3, 1).contiguous()


def conv2d_nchw(x: Tensor, weight: Tensor) -> Tensor:
    """Stride two, padding one."""
    return F.conv2d(x, weight, stride=2, padding=1)


def gelu(x: Tensor) -> Tensor:
    """The approximation by tanh."""
    return F.gelu(x, approximate="tanh")


def softmax(logits: Tensor, probs: Tensor) -> None:
    """Into an array that is there."""
    torch.softmax(logits, -1, out=probs)


def layernorm(
    x: Tensor, weight: Tensor, bias: Tensor, out: Tensor, mean: Tensor, rstd: Tensor
) -> None:
    """With the statistics, as training needs them."""
    found = torch.native_layer_norm(x, (x.shape[-1],), weight, bias, 1e-5)
    for target, value in zip((out, mean, rstd), found, strict=True):
        target.copy_(value.reshape(target.shape))


def max_pool(x: Tensor) -> Tensor:
    """NHWC in and out."""
    return F.max_pool2d(x.permute(0, 3, 1, 2), 2).permute(0, 2, 3, 1).contiguous()


def rmsnorm(x: Tensor, weight: Tensor) -> Tensor:
    """Over the last axis."""
    return F.rms_norm(x, (x.shape[-1],), weight, 1e-5)


def bias_relu(x: Tensor, bias: Tensor) -> Tensor:
    """In two passes, the second in place."""
    return torch.relu_(x + bias)


FORMS: Mapping[str, Callable[..., Any]] = {
    "attention": attention,
    "conv2d": conv2d,
    "conv2d-nchw": conv2d_nchw,
    "gelu": gelu,
    "softmax": softmax,
    "layernorm": layernorm,
    "max-pool": max_pool,
    "rmsnorm": rmsnorm,
    "bias-relu": bias_relu,
}
