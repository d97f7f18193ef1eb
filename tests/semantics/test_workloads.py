"""Every workload, in every form, with and without threads, against Python.

Explicit loops in strict mode must agree with the function itself bit for bit; NumPy forms with the
reference within the workload's bound.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from random import Random
from typing import Any

import numpy as np
import pytest

import polyopt as po
from bench.check import relative_error
from polyopt.ir.interp import run_loops, run_program
from polyopt.pipeline import Compilation, compile_program
from polyopt.targets import FpMode, Options
from tests.machines import MACHINES
from tests.memory import assert_bounded
from workloads import registry
from workloads.workload import Workload

CASES = [(w, form) for w in registry.all() for form in w.forms]
POLYBENCH = [(w, form) for w, form in CASES if w.suite == "polybench"]
BUILDS: dict[str, dict[str, Any]] = {
    "parallel": {},
    "sequential": {"threads": 1},
    "source": {"schedule": "source"},
}
pytestmark = pytest.mark.matrix
EDGES = (1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65)
WORK = 60_000


def named(cases: list[tuple[Any, ...]], names: str = "workload,form") -> pytest.MarkDecorator:
    """Return one test for each case."""
    ids = ["-".join(str(getattr(part, "name", part)) for part in case) for case in cases]
    return pytest.mark.parametrize(names, cases, ids=ids)


def on_machines(cases: list[tuple[Any, ...]], first: int = 0) -> list[tuple[Any, ...]]:
    """Return cases with a machine each, in turn: what is compiled runs on both in `test_compiled`.

    Other tests of the same cases begin with another machine, so that pairs of two are all met.
    """
    machines = tuple(MACHINES)
    return [(*case, machines[(k + first) % len(machines)]) for k, case in enumerate(cases)]


@cache
def kernel(workload: str, form: str, build: str) -> po.Kernel[Any]:
    return po.kernel(registry.get(workload).forms[form], **BUILDS[build])


@cache
def stages(workload: str, form: str, machine: str, fp: str = "strict") -> Compilation:
    """Return the stages of the automatic schedule without building C, however busy the machine."""
    options = Options(fp=FpMode(fp), budget=900.0)
    return compile_program(_program(workload, form), options, MACHINES[machine])


@cache
def _program(workload: str, form: str) -> Any:
    from polyopt.frontend import build
    from polyopt.frontend.syntax.type_inference import infer_types

    func = registry.get(workload).forms[form]
    return build(func, infer_types(func))


def tiny(workload: Workload) -> list[dict[str, int]]:
    """Return empty, single and small unequal sizes."""
    found = []
    for first, step in ((0, 0), (1, 0), (3, 1)):
        sizes = {n: first + step * k for k, n in enumerate(workload.parameters)}
        found.append({n: max(v, workload.least.get(n, 0)) for n, v in sizes.items()})
    return found


def edges(workload: Workload) -> list[dict[str, int]]:
    """Return sizes around multiples of tile sizes, as far as pure Python can follow."""
    found = tiny(workload)
    for edge in EDGES:
        sizes = {
            name: max(min(edge, 9) if name == workload.steps else edge, workload.least.get(name, 0))
            for name in workload.parameters
        }
        if workload.flops(sizes) <= WORK:
            found.append(sizes)
    return found


def check(
    workload: Workload, form: str, call: Callable[[Any], Any], sizes: Any, seed: int = 3
) -> None:
    """Compare `call` with the function itself (explicit loops) or with the reference."""
    arguments = workload.make(sizes, seed=seed)
    got = {n: a.copy() if isinstance(a, np.ndarray) else a for n, a in arguments.items()}
    found = workload.results(got, call(got))
    if form == "loops" and workload.exact:
        with np.errstate(all="ignore"):
            want = workload.results(arguments, workload.forms[form](**arguments))
        for name, value in want.items():
            same = np.array_equal(value, found[name], equal_nan=value.dtype.kind in "fc")
            assert same, f"{name} at {sizes}: {np.argwhere(value != found[name])[:3]}"
        return
    want = workload.reference(arguments)
    assert relative_error(found, want) <= workload.bound(sizes), f"{sizes}"


@named(POLYBENCH)
def test_the_scop_means_the_function(workload: Workload, form: str) -> None:
    for sizes in tiny(workload):
        program = _program(workload.name, form)
        check(workload, form, lambda a, p=program: run_program(p, list(a.values())), sizes)


@named(on_machines(POLYBENCH), "workload,form,machine")
def test_scheduled_loops(workload: Workload, form: str, machine: str) -> None:
    made = stages(workload.name, form, machine)

    def execute(arrays: Any, params: Any, symbols: Any) -> None:
        run_loops(made.loops, arrays, params, symbols, shuffle=Random(5))

    for sizes in tiny(workload):
        check(workload, form, lambda a: run_program(made.program, list(a.values()), execute), sizes)


@named(on_machines(POLYBENCH, 1), "workload,form,machine")
def test_the_fastest_form_is_proven(workload: Workload, form: str, machine: str) -> None:
    made = stages(workload.name, form, machine)
    assert made.certificate is not None
    assert made.certificate.is_proven, made.certificate
    assert not made.dropped


COPIES = {
    "seidel-2d": 3.0,  # the array as a wavefront walks over it
    "floyd-warshall": 2.0,  # a row and a column for each step, so that blocks of steps can wait
    "ludcmp": 2.0,  # sums of each row, so that factors are made in blocks
    "syr2k": 2.0,  # rows that whole products are made of
}
"""How many times their own arrays the temporaries of workloads may take, and what for."""


@named(
    [
        (*case, fp)
        for n, fp in enumerate(("strict", "reassociate"))
        for case in on_machines(CASES, n)
    ],
    "workload,form,machine,fp",
)
def test_memory(workload: Workload, form: str, machine: str, fp: str) -> None:
    """No temporary grows with a loop that its values do not live across."""
    made = stages(workload.name, form, machine, fp)
    assert_bounded(made.program, made.loops, COPIES.get(workload.name, 1.0))


@pytest.mark.toolchain
@named(
    [(w, form, "parallel") for w, form in CASES]
    + [(w, form, "sequential") for w, form in POLYBENCH]
    + [(w, form, "source") for w, form in POLYBENCH if form == "loops"],
    "workload,form,build",
)
def test_compiled(workload: Workload, form: str, build: str) -> None:
    call = kernel(workload.name, form, build)
    if workload.flops("MINI") <= 20 * WORK:
        check(workload, form, lambda a: call(**a), "MINI")
    for sizes in edges(workload) if workload.suite == "polybench" else tiny(workload):
        check(workload, form, lambda a: call(**a), sizes)
    smallest = call.compile(**workload.make(tiny(workload)[0], seed=3))  # compiled above
    kept = json.loads(smallest.certificate_text or "{}")
    assert kept["certificate"]["verdict"] in ("proven", "trusted")
