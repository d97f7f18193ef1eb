"""Details of the text: what an expert would write by hand."""

from __future__ import annotations

from math import prod

import pytest

from polyopt.emit.cuda import emit_cuda
from polyopt.emit.gpu.thread_iterators import distribute_cyclically
from polyopt.emit.opencl import emit_opencl
from polyopt.ir.integers import evaluate
from polyopt.ir.source import KernelParamKind
from tests.gpu.printing.build import function

STRIDED = """
with kernel(32):
    for i in block(0, {rows}):
        for j0 in block(0, {columns}, 32):
            for j in thread(j0, min(j0 + 32, {columns})):
                x[i, j] = 1.0
"""


def test_few_rows_of_blocks_need_no_loop() -> None:
    sized = function(STRIDED.format(rows=100, columns=96), x="f32[100, 96]")
    text = emit_cuda(sized).text
    assert "for (" not in text
    assert "long long" not in text
    assert "if (" not in text
    assert "x[i * 96 + j] = 1.0f;" in text


def test_rows_of_blocks_without_a_limit_are_gone_through() -> None:
    fn = function(STRIDED.format(rows="N", columns="M"), x="f32[N, M]", N="size", M="size")
    source = emit_cuda(fn)
    assert "i += (long long)gridDim.y" in source.text
    sizes = {"N": 100_000, "M": 33}
    assert [evaluate(extent, sizes) for extent in source.entries[0].grid] == [2, 65535, 1]
    assert "for (" not in emit_opencl(fn).text
    assert evaluate(emit_opencl(fn).entries[0].grid[1], sizes) == 100_000


def test_parameters_are_arrays_integers_and_other_scalars() -> None:
    fn = function(
        """
        for step in range(0, N):
            with kernel(32):
                for i in thread(0, 32):
                    if i < M:
                        y[i, step] = a * x[i, step] + f32(step)
        """,
        a="f32",
        x="f32[M, N] rows",
        y="f32[M, N]",
        N="size",
        M="size",
    )
    (entry,) = emit_cuda(fn).entries
    assert [(p.kind, p.name, p.written) for p in entry.params] == [
        (KernelParamKind.ARRAY, "y", True),
        (KernelParamKind.ARRAY, "x", False),
        (KernelParamKind.STRIDE, "x", False),
        (KernelParamKind.VALUE, "M", False),
        (KernelParamKind.VALUE, "step", False),
        (KernelParamKind.VALUE, "N", False),
        (KernelParamKind.VALUE, "a", False),
    ]


def test_shared_bytes_are_told() -> None:
    fn = function(
        """
        with kernel(32):
            s: shared[f64, 3, 5]
            n: shared[i32]
            for i in thread(0, 5):
                s[0, i] = 1.0
            n[()] = 1
            barrier("s")
            for i in thread(0, 5):
                x[i] = s[0, 4 - i] + f64(n[()])
        """,
        x="f64[5]",
    )
    source = emit_cuda(fn)
    assert source.entries[0].shared == 128 + 16
    assert "__shared__ double s[3][5];" in source.text
    assert "if (t == 0) {" in source.text
    assert "if (t < 5) {" in source.text


def test_barriers_order_arrays_of_the_device_where_threads_share_them() -> None:
    text = """
        with kernel(32):
            s: shared[f32, 32]
            for i in thread(0, 32):
                {first}
            barrier("here")
            for i in thread(0, 32):
                {second}
        """
    local = text.format(first="s[i] = x[i]", second="y[i] = s[31 - i]")
    wide = text.format(first="x[i] = 1.0", second="y[i] = x[31 - i]")
    found = [emit_opencl(function(t, x="f32[32]", y="f32[32]")).text for t in (local, wide)]
    assert "barrier(CLK_LOCAL_MEM_FENCE);" in found[0]
    assert "barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);" in found[1]


def test_names_of_the_language_and_of_the_printer_are_left_to_them() -> None:
    fn = function(
        """
        with kernel(64):
            for t in thread(0, 8):
                for tx in thread(0, 8):
                    float4[t, tx] = threadIdx[t, tx] + kernel_[tx, t]
        """,
        float4="f32[8, 8]",
        threadIdx="f32[8, 8]",
        kernel_="f32[8, 8]",
    )
    text = emit_cuda(fn).text
    assert "float4_[" in text
    assert "threadIdx_[" in text
    assert "const int t_2_ = (int)threadIdx.x;" in text


def test_products_are_fused_only_if_allowed() -> None:
    text = """
        with kernel(32):
            for i in thread(0, 32):
                x[i] = x[i] * x[i] + 1.0
        """
    strict, free = function(text, x="f32[32]"), function(text, x="f32[32]", contract=True)
    assert emit_cuda(strict).flags == ("--fmad=false",)
    assert emit_cuda(free).flags == ("--fmad=true",)
    assert "#pragma OPENCL FP_CONTRACT OFF" in emit_opencl(strict).text
    assert "#pragma OPENCL FP_CONTRACT ON" in emit_opencl(free).text


@pytest.mark.parametrize("threads", [1, 7, 32, 96, 256])
@pytest.mark.parametrize("extents", [(1,), (5,), (32, 32), (20, 20), (3, 4, 8), (300,), (1, 16, 1)])
def test_every_iteration_is_dealt_to_the_thread_with_its_number(
    extents: tuple[int, ...], threads: int
) -> None:
    distribution = distribute_cyclically(extents, threads)
    found: dict[tuple[int, ...], int] = {}
    for t in range(threads):
        scope = {"t": t, "__builtins__": {}}
        if distribution.is_strided:
            rows = range(
                eval(distribution.row("t").replace("/", "//"), scope),
                distribution.rows,
                distribution.passes,
            )
        else:
            row = eval(distribution.row("t").replace("/", "//"), scope)
            rows = range(row, min(row + 1, distribution.rows))
        for row in rows:
            place = [0] * len(extents)
            for dim in distribution.inner:
                place[dim] = eval(distribution.column(dim, "t").replace("/", "//"), scope)
            for dim in distribution.outer:
                place[dim] = eval(distribution.row_part(dim, str(row)).replace("/", "//"), scope)
            assert tuple(place) not in found
            found[tuple(place)] = t
    assert len(found) == prod(extents)
    assert [found[key] for key in sorted(found)] == [n % threads for n in range(len(found))]
