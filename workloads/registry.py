"""The list of workloads: what the modules in the folders of the suites hold.

In: a published name ("2mm", "jacobi-2d").  Out: its `Workload`.
Refuses: a name that no module has.

A module `softmax.py` defines `softmax` (explicit loops), `softmax_numpy` or both, `SIZES`,
`OUTPUTS` and `make(*sizes, dtype)`; what else it may define, and what holds if not, is in
`_workload`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from math import prod
from pkgutil import iter_modules
from types import MappingProxyType, ModuleType

import numpy as np

from workloads.workload import Workload

SUITES = ("polybench", "learning", "science")


def names(suite: str | None = None) -> tuple[str, ...]:
    """Return the names of all workloads, or of those of one suite."""
    return tuple(name for name, w in _known().items() if suite in (None, w.suite))


def all(suite: str | None = None) -> tuple[Workload, ...]:
    """Return all workloads, or those of one suite."""
    return tuple(get(name) for name in names(suite))


def get(name: str) -> Workload:
    """Return the workload called `name`; raises `KeyError` with the known names."""
    if name not in _known():
        raise KeyError(f"no workload {name}; there are {', '.join(_known())}")
    return _known()[name]


@cache
def _known() -> Mapping[str, Workload]:
    found = [_workload(suite, module) for suite in SUITES for module in _modules(suite)]
    return MappingProxyType({workload.name: workload for workload in found})


def _modules(suite: str) -> list[ModuleType]:
    folder = import_module(f"workloads.{suite}").__path__
    stems = sorted(module.name for module in iter_modules(folder))
    return [import_module(f"workloads.{suite}.{stem}") for stem in stems]


def _workload(suite: str, module: ModuleType) -> Workload:
    stem = module.__name__.rpartition(".")[2]
    functions = {"loops": stem, "numpy": f"{stem}_numpy"}
    return Workload(
        name=getattr(module, "NAME", stem.replace("_", "-")),
        suite=suite,
        forms={form: getattr(module, f) for form, f in functions.items() if hasattr(module, f)},
        sizes=module.SIZES,
        outputs=module.OUTPUTS,
        dtype=np.dtype(getattr(module, "DTYPE", np.float64)),
        build=module.make,
        randomize=getattr(module, "randomize", None),
        expect=getattr(module, "reference", None),
        count=getattr(module, "flops", lambda **sizes: prod(sizes.values())),
        counted=hasattr(module, "flops") and suite != "learning",
        exact=getattr(module, "EXACT", True),
        chain=getattr(module, "chain", lambda **sizes: sum(sizes.values())),
        approximation=getattr(module, "APPROXIMATION", 0.0),
        least=getattr(module, "LEAST", {}),
        steps=getattr(module, "STEPS", None),
        whole_reference=getattr(module, "WHOLE_REFERENCE", True),
        definite=getattr(module, "DEFINITE", False),
    )
