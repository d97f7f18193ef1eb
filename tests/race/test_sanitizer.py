"""The sanitizers see what emitted code must not do, and see nothing of the kind in random kernels.

Kernels of the workloads run under them in `test_suite`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random

import numpy as np
import pytest

import polyopt as po
from polyopt.errors import ToolchainError
from polyopt.frontend import build
from polyopt.pipeline import compile_program
from polyopt.racecheck.sanitizer import Sanitizer
from tests.machines import NARROW
from tests.properties.random_sources import random_source
from tests.properties.sources import SIZES, Refused, arguments, load
from tests.race.controls import source
from tests.race.suite import warnings_of

pytestmark = pytest.mark.toolchain
SEEDS = range(40, 46)


@pytest.fixture(scope="module")
def sanitizer() -> Iterator[Sanitizer]:
    with Sanitizer() as made:
        yield made


def given(n: int = 20) -> tuple[np.ndarray, ...]:
    return np.arange(n) + 0.5, np.zeros(n), np.zeros((n, n))


@pytest.mark.parametrize(
    "body, report",
    [
        ("b[n] = 1.0;", "heap-buffer-overflow"),
        ("b[0] = a[-1];", "heap-buffer-overflow"),
        ("double *t = malloc(8 * n); t[n] = 1.0; free(t);", "heap-buffer-overflow"),
        ("double *t = malloc(8 * n); free(t); b[0] = t[0];", "heap-use-after-free"),
        ("double t[4]; for (int64_t i = 0; i <= n; i++) t[i] = 1.0;", "out of bounds"),
        ("double (*r)[n] = (double (*)[n])c; r[1][n + 1 - (n > 3)] = 2.0;", "out of bounds"),
        ("b[0] = (double)(1 << n * 2);", "shift exponent"),
        ("b[0] = (double)(n / (n - 20));", "division by zero"),
        ("*(double *)((char *)b + 1) = 1.0;", "misaligned"),
    ],
)
def test_a_fault_is_reported(body: str, report: str, sanitizer: Sanitizer) -> None:
    found = sanitizer.run(source(f"\n{body}"), given())
    assert len(found.reports) == 1
    assert report in found.reports[0]
    assert "kernel.c:6" in found.reports[0]


def test_a_kernel_without_faults(sanitizer: Sanitizer) -> None:
    body = "#pragma omp parallel for\nfor (int64_t i = 0; i < n; i++) b[i] = 2.0 * a[i];"
    a, b, c = given()
    found = sanitizer.run(source(body), (a, b, c))
    assert found.reports == ()
    assert np.array_equal(found.arguments[1], 2.0 * a)
    assert not b.any()


def test_a_kernel_without_end(sanitizer: Sanitizer) -> None:
    with pytest.raises(ToolchainError) as caught:
        sanitizer.run(source("for (;;) a[0] += 1.0;"), given(), seconds=1.0)
    assert caught.value.code == "PO0509"


def test_a_warning_is_told() -> None:
    assert "warning" in warnings_of("int f(long x);\nint f(long x) { return x; }\n")
    assert warnings_of("int f(long x);\nint f(long x) { return (int)x; }\n") == ""


@pytest.mark.parametrize("seed", SEEDS)
def test_random_kernels(seed: int, sanitizer: Sanitizer, tmp_path: Path) -> None:
    case = random_source(Random(seed))
    kernel = po.kernel(load(case, tmp_path))
    for sizes in (SIZES[0], SIZES[3]):
        values = arguments(case, sizes, seed, layouts=True)
        programs = {}

        def signature_of(types, programs=programs):
            programs[types] = build(kernel.py_func, types)
            return programs[types].signature

        types, plain = kernel._example(tuple(values), {})
        try:
            settled = kernel._settle_types(types, plain, signature_of)
        except Refused:
            pytest.skip("not accepted")
        made = compile_program(programs[settled], kernel.options, NARROW)
        found = sanitizer.run(made.source, tuple(values))
        assert found.reports == ()
