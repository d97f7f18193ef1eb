"""Attention and a convolution in float32 against PyTorch, as it is and compiled to Triton.

In: the workloads of these names, at sizes for a GPU.  Out: a row a workload.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

import polyopt as po
import workloads
from bench.gpu.clock import Clocked, measure, open_context
from bench.gpu.memory import place
from bench.gpu.rehearsal import device, is_rehearsal
from bench.gpu.stages import say, seconds_left

_SIZES = {
    "attention": {"T": 4096, "S": 4096, "D": 64},
    "conv2d-nchw": {"K": 3, "N": 16, "C": 64, "H": 128, "W": 128, "O": 64},
}
_TOLERANCE = 1e-4  # of the largest element: PyTorch sums in another order
_COMPILING = 40.0  # seconds that a compilation to Triton may need

Tensors = Mapping[str, Any]


def attention(torch: Any, v: Tensors) -> Any:  # noqa: ANN401
    """Return one head's attention."""
    heads = (v[name][None, None] for name in ("q", "k", "v"))
    return torch.nn.functional.scaled_dot_product_attention(*heads)[0, 0]


def convolution(torch: Any, v: Tensors) -> Any:  # noqa: ANN401
    """Return a convolution with stride 2 and padding 1."""
    return torch.nn.functional.conv2d(v["x"], v["weight"], stride=2, padding=1)


_RIVALS: dict[str, Callable[[Any, Tensors], Any]] = {
    "attention": attention,
    "conv2d-nchw": convolution,
}


def report(context: Clocked, name: str) -> None:
    """Measure polyopt's kernel and PyTorch's, and compare the results."""
    row: dict[str, object] = {"workload": name}
    try:
        workload = workloads.get(name)
        sizes = _SIZES[name]
        if is_rehearsal():
            sizes = {extent: min(number, 9) for extent, number in sizes.items()}
        placed = place(workload.make(sizes))
        kernel = po.kernel(target="cuda", device=device(), fp="reassociate")(
            workload.forms["numpy"]
        )
        taken = measure(context, lambda: kernel(**placed))
        row |= {"ms": 1e3 * taken.seconds, "spread": taken.spread}
        row["TFLOP/s"] = 1e-12 * workload.flops(sizes) / taken.seconds
        row |= {"torch ms": None, "inductor ms": None, "error": None}
        _compare(context, name, placed, kernel(**placed).numpy(), row)
    except Exception as error:
        row["wrong"] = f"{type(error).__name__}: {error}"[:400]
    say(**row)


def _compare(
    context: Clocked, name: str, placed: Tensors, found: NDArray[Any], row: dict[str, object]
) -> None:  # fmt: skip
    try:
        torch: Any = importlib.import_module("torch")
    except (ImportError, OSError):
        return
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    tensors = {key: torch.from_dlpack(array) for key, array in placed.items()}
    function = _RIVALS[name]
    want = function(torch, tensors).cpu().numpy()
    error = float(np.max(np.abs(found - want)) / np.max(np.abs(want)))
    row["error"] = error
    if not error <= _TOLERANCE:
        row["wrong"] = f"error {error:.1e} against PyTorch, allowed {_TOLERANCE:.1e}"
    row["torch ms"] = 1e3 * measure(context, lambda: function(torch, tensors)).seconds
    if seconds_left() > _COMPILING:
        compiled = torch.compile(lambda: function(torch, tensors))
        row["inductor ms"] = 1e3 * measure(context, compiled).seconds


def main() -> None:
    """Measure all."""
    context = open_context()
    for name in _SIZES:
        if seconds_left() > 0:
            report(context, name)


if __name__ == "__main__":
    main()
