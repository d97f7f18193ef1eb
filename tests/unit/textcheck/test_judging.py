"""C text that nobody certified: what is proven of it, refuted, and left open."""

from __future__ import annotations

import pytest

from polyopt.errors import UsageError
from polyopt.report.findings import Verdict
from polyopt.textcheck import judge_text

FOR = "for (int64_t i = 0; i < n; i++)"
PARALLEL = f"#pragma omp parallel for\n{FOR}"

SIMD = "#pragma omp simd"
FROM_4 = "for (int64_t i = 4; i < n; i++)"
BELOW = "for (int64_t i = 0; i < n - 1; i++)"


def codes(body: str, head: str = "int64_t n, double a[n], double b[n][n]") -> set[str]:
    """Return the codes of what is not proven of a function with this body."""
    found = judge_text(f"void f({head})\n{{\n{body}\n}}\n", "f.c")
    assert all((one.error is None) == (one.verdict is Verdict.PROVEN) for one in found)
    return {one.error.code for one in found if one.error is not None}


@pytest.mark.parametrize(
    "body",
    [
        f"{FOR} a[i] = 0;",
        f"{PARALLEL} a[i] = b[i][0];",
        f"{PARALLEL} {FOR.replace('i', 'j').replace('jnt64_t', 'int64_t')} b[i][j] += a[j];",
        "for (int64_t i = n - 1; i >= 0; --i) a[i] = a[n - 1 - i];",
        "for (int64_t i = 0; i < n - 1; i += 2) a[i] = a[i + 1];",
        "for (int i = 0; i < 7; i++) { double t[7]; t[i] = i; }",
        f"{FOR} if (i > 0 && !(i >= n - 1)) a[i] = a[i - 1] + a[i + 1];",
        f"{FOR} {{ int64_t k = i / 2; a[k] = a[i % 3 < n ? i % 3 : 0]; }}",
        f"double s = 0;\n#pragma omp parallel for reduction(+ : s)\n{FOR} s += a[i];",
        f"double s;\n#pragma omp parallel for private(s)\n{FOR} {{ s = a[i]; a[i] = s * s; }}",
        f"#pragma omp parallel for\n{FOR} {{\n#pragma omp atomic\na[0] += 1;\n}}",
        f"#pragma omp parallel for\n{FOR} {{ double s = a[i]; a[i] = sqrt(s) + fabs(b[i][i]); }}",
        f"{SIMD} safelen(4)\n{FROM_4} a[i] = a[i - 4];",
        f"{SIMD}\n{BELOW} a[i] = a[i + 1];",
        f"{SIMD}\nfor (int64_t i = n - 1; i > 0; i--) a[i] = a[i - 1];",
        f"{SIMD}\n{FROM_4} {{ a[i] = i; b[0][i] = a[i - 1]; }}",
        f"double s = 0;\n{SIMD} reduction(+ : s)\n{FOR} s += a[i];",
        f"double s;\n{SIMD} private(s)\n{FOR} {{ s = a[i]; a[i] = s * s; }}",
        f"{SIMD}\n{FOR} for (int64_t j = 1; j < n; j++) b[i][j] = b[i][j - 1];",
    ],
)
def test_proven(body: str) -> None:
    assert codes(body) == set()


