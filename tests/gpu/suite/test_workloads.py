"""Every workload, mapped automatically, through the CUDA text on the emulator and through OpenCL.

Sizes divide no tile; one and none are among them.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import pytest

import polyopt as po
from tests.gpu.runtime.needs import opencl_or_skip
from tests.semantics.test_workloads import check, tiny
from workloads import registry
from workloads.workload import Workload

FORMS = [(w, list(w.forms)[-1]) for w in registry.all()]
RAGGED = {"polybench": 13, "learning": 7, "science": 9}

ROUNDED = ("stockham-fft",)
"""Those that compute sines, which OpenCL rounds in another way."""


def named(cases: list[tuple[Any, ...]]) -> pytest.MarkDecorator:
    """Return one test for each case."""
    ids = [f"{workload.name}-{form}" for workload, form in cases]
    return pytest.mark.parametrize("workload,form", cases, ids=ids)


@cache
def kernel(workload: str, form: str, target: str) -> po.Kernel[Any]:
    device = "emulated" if target == "cuda" else None
    function = registry.get(workload).forms[form]
    return po.kernel(target=target, device=device)(function)


def sizes_of(workload: Workload) -> list[dict[str, int]]:
    """Return tiny sizes, and one that has several blocks where that is cheap."""
    ragged = {
        name: max(4 if name == workload.steps else RAGGED[workload.suite] + 2 * k,
                  workload.least.get(name, 0))
        for k, name in enumerate(workload.parameters)
    }  # fmt: skip
    return [*tiny(workload), ragged]


@pytest.mark.matrix
@pytest.mark.toolchain
@named(FORMS)
def test_cuda_text_on_the_emulator(workload: Workload, form: str) -> None:
    call = kernel(workload.name, form, "cuda")
    for sizes in sizes_of(workload):
        check(workload, form, lambda a: call(**a), sizes)


@pytest.mark.matrix
@pytest.mark.machine
@named(FORMS)
def test_opencl(workload: Workload, form: str) -> None:
    opencl_or_skip()
    call = kernel(workload.name, form, "opencl")
    if workload.name in ROUNDED:
        workload = replace(workload, exact=False)
    for sizes in sizes_of(workload):
        check(workload, form, lambda a: call(**a), sizes)
