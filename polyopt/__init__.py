"""polyopt: array programs in Python to proven, tiled, parallel C.

Names are loaded when they are first used, so that importing polyopt costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

__version__ = "0.1.0"

_HOMES = {
    "polyopt.api": ("CompiledKernel", "Kernel", "kernel", "load_schedule", "to_device"),
    "polyopt.targets": ("FpMode", "Machine", "Options", "Target", "detect_machine"),
    "polyopt.errors": (
        "ArgumentError", "BudgetError", "EmitError", "FrontendError", "IllegalSchedule",
        "InternalError", "MisreadError", "PolyoptError", "ScheduleError", "ToolchainError",
        "UsageError",
    ),
    "polyopt.runtime.device.streams": ("on_stream",),
    "polyopt.runtime.notices": ("BudgetWarning", "CacheWarning", "ForkWarning", "PolyoptWarning"),
    "polyopt.frontend.annotations": (
        "bf16", "bool_", "c64", "c128", "f16", "f32", "f64",
        "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64",
    ),
    "polyopt.frontend.markers": ("parallel", "prange"),
    "polyopt.frontend.argtypes": ("ArrayType", "ConstType", "ScalarType"),
    "polyopt.schedule": ("Schedule", "Witness"),
    "polyopt.tracing.arrays": ("LazyArray", "lazy", "tensor"),
    "polyopt.tracing.comprehension": ("comprehend",),
    "polyopt.tracing.compiling": ("CompiledGraph", "compile"),
    "polyopt.tracing.contraction": ("einsum",),
    "polyopt.tracing.terms": ("indices", "max", "min", "prod", "sum", "where"),
    "polyopt.transforms": (
        "Affine", "Cut", "Deal", "Diamond", "Distribute", "Fuse", "Fusion", "Grid", "Interchange",
        "Parallelize", "Peel", "Reorder", "Reverse", "Separate", "Shift", "Sink", "Skew", "Split",
        "Strip", "Threads", "Tile", "Unroll", "Vectorize", "amount",
    ),
    "polyopt.verifying": ("Verification",),
}  # fmt: skip
_HOME = {name: home for home, names in _HOMES.items() for name in names}

if TYPE_CHECKING:
    from polyopt.api import CompiledKernel, Kernel, kernel, load_schedule, to_device
    from polyopt.errors import (
        ArgumentError,
        BudgetError,
        EmitError,
        FrontendError,
        IllegalSchedule,
        InternalError,
        MisreadError,
        PolyoptError,
        ScheduleError,
        ToolchainError,
        UsageError,
    )
    from polyopt.frontend.annotations import (
        bf16,
        bool_,
        c64,
        c128,
        f16,
        f32,
        f64,
        i8,
        i16,
        i32,
        i64,
        u8,
        u16,
        u32,
        u64,
    )
    from polyopt.frontend.argtypes import ArrayType, ConstType, ScalarType
    from polyopt.frontend.markers import parallel, prange
    from polyopt.runtime.device.streams import on_stream
    from polyopt.runtime.notices import BudgetWarning, CacheWarning, ForkWarning, PolyoptWarning
    from polyopt.schedule import Schedule, Witness
    from polyopt.targets import FpMode, Machine, Options, Target, detect_machine
    from polyopt.tracing.arrays import LazyArray, lazy, tensor
    from polyopt.tracing.compiling import CompiledGraph
    from polyopt.tracing.compiling import compile as compile
    from polyopt.tracing.comprehension import comprehend
    from polyopt.tracing.contraction import einsum
    from polyopt.tracing.terms import indices
    from polyopt.tracing.terms import max as max
    from polyopt.tracing.terms import min as min
    from polyopt.tracing.terms import prod as prod
    from polyopt.tracing.terms import sum as sum
    from polyopt.tracing.terms import where as where
    from polyopt.transforms import (
        Affine,
        Cut,
        Deal,
        Diamond,
        Distribute,
        Fuse,
        Fusion,
        Grid,
        Interchange,
        Parallelize,
        Peel,
        Reorder,
        Reverse,
        Separate,
        Shift,
        Sink,
        Skew,
        Split,
        Strip,
        Threads,
        Tile,
        Unroll,
        Vectorize,
        amount,
    )
    from polyopt.verifying import Verification

__all__ = [
    "Affine",
    "ArgumentError",
    "ArrayType",
    "BudgetError",
    "BudgetWarning",
    "CacheWarning",
    "CompiledGraph",
    "CompiledKernel",
    "ConstType",
    "Cut",
    "Deal",
    "Diamond",
    "Distribute",
    "EmitError",
    "ForkWarning",
    "FpMode",
    "FrontendError",
    "Fuse",
    "Fusion",
    "Grid",
    "IllegalSchedule",
    "Interchange",
    "InternalError",
    "Kernel",
    "LazyArray",
    "Machine",
    "MisreadError",
    "Options",
    "Parallelize",
    "Peel",
    "PolyoptError",
    "PolyoptWarning",
    "Reorder",
    "Reverse",
    "ScalarType",
    "Schedule",
    "ScheduleError",
    "Separate",
    "Shift",
    "Sink",
    "Skew",
    "Split",
    "Strip",
    "Target",
    "Threads",
    "Tile",
    "ToolchainError",
    "Unroll",
    "UsageError",
    "Vectorize",
    "Verification",
    "Witness",
    "__version__",
    "amount",
    "bf16",
    "bool_",
    "c64",
    "c128",
    "comprehend",
    "detect_machine",
    "einsum",
    "f16",
    "f32",
    "f64",
    "i8",
    "i16",
    "i32",
    "i64",
    "indices",
    "kernel",
    "lazy",
    "load_schedule",
    "on_stream",
    "parallel",
    "prange",
    "tensor",
    "to_device",
    "u8",
    "u16",
    "u32",
    "u64",
]


def __getattr__(name: str) -> object:
    """Load a public name from its module."""
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module `polyopt` has no attribute `{name}`")
    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names."""
    return sorted([*_HOME, "__version__"])
