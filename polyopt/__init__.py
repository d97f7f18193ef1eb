"""polyopt: array programs in Python to proven, tiled, parallel C.

Names are loaded when they are first used, so that importing polyopt costs next to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyopt.interpreters import require_first
from polyopt.late import homes_of, names_of

__version__ = "0.1.0"

if TYPE_CHECKING:
    from polyopt import random as random
    from polyopt.api import Kernel
    from polyopt.batched import vmap
    from polyopt.benching import Bench
    from polyopt.candidates import ScheduleCandidate
    from polyopt.compiled import CompiledKernel
    from polyopt.decorator import kernel, suggest_shard
    from polyopt.derivatives import grad, jvp, value_and_grad, vjp
    from polyopt.distribution.arrays import DistributedArray, distribute
    from polyopt.distribution.kernel import DistributedKernel
    from polyopt.distribution.mesh import Cyclic, Mesh, cyclic, mesh
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
    from polyopt.frontend.syntax.annotations import (
        ArrayType,
        ConstType,
        ScalarType,
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
    from polyopt.frontend.syntax.fixed_sizes import any as any
    from polyopt.frontend.syntax.parallel_markers import parallel, prange
    from polyopt.hosting.upload import to_device
    from polyopt.loading import LoadedKernel, load
    from polyopt.runtime.device.streams import on_stream
    from polyopt.runtime.notices import BudgetWarning, CacheWarning, ForkWarning, PolyoptWarning
    from polyopt.schedule import Schedule, Witness
    from polyopt.session import KernelSchedule, Session
    from polyopt.settings import config
    from polyopt.targets import FpMode, Machine, Options, Target, detect_machine
    from polyopt.tracing.arrays import LazyArray
    from polyopt.tracing.compiling import CompiledGraph, lazy, tensor
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
    )
    from polyopt.transforms.amount import amount
    from polyopt.transforms.text import load_schedule
    from polyopt.verifying import Verification
else:
    __getattr__ = names_of(__name__, require_first, "foreign_names.instead_of")

__all__ = [
    "Affine",
    "ArgumentError",
    "ArrayType",
    "Bench",
    "BudgetError",
    "BudgetWarning",
    "CacheWarning",
    "CompiledGraph",
    "CompiledKernel",
    "ConstType",
    "Cut",
    "Cyclic",
    "Deal",
    "Diamond",
    "Distribute",
    "DistributedArray",
    "DistributedKernel",
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
    "KernelSchedule",
    "LazyArray",
    "LoadedKernel",
    "Machine",
    "Mesh",
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
    "ScheduleCandidate",
    "ScheduleError",
    "Separate",
    "Session",
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
    "config",
    "cyclic",
    "detect_machine",
    "distribute",
    "einsum",
    "f16",
    "f32",
    "f64",
    "grad",
    "i8",
    "i16",
    "i32",
    "i64",
    "indices",
    "jvp",
    "kernel",
    "lazy",
    "load",
    "load_schedule",
    "mesh",
    "on_stream",
    "parallel",
    "prange",
    "random",
    "suggest_shard",
    "tensor",
    "to_device",
    "u8",
    "u16",
    "u32",
    "u64",
    "value_and_grad",
    "vjp",
    "vmap",
]


def __dir__() -> list[str]:
    """List the public names."""
    return sorted([*homes_of(__name__), "__version__"])
