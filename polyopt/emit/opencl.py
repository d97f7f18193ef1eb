"""Print kernels as OpenCL C 1.2.

In: a `LoopFunction` with kernels.  Out: `DeviceSource`.
Refuses: loops over threads without a constant box (PO0405).
"""

from __future__ import annotations

from polyopt.emit.gpu.dialect import DeviceDialect
from polyopt.emit.gpu.half_conversions import OPENCL_SHORTCUTS
from polyopt.emit.gpu.printer import emit_kernels
from polyopt.emit.gpu.random_shortcuts import OPENCL_RANDOM
from polyopt.ir.expr import MathFunc
from polyopt.ir.loops import LoopFunction, Scope
from polyopt.ir.source import DeviceSource
from polyopt.ir.types import DType

_TYPES = {
    DType.BOOL: "bool",
    DType.INT8: "char",
    DType.INT16: "short",
    DType.INT32: "int",
    DType.INT64: "long",
    DType.UINT8: "uchar",
    DType.UINT16: "ushort",
    DType.UINT32: "uint",
    DType.UINT64: "ulong",
    DType.FLOAT16: "ushort",
    DType.BFLOAT16: "ushort",
    DType.FLOAT32: "float",
    DType.FLOAT64: "double",
    DType.COMPLEX64: "float2",
    DType.COMPLEX128: "double2",
}
_FUNCTIONS = (*(f.value for f in MathFunc), "pow", "fabs")
_SHARED = "barrier(CLK_LOCAL_MEM_FENCE);"
_ALL = "barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);"
_EXTENSION = "#pragma OPENCL EXTENSION cl_khr_int64_{}_atomics : enable"
_DOUBLE = "#pragma OPENCL EXTENSION cl_khr_fp64 : enable"

OPENCL = DeviceDialect(
    language="opencl",
    words={
        **{f"{t.value}_t": name for t, name in _TYPES.items() if t.is_integer},
        **{f"{name}f": name for name in _FUNCTIONS},
    },
    types=_TYPES,
    flag="uchar",
    long="L",
    single="",
    function_head="static inline",
    kernel_head="__kernel __attribute__((reqd_work_group_size({threads}, 1, 1)))",
    kernel_name="void ",
    pointer="__global ",
    restrict="restrict",
    shared="__local",
    align="__attribute__((aligned({})))",
    thread="(int)get_local_id(0)",
    blocks=("get_group_id(0)", "get_group_id(1)", "get_group_id(2)"),
    block_counts=("get_num_groups(0)", "get_num_groups(1)", "get_num_groups(2)"),
    # there are no warps in OpenCL C 1.2
    barriers={Scope.BLOCK: _SHARED, Scope.WARP: _SHARED},
    all_memory={Scope.BLOCK: _ALL, Scope.WARP: _ALL},
    popcount="popcount",
    many_blocks=True,
    unrolled=4,
    macros={},
    vectors={t: f"{name}{{}}" for t, name in _TYPES.items() if t.size >= 4 and not t.is_complex},
    load_vector="vload{lanes}(0, &{place})",
    store_vector="vstore{lanes}({value}, 0, &{place});",
    make_vector="({type})({parts})",
    aligns=False,
    prelude=(
        *(("double", _DOUBLE), ("double2", _DOUBLE)),
        ("atom_add", _EXTENSION.format("base")),
        *(
            (f"atom_{op}", _EXTENSION.format("extended"))
            for op in ("min", "max", "and", "or", "xor")
        ),
    ),
    rounding=("#pragma OPENCL FP_CONTRACT OFF", "#pragma OPENCL FP_CONTRACT ON"),
    flags=(("-cl-std=CL1.2",), ("-cl-std=CL1.2",)),
    shortcuts={**OPENCL_SHORTCUTS, **OPENCL_RANDOM},
)


def emit_opencl(fn: LoopFunction) -> DeviceSource:
    """Return the OpenCL text of all kernels of `fn`."""
    return emit_kernels(fn, OPENCL)
