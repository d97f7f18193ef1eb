"""Print kernels as CUDA C++, without any include: nvcc and NVRTC compile it alike.

In: a `LoopFunction` with kernels.  Out: `DeviceSource`.
Refuses: loops over threads without a constant box (PO0405).
"""

from __future__ import annotations

from polyopt.emit.gpu.async_copies import CUDA_HELPERS
from polyopt.emit.gpu.dialect import CUDA_WARP, WARP_HELPERS, DeviceDialect
from polyopt.emit.gpu.fragments import MATRIX_HELPERS
from polyopt.emit.gpu.half_conversions import CUDA_SHORTCUTS
from polyopt.emit.gpu.printer import emit_kernels
from polyopt.emit.gpu.random_shortcuts import CUDA_RANDOM
from polyopt.ir.loops import LoopFunction, Scope
from polyopt.ir.source import DeviceSource
from polyopt.ir.types import DType

_TYPES = {
    DType.BOOL: "bool",
    DType.INT8: "signed char",
    DType.INT16: "short",
    DType.INT32: "int",
    DType.INT64: "long long",
    DType.UINT8: "unsigned char",
    DType.UINT16: "unsigned short",
    DType.UINT32: "unsigned int",
    DType.UINT64: "unsigned long long",
    DType.FLOAT16: "unsigned short",
    DType.BFLOAT16: "unsigned short",
    DType.FLOAT32: "float",
    DType.FLOAT64: "double",
    DType.COMPLEX64: "float2",
    DType.COMPLEX128: "double2",
}
_BARRIERS = {Scope.BLOCK: "__syncthreads();", Scope.WARP: "__syncwarp();"}

CUDA = DeviceDialect(
    language="cuda",
    words={f"{t.value}_t": name for t, name in _TYPES.items() if t.is_integer},
    types=_TYPES,
    flag="bool",
    long="LL",
    single="f",
    function_head="static __device__ inline",
    kernel_head='extern "C" __global__ void __launch_bounds__({threads})',
    kernel_name="",
    pointer="",
    restrict="__restrict__",
    shared="__shared__",
    align="__align__({})",
    thread="(int)threadIdx.x",
    blocks=("blockIdx.x", "blockIdx.y", "blockIdx.z"),
    block_counts=("gridDim.x", "gridDim.y", "gridDim.z"),
    barriers=_BARRIERS,
    all_memory=_BARRIERS,
    popcount="__popcll",
    many_blocks=False,
    unrolled=16,
    macros={
        **CUDA_HELPERS,
        **MATRIX_HELPERS,
        **WARP_HELPERS,
        "INFINITY": (
            "#ifndef INFINITY",
            "#define INFINITY __int_as_float(0x7f800000)",
            "#endif",
        ),
        "NAN": ("#ifndef NAN", "#define NAN __int_as_float(0x7fffffff)", "#endif"),
    },
    vectors={
        DType.INT32: "int{}",
        DType.UINT32: "uint{}",
        DType.INT64: "longlong{}",
        DType.UINT64: "ulonglong{}",
        DType.FLOAT32: "float{}",
        DType.FLOAT64: "double{}",
    },
    load_vector="*(const {type} *)&{place}",
    store_vector="*({type} *)&{place} = {value};",
    make_vector="make_{type}({parts})",
    aligns=True,
    prelude=(),
    rounding=("", ""),
    flags=(("--fmad=false",), ("--fmad=true",)),
    limits=True,
    privatizes=True,
    asynchronous=True,
    pool="extern __shared__ __align__({bytes}) unsigned char {name}[];",
    matrices=True,
    shortcuts={**CUDA_SHORTCUTS, **CUDA_RANDOM},
    shuffle_up="__shfl_up_sync(0xffffffffu, {value}, {by})",
    warp=CUDA_WARP,
    fence="__threadfence();",
    count_block="atomicInc({counter}, gridDim.x * gridDim.y * gridDim.z - 1)"
    " == gridDim.x * gridDim.y * gridDim.z - 1",
    shuffle="__shfl_down_sync(0xffffffffu, {value}, {by}, {width})",
)


def emit_cuda(fn: LoopFunction) -> DeviceSource:
    """Return the CUDA text of all kernels of `fn`."""
    return emit_kernels(fn, CUDA)
