"""Variables that loops copy, guards, the preprocessor: wrong texts are not called proven."""

from __future__ import annotations

import pytest

from polyopt.errors import UsageError
from polyopt.textcheck import judge_text
from tests.unit.textcheck.test_judging import FOR, PARALLEL, SIMD, codes

RACE, OPEN, WIDTH, OUTSIDE = "PO0626", "PO0628", "PO0629", "PO0625"
OMP = "#pragma omp parallel for"
HEAD = "void f(int64_t n, double a[n])"


def reduced(operator: str, body: str, pragma: str = OMP) -> str:
    return f"double t = 1;\n{pragma} reduction({operator} : t)\n{FOR} {body}\na[0] = t;"


def copied(clause: str, body: str, behind: str = "") -> str:
    return f"double t = 1; double s[2];\n{OMP} {clause}\n{FOR} {{ {body} }}\n{behind}"


@pytest.mark.parametrize(
    "operator, body",
    [
        ("+", "t += a[i] * a[i];"),
        ("+", "{ t = t + a[i]; t = a[i] + t - 1; t -= 1; t++; }"),
        ("-", "t -= a[i];"),
        ("*", "t *= a[i];"),
        ("&&", "t = t && a[i] > 0;"),
        ("max", "t = t < a[i] ? a[i] : t;"),
        ("max", "t = (a[i] >= t) ? a[i] : t;"),
        ("min", "t = fmin(a[i], t);"),
        ("max", "if (a[i] > t) t = a[i];"),
        ("min", "if (t >= a[i]) { t = a[i]; }"),
        ("+", "for (int64_t j = 0; j < n; j++) if (b[i][j] > 0) t += b[i][j];"),
    ],
)
@pytest.mark.parametrize("pragma", [OMP, SIMD])
def test_reductions_by_their_operator(operator: str, body: str, pragma: str) -> None:
    assert codes(reduced(operator, body, pragma)) == set()


@pytest.mark.parametrize(
    "operator, body",
    [
        ("+", "t *= a[i];"),
        ("*", "t += a[i];"),
        ("*", "t /= a[i];"),
        ("+", "t = a[i];"),
        ("+", "t = a[i] - t;"),
        ("+", "t = (t + a[i]) * 2;"),
        ("+", "t += t * a[i];"),
        ("+", "if (t < 4) t += a[i];"),
        ("+", "{ t += a[i]; a[i] = t; }"),
        ("+", "a[i] = t += 1;"),
        ("max", "t += a[i];"),
        ("max", "t = fmin(t, a[i]);"),
        ("max", "t = fmax(t, t * a[i]);"),
        ("max", "t = t > a[i] ? a[i] : t;"),
        ("min", "if (t < a[i]) t = a[i];"),
        ("&&", "t = t || a[i] > 0;"),
        ("inscan, +", "t += a[i];"),
    ],
)
@pytest.mark.parametrize("pragma", [OMP, SIMD])
def test_reductions_by_another_operator(operator: str, body: str, pragma: str) -> None:
    assert codes(reduced(operator, body, pragma)) == {OPEN}


@pytest.mark.parametrize(
    "text",
    [
        copied("private(t)", "t = a[i]; a[i] = t + 1;"),
        copied("private(t)", "if (a[i] > 0) { t = a[i]; a[i] = t; }"),
        copied("private(t)", "t = 0; for (int64_t j = 0; j < n; j++) t += b[i][j]; a[i] = t;"),
        copied("private(s)", "s[0] = a[i]; s[1] = 2; a[i] = s[0] + s[1];"),
        copied("private(s)", "for (int k = 0; k < 2; k++) s[k] = k; a[i] = s[0] + s[1];"),
        copied("private(t)", "t = a[i]; a[i] = t + 1;", "t = 2; a[0] = t;"),
        copied("lastprivate(t)", "t = a[i]; a[i] = t + 1;", "a[0] = t;"),
        copied("firstprivate(t)", "a[i] = t;", "a[0] = t;"),
        f"{OMP} reduction(+ : a[:4])\n{FOR} a[i] += 1;",
        f"{SIMD} linear(i : 1)\n{FOR} a[i] += 1;",
    ],
)
def test_copies_that_are_set(text: str) -> None:
    assert codes(text) == set()


