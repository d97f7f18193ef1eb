"""What the race check says, what it leaves alone, and how it ends where it cannot judge."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import polyopt as po
from polyopt.errors import ArgumentError, ToolchainError
from polyopt.frontend import build
from polyopt.ir.source import Source
from polyopt.machine import Machine
from polyopt.pipeline import compile_program
from polyopt.racecheck import Checker, Level, check_races
from polyopt.racecheck.checker import Rules
from polyopt.racecheck.packing import pack, unpack
from tests.race.controls import source

pytestmark = pytest.mark.toolchain
LOOP = "for (int64_t i = 0; i < n; i++)"
FOR = "#pragma omp parallel for schedule(static)"


@pytest.fixture(scope="module")
def checker() -> Iterator[Checker]:
    with Checker() as made:
        yield made


def arguments(n: int = 20) -> tuple[np.ndarray, ...]:
    return np.arange(n) + 0.5, np.zeros(n), np.zeros((n, n))


def emitted(function: Any, *values: Any) -> Source:
    kernel = po.kernel(function)
    types, _ = kernel._example(values, {})
    program = build(kernel.py_func, types)
    return compile_program(program, kernel.options, Machine(cores=4)).source


def test_the_report(checker: Checker) -> None:
    body = f"{FOR}\nfor (int64_t i = 1; i < n; i++)\n    b[i] = b[i - 1] + a[i];"
    (race,) = checker.check(source(body), arguments(), Level.THREADS).races
    assert str(race) == (
        "read-write race on b[1]: iterations 0 and 1 (threads) of the loop in line 6\n"
        "  0 writes, line 8: b[i] = b[i - 1] + a[i];\n"
        "  1 reads, line 8: b[i] = b[i - 1] + a[i];"
    )
    assert race.times == 18


def test_all_levels_in_one_call() -> None:
    body = (
        f"{FOR}\n{LOOP} b[i / 2] = 1.0;\n"
        f"{FOR}\n{LOOP} {{\n#pragma omp simd\nfor (int64_t j = 0; j < n; j++) c[i * n] = a[j];\n}}"
    )
    given = arguments()
    before = [array.copy() for array in given]
    found = check_races(source(body), *given)
    assert [race.level for race in found] == [Level.THREADS, Level.LANES]
    assert all(np.array_equal(a, b) for a, b in zip(given, before, strict=True))


def test_results_and_what_ran(checker: Checker) -> None:
    body = f"{FOR} if (n > 1000)\n{LOOP} b[i] = 2.0 * a[i];"
    given = arguments()
    done = checker.check(source(body), given, Level.THREADS)
    assert (done.regions, done.iterations, done.longest) == (1, 20, 20)
    assert np.array_equal(done.arguments[1], 2.0 * given[0])
    assert not given[1].any()
    obeyed = checker.check(source(body), given, Level.THREADS, Rules(obeys_if=True))
    assert (obeyed.regions, obeyed.races) == (0, ())
    assert np.array_equal(obeyed.arguments[1], 2.0 * given[0])


def test_no_iteration_at_all(checker: Checker) -> None:
    done = checker.check(source(f"{FOR}\n{LOOP} b[0] = 1.0;"), arguments(0), Level.THREADS)
    assert (done.races, done.longest) == ((), 0)


def test_a_kernel_that_returns_and_one_that_fails(checker: Checker) -> None:
    def gather(x: Any, index: Any):
        y = np.empty(x.shape[0])
        for i in range(x.shape[0]):
            y[i] = x[index[i]]
        return y, x.shape[0]

    x, index = np.arange(12.0), np.arange(12)[::-1].copy()
    text = emitted(gather, x, index)
    done = checker.check(text, (x, index))
    assert isinstance(done.returned, tuple)
    assert np.array_equal(done.returned[0], x[::-1])
    assert done.returned[1] == 12
    assert done.longest == 12
    index[5] = 40
    failed = checker.check(text, (x, index))
    assert failed.error is not None
    assert failed.error[0] == "PO0231"
    assert failed.races == ()


def test_cells_of_strided_arguments(checker: Checker) -> None:
    def ramp(a: Any):
        for i in range(1, a.shape[0]):
            for j in range(a.shape[1]):
                a[i, j] = a[i - 1, j] + 1.0

    whole = np.zeros((30, 40))
    part = whole[::-2, 30:10:-3]
    text = emitted(ramp, part)
    done = checker.check(text, (part,))
    assert done.races == ()
    expected = part.copy()
    ramp(expected)
    assert np.array_equal(done.arguments[0], expected)
    assert done.arguments[0].strides == part.strides
    assert not whole.any()


@pytest.mark.parametrize(
    "body, rules, reason",
    [
        ("a[(int64_t)1 << 40] = 1.0;", Rules(), "signal 11"),
        ("for (;;) a[0] += 1.0;", Rules(seconds=1.0), "it did not end within 1 s"),
        ("#pragma omp parallel\na[0] = 1.0;", Rules(), "shares no loop"),
        ("#pragma omp parallel\n{\na[0] += 0;\n#pragma omp barrier\n}", Rules(), "team a size"),
        ("#pragma omp parallel\n#pragma omp single\na[0] = 1.0;", Rules(), "team a size"),
        ("#pragma omp parallel\na[omp_get_thread_num()] = 1.0;", Rules(), "asks which thread"),
        (
            f"#pragma omp parallel\n#pragma omp for schedule(dynamic)\n{LOOP} a[i] = 1.0;",
            Rules(team=8),
            "more iterations than the team has threads",
        ),
        (
            "#pragma omp parallel\n{\nif (omp_get_thread_num() == 1) {\n#pragma omp barrier\n}\n}",
            Rules(team=8),
            "the others never reach",
        ),
    ],
)
def test_no_verdict(body: str, rules: Rules, reason: str, checker: Checker) -> None:
    before = "int omp_get_thread_num(void);\n" if "omp_get" in body else ""
    with pytest.raises(ToolchainError) as caught:
        checker.check(source(body, before), arguments(), Level.THREADS, rules)
    assert caught.value.code == "PO0509"
    assert reason in caught.value.message
    good = checker.check(source(f"{FOR}\n{LOOP} b[i] = 1.0;"), arguments())
    assert good.races == ()


def test_text_that_does_not_compile(checker: Checker) -> None:
    with pytest.raises(ToolchainError) as caught:
        checker.check(source("int x = ;"), arguments())
    assert caught.value.code == "PO0502"


def test_arguments_that_do_not_fit(checker: Checker) -> None:
    a, b, c = arguments()
    with pytest.raises(ArgumentError):
        checker.check(source("a[0] = 1.0;"), (a, b[1:], c))


def test_only_gcc_has_the_hooks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clang = tmp_path / "clang"
    clang.write_text('#!/bin/sh\n[ "$1" = -v ] && echo "clang version 1.0"\nexit 0\n')
    clang.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    with pytest.raises(ToolchainError) as caught:
        Checker("clang")
    assert caught.value.code == "PO0508"


def test_arguments_keep_the_memory_they_share(tmp_path: Path) -> None:
    base = np.arange(24.0).reshape(4, 6)
    values = (base[:, 1:3], base[::-1, 2], np.float32(2.5), 7, base[:0], True, None)
    again, _ = unpack(pack(values, tmp_path), tmp_path)
    for value, other in zip(values, again, strict=True):
        assert np.array_equal(value, other)
        assert type(value) is type(other)
    again[0][0, 1] = -1.0
    assert again[1][-1] == -1.0
    assert again[0].strides == values[0].strides
    with pytest.raises(ArgumentError):
        pack((object(),), tmp_path)