@pytest.mark.parametrize(
    "body, code",
    [
        ("for (int64_t i = 0; i <= n; i++) a[i] = 0;", "PO0625"),
        (f"{FOR} a[i + 1] = 0;", "PO0625"),
        (f"{FOR} a[i] = a[i - 1];", "PO0625"),
        (f"{FOR} b[i][n] = 0;", "PO0625"),
        ("for (int64_t i = n; i >= 0; i--) a[i] = 0;", "PO0625"),
        ("for (int64_t i = 0; i < n; i += 3) a[i] = a[i + 1];", "PO0625"),
        (f"{FOR} if (i > 0 || n > 5) a[i - 1] = 0;", "PO0625"),
        (f"{FOR} a[(i - 3) / 2] = 0;", "PO0625"),
        (f"{PARALLEL} a[0] = i;", "PO0626"),
        (f"{SIMD}\n{FROM_4} a[i] = a[i - 1];", "PO0626"),
        (f"{SIMD} safelen(5)\n{FROM_4} a[i] = a[i - 4];", "PO0626"),
        (f"{SIMD}\nfor (int64_t i = n - 2; i >= 0; i--) a[i] = a[i + 1];", "PO0626"),
        (f"{SIMD}\n{FROM_4} {{ b[0][i] = a[i - 1]; a[i] = i; }}", "PO0626"),
        (f"{SIMD}\n{BELOW} {{ a[i] = i; b[0][i] = a[i + 1]; }}", "PO0626"),
        (f"double s = 0;\n{SIMD}\n{FOR} s += a[i];", "PO0626"),
        (f"#pragma omp parallel for simd\n{BELOW} a[i] = a[i + 1];", "PO0626"),
        (f"{PARALLEL} if (i > 0) a[i] = a[i - 1];", "PO0626"),
        (f"{PARALLEL} a[i / 2] = 0;", "PO0626"),
        (f"double s = 0;\n{PARALLEL} s += a[i];", "PO0626"),
        (f"int64_t j;\n{PARALLEL} for (j = 0; j < n; j++) b[i][j] = 0;", "PO0626"),
        (f"{PARALLEL} for (int64_t j = 0; j < n; j++) b[j][i] = b[i][j];", "PO0626"),
        (f"{PARALLEL} {{\n#pragma omp atomic\na[0] += 1;\na[0] = 2;\n}}", "PO0626"),
        ("for (int i = 0; i < n; i++) a[i] = 0;", "PO0629"),
        ("for (int i = 0; i < 60000; i++) a[i * i % 1] = 0;", "PO0629"),
        ("for (unsigned i = 0; i < 5; i++) a[n > 9 ? i - 1 + 1 : 0] = 0;", "PO0629"),
        ("for (int64_t i = 0; i < n; i++) { int k = i; a[i] = k; }", "PO0629"),
        (f"{FOR} a[(int)i] = 0;", "PO0629"),
    ],
)
def test_refuted(body: str, code: str) -> None:
    assert code in codes(body)


@pytest.mark.parametrize(
    "body",
    [
        "int64_t i = 0; while (i < n) a[i++] = 0;",
        f"{FOR} a[(int64_t)a[i]] = 0;",
        f"{FOR} if (a[i] > 0) a[i + 1] = 0;",
        f"{FOR} *a = 0;",
        f"{FOR} {{ if (a[i] > 0) break; a[i] = 1; }}",
        f"{FOR} unknown(a);",
        f"#pragma omp for nowait\n{FOR} a[i] = 0;",
        f"{FOR} {{ a[i] = 0; i++; }}",
        f"{FOR} c[i] = 0;",
        f"{FOR} {{ double *p = a; p[i] = 0; }}",
        f"double (*c)[n] = (double (*)[n])a;\n{FOR} {{ a[i] = 0; }}",
        f"#if N\n{FOR} a[i] = 0;\n#endif",
    ],
)
def test_left_open(body: str) -> None:
    assert codes(body) == {"PO0628"}


def test_an_example() -> None:
    text = "void f(int64_t n, double a[n])\n{\n" + PARALLEL + "\nif (i > 1) a[i] = a[i - 2];\n}\n"
    (race,) = (one for one in judge_text(text, "f.c") if one.verdict is Verdict.REFUTED)
    assert race.error.notes == (
        "example: n=4: iteration (i=3) writes what iteration (i=1) reads",
    ) or ("iteration (i=2) writes" in race.error.notes[0])
    assert race.loc.line == 5


@pytest.mark.parametrize(
    "text", ["", "int f(void) { return 1; }", "void f( { for", "\x00", "if x:"]
)
def test_no_text_to_judge(text: str) -> None:
    with pytest.raises(UsageError) as refused:
        judge_text(text, "f.c")
    assert refused.value.code == "PO0628"


def test_lanes_that_meet_in_loops_inside_are_left_open() -> None:
    inner = "for (int64_t j = 0; j < n; j++) b[i + 1][j] = b[i][j];"
    assert codes(f"{SIMD}\n{BELOW} {inner}") == {"PO0628"}


def test_extents_that_are_products() -> None:
    """What they say of the sizes is not used; other arrays are judged."""
    head = "int64_t n, int64_t m, double a[n * m], double b[n]"
    assert codes(f"{FOR} b[i] = 0;", head) == set()
    assert codes(f"{FOR} b[i] = a[0];", head) == {"PO0628"}
    assert "PO0625" in codes(f"{FOR} b[i + 1] = 0;", head)
    assert "PO0628" in codes(f"{FOR} for (int j = 0; j < m; j++) a[i * m + j] = 0;", head)