@pytest.mark.parametrize(
    "text",
    [
        copied("private(t)", "a[i] = t; t = a[i] + 1;"),
        copied("firstprivate(t)", "t += 1; a[i] = t;"),
        copied("private(t)", "if (a[i] > 0) t = a[i]; a[i] = t;"),
        copied("private(t)", "if (a[i] > 0) t = a[i]; else a[i] = t;"),
        copied("private(t)", "for (int64_t j = 1; j < n; j++) t = b[i][j]; a[i] = t;"),
        copied("private(t)", "for (int64_t j = 0; j < n; j++) { b[i][j] = t; t = j; }"),
        copied("private(s)", "s[0] = a[i]; a[i] = s[0] + s[1];"),
        copied("private(t)", "t = a[i]; a[i] = t + 1;", "a[0] = t;"),
        copied("lastprivate(t)", "if (a[i] > 0) t = a[i];", "a[0] = t;"),
        copied("lastprivate(t)", "t = a[i];", "a[0] = t;").replace("i = 0", "i = 1"),
        copied("private(t)", "a[i] = t;"),
        copied("lastprivate(t)", "a[i] = t;"),
        copied("private(a)", "a[i] = 1;"),
        copied("private(n)", "a[i] = 1;"),
    ],
)
def test_copies_that_are_not_set(text: str) -> None:
    assert OPEN in codes(text)


def test_copies_between_loops() -> None:
    """What the next iteration of an outer loop reads is lost, too."""
    inner = f"{OMP} private(t)\n{FOR} {{ t = a[i]; b[i][0] = t; }}"
    text = "double t = 1; for (int64_t k = 0; k < 3; k++) { %s }"
    assert codes(text % f"a[0] = t; {inner}") == {OPEN}
    assert codes(text % f"t = k; a[0] = t; {inner}") == set()


@pytest.mark.parametrize(
    "body, code",
    [
        (f"{OMP} firstprivate(a)\n{FOR} a[0] = i;", RACE),
        (f"{PARALLEL} {{ static double t; t = a[i]; a[i] = t; }}", RACE),
        (f"{PARALLEL} {{\n#pragma omp atomic\na[i] += a[n - 1 - i];\n}}", RACE),
        (f"{PARALLEL} {{\n#pragma omp atomic\na[0] = a[0] + a[i];\n}}", RACE),
        (f"double t;\n{OMP} // private(t)\n{FOR} {{ t = a[i]; a[i] = t; }}", RACE),
        (f"double t;\n{OMP} /* private(t) */\n{FOR} {{ t = a[i]; a[i] = t; }}", RACE),
        ("#pragma GCC ivdep\nfor (int64_t i = 1; i < n; i++) a[i] = a[i - 1];", RACE),
        ("#pragma ivdep\nfor (int64_t i = 1; i < n; i++) a[i] = a[i - 1];", RACE),
        ("#pragma clang loop vectorize(assume_safety)\n"
         "for (int64_t i = 1; i < n; i++) a[i] = a[i - 1];", RACE),
        (f"{PARALLEL} asm(\"\" : \"=m\"(a[0]));", OPEN),
        (f"{PARALLEL} {{ extern double t; t = a[i]; a[i] = t; }}", OPEN),
        (f"{OMP} collapse(TWO)\n{FOR} for (int64_t j = 0; j < n; j++) b[i][0] = j;", OPEN),
        ("{ double t[4]; t[5] = 0; } { double t[9]; t[8] = 0; }" + f"{FOR} a[i] = 0;", OUTSIDE),
        ("for (int i = 0; i < 4; i=+2) a[0] = 1;", OPEN),
        ("for (int i = 0; i < 4; i+2) a[0] = 1;", OPEN),
        ("for (int i = 0; i < 9; i += 010) a[0] = 1;", OPEN),
        ("for (int i = 0; i < 9; i++) { uint32_t k = i - 1; int64_t j = k; a[j % n] = 1; }", WIDTH),
        ("for (uint32_t i = -3; i > 2; i--) a[i] = 1;", WIDTH),
        ("unsigned m = 5; for (int i = -1; i > m; i--) a[0] = 1;", WIDTH),
        (f"{FOR} {{ bool k = i; a[0] = k; }}", WIDTH),
    ],
)  # fmt: skip
def test_other_ways_to_share_or_to_wrap(body: str, code: str) -> None:
    assert code in codes(body)


