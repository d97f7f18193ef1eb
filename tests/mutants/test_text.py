"""The reader of emitted C: C's rules, what C leaves undefined, threads; and random kernels."""

from __future__ import annotations

import numpy as np
import pytest

from polyopt.ir.source import CParamKind
from tests.mutants.layers import differing
from tests.oracle.text import Outcome, expressions, read_unit, run_text
from tests.properties.pair_trial import expected, run_program

FOR = "for (int64_t i = 0; i < n; i++)"
BOX = "#pragma omp parallel for collapse(2)\nfor (int64_t i = 0; i < 2; i++)"


def ran(body: str, n: int = 5) -> Outcome:
    unit = read_unit(f"int f(int64_t n, double *restrict a, int64_t *b)\n{{\n{body}\nreturn 0;\n}}")
    return run_text(unit, "f", [("n", n), ("a", (np.arange(5.0), 0)), ("b", (np.arange(5), 0))])


@pytest.mark.parametrize(
    "expression, value",
    [
        ("-7 / 2", -3),
        ("-7 % 3", -1),
        ("(int8_t)200 + 1", -55),
        ("1 - 2u > 0", 1),
        ("(uint64_t)1 - 2 < 3", 0),
        ("2147483647 + 1", -(2**31)),
        ("n + 2147483647", 2**31 + 4),
        ("(int64_t)-2.7", -2),
        ("1 / 2.0f == 0.5", 1),
        ("0.1f == 0.1", 0),
        ("n > 3 ? -1 : 2u", 2**32 - 1),
        ("n == 5 || b[n] == 0", 1),
        ("3 & 6 ^ 1", 3),
        ("!0 - -1 * 2", 3),
        ("isnan(NAN) && INFINITY > 1", 1),
        ("fma(0.1, 10.0, -1.0) > 0", 1),
    ],
)
def test_arithmetic(expression: str, value: int) -> None:
    outcome = ran(f"b[0] = {expression};")
    assert outcome.trouble == ""
    assert outcome.arrays["b"][0] == value


@pytest.mark.parametrize(
    "body, trouble",
    [
        ("a[n] = 1.0;", "a[5] is written, of 5 elements"),
        ("b[0] = b[-1];", "b[-1] is read"),
        ("int64_t t; b[0] = t + 1;", "never written"),
        ("int64_t t; b[0] = t;", "never written"),
        ("double (*r)[n - 5] = (double (*)[n - 5])a;", "length 0"),
        ("double t[2][3]; t[0][3] = 1.0;", "subscript 3 of 3"),
        ("double *t = aligned_alloc(64, 64); free(t); t[0] = 1.0;", "was freed"),
        ("b[0] = n / (n - 5);", "division by zero"),
        ("b[0] = 1 << 32;", "shift"),
        ("b[0] = (int64_t)(a[1] / a[0]);", "does not fit"),
        ("while (1) b[0]++;", "no end"),
        (f"#pragma omp parallel for\n{FOR} b[0] = 1;", "meet in b[0]"),
        (f"{BOX} for (int64_t j = 0; j < 2; j++) b[i] = 1;", "meet in b[1]"),
        (f"{BOX} for (int64_t j = 0; j < 2; j++) b[j] = 1;", "meet in b[1]"),
        (f"{BOX} {{ b[i] = 1; for (int64_t j = 0; j < 2; j++) a[i] = 1; }}", "between them"),
        (f"#pragma omp simd\n{FOR} if (i > 1) a[i] = a[i - 2];", "meet in a["),
        (f"int64_t t;\n#pragma omp parallel for\n{FOR} {{ t = i; b[i] = t; }}", "meet in t[0]"),
        (f"#pragma omp parallel\n{{\n#pragma omp for nowait\n{FOR} a[i] = 1.0;\n"
         f"#pragma omp for\n{FOR} b[i] = a[n - 1 - i];\n}}", "meet in a["),
    ],
)  # fmt: skip
def test_trouble(body: str, trouble: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expressions, "LIMIT", 2_000)
    assert trouble in ran(body).trouble


@pytest.mark.parametrize(
    "body",
    [
        "int64_t t, u; t = b[1]; u = t; b[0] = u;",
        "int64_t t[2]; int64_t u = t[0]; u = b[1]; b[0] = u;",
        "double *t = aligned_alloc(64, 64); t[7] = a[1]; b[0] = t[7] == 1.0; free(t);",
        f"#pragma omp parallel for\n{FOR} {{ int64_t t = b[i]; b[i] = t + (i == 0); }}",
        f"{BOX} {{ for (int64_t j = 0; j < 2; j++) b[2 * i + j] = 1; }}",
        f"int64_t s = -9;\n#pragma omp parallel for reduction(+ : s)\n{FOR} s += b[i];\nb[0] = s;",
        f"#pragma omp parallel\n{{\n#pragma omp for\n{FOR} a[i] = 1.0;\n"
        f"#pragma omp for\n{FOR} b[i] = a[n - 1 - i];\n}}",
        "if (n > 3) goto end;\nb[0] = 7;\nend:\nb[0] = 1;",
        "for (int64_t i = 0;; i++) { if (i < 2) continue; b[0] = 1; break; }",
    ],
)
def test_no_trouble(body: str) -> None:
    outcome = ran(body)
    assert outcome.trouble == ""
    assert outcome.arrays["b"][0] == 1


@pytest.mark.parametrize("number", range(3))
def test_random_kernels(number: int) -> None:
    for case, _, source, steps in run_program(23, number).kernels:
        unit = read_unit(source.text)
        for sizes, before, after in expected(case):
            given = [
                (
                    p.name,
                    (before[p.name].ravel(), 0) if p.kind is CParamKind.ARRAY else sizes[p.name],
                )
                for p in source.params
            ]
            outcome = run_text(unit, source.entry, given)
            assert outcome.trouble == "", steps
            got = {name: a.reshape(before[name].shape) for name, a in outcome.arrays.items()}
            assert differing(after, got) is None, steps
