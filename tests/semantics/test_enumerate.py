"""Every workload's loops against its program, by symbolic execution without isl.

A machine with small caches and short vectors, so that tiles and vectors appear at small sizes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from polyopt.errors import UsageError
from polyopt.frontend import build
from polyopt.frontend.syntax.type_inference import infer_types
from polyopt.machine import Machine
from tests.oracle.enumerate import NotCalled, enumerate_call
from tests.oracle.run_source import TooLong
from tests.oracle.unproven import loops_of
from workloads import registry
from workloads.workload import Workload

SMALL = Machine(cores=2, vector_bytes=16, l1=512, l2=2048, l3=8192)
CASES = [(w, form) for w in registry.all() for form in w.forms]
SIZES = ((0, 0), (1, 0), (3, 1), (6, 0))
WIDE = (13, 6)
WORK = 1_500


def sizes_of(workload: Workload) -> list[dict[str, int]]:
    """Return sizes up to 6, and larger ones where they are quick."""
    found: list[dict[str, int]] = []
    for first, step in (*SIZES, WIDE):
        sizes = {n: first + step * k for k, n in enumerate(workload.parameters)}
        if workload.steps is not None:
            sizes[workload.steps] = min(sizes[workload.steps], 3)
        sizes = {n: max(v, workload.least.get(n, 0)) for n, v in sizes.items()}
        few = workload.flops(sizes) <= WORK * (1 + (first == 13))
        if sizes not in found and (few or len(found) < 2):
            found.append(sizes)
    return found


@pytest.mark.matrix
@pytest.mark.parametrize(
    ("workload", "form"), CASES, ids=[f"{workload.name}-{form}" for workload, form in CASES]
)
def test_loops_are_the_program(workload: Workload, form: str) -> None:
    function = workload.forms[form]
    try:
        types = infer_types(function)
    except UsageError:
        pytest.skip("its types come with a call")
    program = build(function, types)
    loops = loops_of(program, SMALL)
    for sizes in sizes_of(workload):
        args: list[Any] = list(workload.make(sizes, seed=3).values())
        try:
            assert enumerate_call(program, loops, args) == []
        except (TooLong, NotCalled):
            continue
        if program.signature.faults:
            assert enumerate_call(program, loops, spoiled(args, max(sizes.values()))) == []


def spoiled(args: list[Any], size: int) -> list[Any]:
    """Return the arguments with integers that may lie outside of every array."""
    rng = np.random.default_rng(7)
    found = []
    for value in args:
        if isinstance(value, np.ndarray) and value.dtype.kind == "i":
            value = rng.integers(-size - 2, size + 3, value.shape).astype(value.dtype)
        found.append(value)
    return found