@pytest.mark.parametrize(
    "body",
    [
        f"{FOR} a[i] = i > 0 ? a[i - 1] : 0;",
        f"{FOR} if (i > 0 && a[i - 1] > 0) a[i] = 1;",
        f"{FOR} if (i < 1 || a[i - 1] > 0) a[i] = 1;",
        f"if (n < 2) return;\n{FOR} a[i] = 0;\na[1] = 2;",
        f"static const double c[2] = {{1, 2}};\n{PARALLEL} a[i] = c[i % 2];",
        f"{PARALLEL} {{\n#pragma omp atomic\na[0] = a[0] + i;\n}}",
        f"double t = 0;\n{PARALLEL} {{\n#pragma omp critical\n{{ if (a[i] > t) t = a[i]; }} }}",
    ],
)
def test_conditions_that_keep_accesses_inside(body: str) -> None:
    assert codes(body) == set()


LOOP = f"{HEAD} {{ for (int64_t i = 0; i < n; i++) a[i] = 1; }}\n"
COUNTED = "void f(double a[5]) { for (int i = 0; i < N; i++) a[i] = 1; }\n"


def whole(text: str) -> set[str]:
    try:
        found = judge_text(text, "f.c")
    except UsageError as error:
        return {error.code}
    return {one.error.code for one in found if one.error is not None}


@pytest.mark.parametrize(
    "text",
    [
        f"#ifndef F_H\n#define F_H\n{LOOP}#endif\n",
        f'#ifdef __cplusplus\nextern "C" {{\n#endif\n{LOOP}#ifdef __cplusplus\n}}\n#endif\n',
        f"#define N 5\n#define EPS 1e-9\n#define INLINE inline\n{COUNTED}",
        f"#ifdef _OPENMP\n#include <omp.h>\n#endif\n{LOOP}",
        f"#define MAX(x, y) ((x) > (y) ? (x) : (y))\n{LOOP}",
    ],
)
def test_the_preprocessor_changes_nothing(text: str) -> None:
    assert whole(text) == set()


@pytest.mark.parametrize(
    "text",
    [
        f"#if 1\n{LOOP.replace('i] = 1', 'i + 1] = 1')}#else\n{LOOP}#endif\n",
        f"#ifndef A\n#define A\n#else\n{LOOP}#endif\n",
        f"#define N 10\n{COUNTED}#undef N\n#define N 5\n{COUNTED.replace('f(', 'g(')}",
        f"#ifdef LARGE\n#define N 9\n#else\n#define N 5\n#endif\n{COUNTED}",
        f"#define N 010\n{COUNTED}",
        f"#define N 3 + 3\n{COUNTED}",
        f"#define int64_t int8_t\n{LOOP}",
        f"typedef signed char int64_t;\n{LOOP}",
        f"#define for while\n{LOOP}",
        f"#define sqrt(x) (a[n] = x)\n{LOOP.replace('= 1', '= sqrt(1.0)')}",
        LOOP.replace("{ for", "{\n// \\ \nint k;\nfor"),
        LOOP.replace("{ for", "{\n// ??/\nint k;\nfor"),
        LOOP.replace("{ for", "{\n// \ra[n] = 1;\nfor"),
        "double a[2];\nstatic void g(int64_t i) { a[i] = 1; }\n" + LOOP.replace("a[i] = 1", "g(i)"),
    ],
)
def test_the_preprocessor_makes_another_text(text: str) -> None:
    assert whole(text) == {OPEN}
