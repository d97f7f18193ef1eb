"""Some of the programs as Triton kernels; imported where Triton is installed alone.

In: PyTorch tensors on the GPU.  Out: calls by the name of the program.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import triton
import triton.language as tl

_BLOCK = 4096


@triton.jit
def _chain(x, y, count, block: tl.constexpr):  # noqa: ANN001, ANN202
    at = tl.program_id(0).to(tl.int64) * block + tl.arange(0, block)
    inside = at < count
    value = tl.load(x + at, mask=inside, other=0.0)
    result = (value * 2.0 + 1.0) * (value - 3.0) / (value * value + 1.0)
    tl.store(y + at, result, mask=inside)


@triton.jit
def _softmax(x, y, width, block: tl.constexpr):  # noqa: ANN001, ANN202
    row = tl.program_id(0).to(tl.int64) * width
    at = tl.arange(0, block)
    inside = at < width
    value = tl.load(x + row + at, mask=inside, other=-float("inf"))
    shifted = tl.exp(value - tl.max(value, axis=0))
    tl.store(y + row + at, shifted / tl.sum(shifted, axis=0), mask=inside)


@triton.jit
def _layernorm(x, y, width, block: tl.constexpr):  # noqa: ANN001, ANN202
    row = tl.program_id(0).to(tl.int64) * width
    at = tl.arange(0, block)
    inside = at < width
    value = tl.load(x + row + at, mask=inside, other=0.0)
    centred = tl.where(inside, value - tl.sum(value, axis=0) / width, 0.0)
    scale = tl.sqrt(tl.sum(centred * centred, axis=0) / width + 1e-5)
    tl.store(y + row + at, centred / scale, mask=inside)


@triton.jit
def _row_sum(x, s, width, block: tl.constexpr):  # noqa: ANN001, ANN202
    row = tl.program_id(0).to(tl.int64)
    at = tl.arange(0, block)
    value = tl.load(x + row * width + at, mask=at < width, other=0.0)
    tl.store(s + row, tl.sum(value, axis=0))


@triton.jit
def _matmul(  # noqa: ANN202
    a, b, c, n, m, k, rows: tl.constexpr, columns: tl.constexpr, depth: tl.constexpr  # noqa: ANN001
):  # fmt: skip
    i = tl.program_id(0) * rows + tl.arange(0, rows)
    j = tl.program_id(1) * columns + tl.arange(0, columns)
    total = tl.zeros((rows, columns), tl.float32)
    for start in range(0, k, depth):
        p = start + tl.arange(0, depth)
        left = tl.load(
            a + i[:, None] * k + p[None, :], mask=(i[:, None] < n) & (p[None, :] < k), other=0.0
        )
        right = tl.load(
            b + p[:, None] * m + j[None, :], mask=(p[:, None] < k) & (j[None, :] < m), other=0.0
        )
        total = tl.dot(left, right, total, input_precision="ieee")
    tl.store(c + i[:, None] * m + j[None, :], total, mask=(i[:, None] < n) & (j[None, :] < m))


def calls(v: Mapping[str, Any]) -> dict[str, Callable[[], object]]:
    """Return the programs whose arrays are there."""
    found: dict[str, Callable[[], object]] = {}
    if "x" in v:
        x, (height, width) = v["x"], v["x"].shape
        block = triton.next_power_of_2(width)
        for name, kernel, target in (
            ("softmax", _softmax, "y"),
            ("layernorm", _layernorm, "y"),
            ("row_sum", _row_sum, "s"),
        ):
            if target in v:
                found[name] = _of_rows(kernel, x, v[target], height, width, block)
        if "y" in v:
            blocks = (triton.cdiv(x.numel(), _BLOCK),)
            found["chain"] = lambda: _chain[blocks](x, v["y"], x.numel(), _BLOCK)
    if "a" in v:
        (n, k), m = v["a"].shape, v["b"].shape[1]
        grid = (triton.cdiv(n, 64), triton.cdiv(m, 64))
        args = (v["a"], v["b"], v["c"], n, m, k, 64, 64, 32)
        found["matmul"] = lambda: _matmul[grid](*args)
    return found


def _of_rows(
    kernel: Any, x: Any, y: Any, height: int, width: int, block: int  # noqa: ANN401
) -> Callable[[], object]:  # fmt: skip
    return lambda: kernel[(height,)](x, y, width, block, num_warps=8)
