"""Kernels as OpenCL C 1.2.

In: a `LoopFunction` with kernels.  Out: `DeviceSource`.
Refuses: loops over threads without a constant box (PO0405).
"""

from __future__ import annotations

from polyopt.emit.gpu.dialect import DeviceDialect
from polyopt.emit.gpu.halves import OPENCL_SHORTCUTS
from polyopt.emit.gpu.printer import emit_kernels
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
_EXTENDED = ("min", "max", "and", "or", "xor")
_DOUBLE = "#pragma OPENCL EXTENSION cl_khr_fp64 : enable"

_SCALARS = "char uchar short ushort int uint long ulong float double"
_RESERVED = """
kernel global local constant private generic read_only write_only read_write uniform pipe half
half2 half4 half8 half16 uchar ushort uint ulong size_t ptrdiff_t intptr_t uintptr_t event_t
sampler_t image1d_t image2d_t image3d_t image2d_array_t quad complex imaginary barrier min max mad
mix step sign dot cross length distance normalize clamp select rotate shuffle shuffle2 prefetch
vload4 vstore4 printf popcount mul24 mad24 clz hadd degrees radians smoothstep get_global_id
get_local_id get_group_id get_num_groups get_local_size M_E M_PI M_PI_2 M_PI_4 M_1_PI M_2_PI M_LN2
M_LN10 M_LOG2E M_LOG10E M_SQRT2 M_SQRT1_2 M_E_F M_PI_F CHAR_BIT INT_MAX INT_MIN UINT_MAX LONG_MAX
LONG_MIN SHRT_MAX FLT_MAX FLT_EPSILON FLT_MIN DBL_MAX DBL_MIN DBL_EPSILON MAXFLOAT HUGE_VAL
HUGE_VALF CLK_LOCAL_MEM_FENCE CLK_GLOBAL_MEM_FENCE
"""

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
    shortcuts=OPENCL_SHORTCUTS,
    reserved=frozenset(_RESERVED.split())
    | frozenset(f"{base}{lanes}" for base in _SCALARS.split() for lanes in (2, 3, 4, 8, 16)),
)


def emit_opencl(fn: LoopFunction) -> DeviceSource:
    """Return the OpenCL text of all kernels of `fn`."""
    return emit_kernels(fn, OPENCL)
