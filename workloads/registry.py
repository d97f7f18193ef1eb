"""The list of workloads.

In: a published name ("2mm", "jacobi-2d").  Out: its `Workload`; modules are imported on first use.
Refuses: a name that is not in the list.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module

import numpy as np

from workloads.workload import Workload

_MODULES = {
    "gemm": "gemm",
    "2mm": "two_mm",
    "3mm": "three_mm",
    "atax": "atax",
    "bicg": "bicg",
    "mvt": "mvt",
    "gemver": "gemver",
    "syrk": "syrk",
    "trmm": "trmm",
    "lu": "lu",
    "cholesky": "cholesky",
    "correlation": "correlation",
    "covariance": "covariance",
    "doitgen": "doitgen",
    "jacobi-1d": "jacobi_1d",
    "jacobi-2d": "jacobi_2d",
    "heat-3d": "heat_3d",
    "seidel-2d": "seidel_2d",
    "fdtd-2d": "fdtd_2d",
    "floyd-warshall": "floyd_warshall",
}


def names() -> tuple[str, ...]:
    """Return the names of all workloads."""
    return tuple(_MODULES)


def all() -> tuple[Workload, ...]:
    """Return all workloads."""
    return tuple(get(name) for name in _MODULES)


@cache
def get(name: str) -> Workload:
    """Return the workload called `name`; raises `KeyError` with the known names."""
    if name not in _MODULES:
        raise KeyError(f"no workload {name}; there are {', '.join(_MODULES)}")
    stem = _MODULES[name]
    module = import_module(f"workloads.{stem}")
    forms = {"loops": getattr(module, stem)}
    if hasattr(module, f"{stem}_numpy"):
        forms["numpy"] = getattr(module, f"{stem}_numpy")
    return Workload(
        name=name,
        forms=forms,
        sizes=module.SIZES,
        outputs=module.OUTPUTS,
        dtype=np.dtype(getattr(module, "DTYPE", np.float64)),
        build=module.make,
        expect=module.reference,
        count=module.flops,
        chain=module.chain,
        least=getattr(module, "LEAST", {}),
        steps=getattr(module, "STEPS", None),
        whole_reference=getattr(module, "WHOLE_REFERENCE", True),
        definite=getattr(module, "DEFINITE", False),
    )
