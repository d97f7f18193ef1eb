"""Every workload in every form, compiled for CUDA: what the standing tests go through.

In: names of workloads.  Out: `Form`s; their `Compilation`, and calls on a device of one's own.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

import polyopt as po
from polyopt.building import Built, compile_stages
from polyopt.compiled import CompiledKernel
from polyopt.frontend import build
from polyopt.frontend.syntax.annotations import ArgType
from polyopt.hosting import load_program
from polyopt.ir.host import DeviceProgram
from polyopt.pipeline import Compilation
from polyopt.runtime.device.provider import Provider
from workloads import registry
from workloads.workload import Workload

FIRST = 17
"""A size at which the types of arguments are found, and the smallest that is run."""


@dataclass(frozen=True, slots=True)
class Form:
    """A workload in one form."""

    workload: Workload
    form: str

    def __str__(self) -> str:
        return f"{self.workload.name}-{self.form}"

    def compiled(self) -> Compilation:
        """Return its stages; made once."""
        return _compiled(self.workload.name, self.form)

    def on(self, provider: Provider) -> CompiledKernel:
        """Return its kernel, to be called on the device of `provider`."""
        stages = self.compiled()
        assert isinstance(stages.source, DeviceProgram)
        loaded = load_program(stages.source, provider)
        function = self.workload.forms[self.form]
        built = Built(stages.source, loaded, stages.schedule_text, stages, {}, ())
        options = po.kernel(target="cuda")(function).options
        types = _types(self.workload.name, self.form)
        return CompiledKernel(function, types, options, built)


@cache
def _types(workload: str, form: str) -> tuple[ArgType, ...]:
    """Return the types of arguments as a call with them has them."""
    chosen = registry.get(workload)
    function = chosen.forms[form]
    kernel = po.kernel(target="cuda", device="emulated")(function)
    types, values = kernel._example((), chosen.make(sizes_of(chosen, FIRST), seed=3))
    return kernel._settle_types(types, values, lambda t: build(function, t).signature)


@cache
def _compiled(workload: str, form: str) -> Compilation:
    function = registry.get(workload).forms[form]
    options = po.kernel(target="cuda", device="emulated")(function).options
    return compile_stages(function, _types(workload, form), options)


def sizes_of(workload: Workload, first: int) -> dict[str, int]:
    """Return sizes from `first` on, no two alike; few time steps."""
    return _sizes(workload, first, _step(workload.name))


def _sizes(workload: Workload, first: int, step: int) -> dict[str, int]:
    return {
        name: max(3 if name == workload.steps else first + step * k, workload.least.get(name, 0))
        for k, name in enumerate(workload.parameters)
    }


@cache
def _step(name: str) -> int:
    """Return how far sizes lie apart: upwards or downwards, as the workload takes them."""
    workload = registry.get(name)
    for step in (-2, 2):
        with contextlib.suppress(ValueError, IndexError), np.errstate(all="ignore"):
            workload.reference(workload.make(_sizes(workload, FIRST, step), seed=3))
            return step
    return 0


def forms(names: Sequence[str] = ()) -> Iterator[Form]:
    """Yield all forms of the workloads called so, or of all."""
    for workload in registry.all():
        if not names or workload.name in names:
            yield from (Form(workload, form) for form in workload.forms)
