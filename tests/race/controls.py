"""Parallel loops written by hand: each racing one beside a twin that has no race.

In: nothing.  Out: `CONTROLS`, C texts over `double a[n], b[n], c[n*n]` with what must be found.
"""

from __future__ import annotations

from dataclasses import dataclass

from polyopt.ir.expr import Param
from polyopt.ir.source import ArrayArg, CParam, CParamKind, Layout, Signature, SizeOf, Source
from polyopt.ir.types import DType
from polyopt.racecheck import Level, RaceKind
from polyopt.racecheck.checker import Rules

_N = Param("n")
_ARRAYS = (("a", (_N,)), ("b", (_N,)), ("c", (_N, _N)))
_HEAD = "int control(int64_t n, double *restrict a, double *restrict b, double *restrict c)\n{\n"


def source(body: str, before: str = "") -> Source:
    """Return a kernel with `body`; its lines are numbered from where `before` begins."""
    f64 = DType.FLOAT64
    arguments = tuple(ArrayArg(name, name, f64, shape, Layout.C, True) for name, shape in _ARRAYS)
    signature = Signature("control", arguments, (SizeOf("n", 0, 0),), (), (), "N", ())
    size = CParam(CParamKind.SIZE, "n", DType.INT64, "n")
    params = (size, *(CParam(CParamKind.ARRAY, n, f64, n, True) for n, _ in _ARRAYS))
    includes = "#include <stdint.h>\n#include <stdlib.h>\n#include <math.h>\n"
    text = f"{includes}{before}{_HEAD}{body.strip()}\nreturn 0;\n}}\n"
    return Source("c", "control", text, "", params, signature, openmp=True, contract=False)


_ALONE = Rules()
_TEAM = Rules(team=64)


@dataclass(frozen=True, slots=True)
class Control:
    """A racing body, the twin without a race, and what is found.

    `kinds` are those of the races; `cell` is the first one's, as text; `pair` its iterations.
    """

    name: str
    racing: str
    silent: str
    kinds: frozenset[RaceKind]
    cell: str | None = None
    pair: tuple[int, int] | None = None
    before: str = ""
    level: Level = Level.THREADS
    rules: Rules = _ALONE


WW, RW = RaceKind.WRITE_WRITE, RaceKind.READ_WRITE
_FOR = "#pragma omp parallel for schedule(static)"
_DYNAMIC = "#pragma omp parallel for schedule(dynamic, 4)"
_LOOP = "for (int64_t i = 0; i < n; i++)"
_LEAST = """\
static inline double least(double x, double y) { return x < y || x != x ? x : y; }
#pragma omp declare reduction(least : double : omp_out = least(omp_out, omp_in)) \\
    initializer(omp_priv = INFINITY)
"""
_TOLD = """\
#include <stdbool.h>
bool GOMP_loop_dynamic_next(long *from, long *to);
void GOMP_loop_end_nowait(void);
void GOMP_parallel_loop_dynamic(void (*)(void *), void *, unsigned, long, long, long, long,
                                unsigned);
struct shared { int64_t n; double *to, *from; };
static void body(void *data)
{
    struct shared *s = data;
    long begin, end;
    while (GOMP_loop_dynamic_next(&begin, &end))
        for (long i = begin; i < end; i++)
            s->to[i] = s->from[i + 1];
    GOMP_loop_end_nowait();
}
"""
_HELPER = "static inline double po_get(const double *p) { return *p; }\n"
_REGION = """\
__attribute__((noinline)) static void region(int64_t n, int64_t i, int64_t row, double *restrict c)
{
    double (*rows)[n] = (double (*)[n])c;
    for (int64_t j = 0; j < n; j++)
        rows[row][j] += (double)i;
}
"""
CONTROLS: tuple[Control, ...] = (
    Control(
        "variable of all iterations",
        f"double t;\n{_FOR}\n{_LOOP} {{ t = a[i]; b[i] = t; }}",
        f"{_FOR}\n{_LOOP} {{ double t = a[i]; b[i] = t; }}",
        frozenset({WW, RW}),
    ),
    Control(
        "sum without a reduction",
        f"double s = 0;\n{_FOR}\n{_LOOP} s += a[i];\nb[0] = s;",
        f"double s = 0;\n{_FOR} reduction(+ : s)\n{_LOOP} s += a[i];\nb[0] = s;",
        frozenset({WW, RW}),
    ),
    Control(
        "sum in a cell of an array",
        f"{_FOR}\n{_LOOP} b[5] += a[i];",
        f"double s = b[5];\n{_FOR} reduction(+ : s)\n{_LOOP} s += a[i];\nb[5] = s;",
        frozenset({WW, RW}),
        "b[5]",
        (0, 1),
    ),
    Control(
        "one of two reductions is missing",
        f"double s = 0, p = 1;\n{_FOR} reduction(+ : s)\n{_LOOP} {{ s += a[i]; p *= a[i]; }}"
        "\nb[0] = s + p;",
        f"double s = 0, p = 1;\n{_FOR} reduction(+ : s) reduction(* : p)\n"
        f"{_LOOP} {{ s += a[i]; p *= a[i]; }}\nb[0] = s + p;",
        frozenset({WW, RW}),
    ),
    Control(
        "minimum by a plain assignment beside a declared reduction",
        f"double m = INFINITY;\n{_FOR}\n{_LOOP} m = least(m, a[i]);\nb[0] = m;",
        f"double m = INFINITY;\n{_FOR} reduction(least : m)\n{_LOOP} m = least(m, a[i]);"
        "\nb[0] = m;",
        frozenset({WW, RW}),
        before=_LEAST,
    ),
    Control(
        "loops shared out together that meet on a diagonal",
        f"{_FOR} collapse(2)\n{_LOOP} for (int64_t j = 0; j < n; j++) c[i + j] = a[i];",
        f"{_FOR} collapse(2)\n{_LOOP} for (int64_t j = 0; j < n; j++) c[i * n + j] = a[i];",
        frozenset({WW}),
    ),
    Control(
        "neighbour of another iteration",
        f"{_FOR}\nfor (int64_t i = 1; i < n; i++) a[i] = a[i - 1] + 1.0;",
        f"{_FOR}\nfor (int64_t i = 1; i < n; i++) b[i] = a[i - 1] + 1.0;",
        frozenset({RW}),
        "a[1]",
        (0, 1),
    ),
    Control(
        "a neighbour far away",
        f"{_FOR}\n{_LOOP} if (i >= 20) a[i] = a[i - 20];",
        f"{_FOR}\n{_LOOP} if (i >= 20) a[i] = b[i - 20];",
        frozenset({RW}),
        "a[20]",
        (20, 40),
    ),
    Control(
        "one pair of iterations only",
        f"{_FOR}\n{_LOOP} {{ b[i] = 1.0; if (i == 47) b[3] = 2.0; }}",
        f"{_FOR}\n{_LOOP} {{ b[i] = 1.0; if (i == 47) b[47] = 2.0; }}",
        frozenset({WW}),
        "b[3]",
        (3, 47),
    ),
    Control(
        "one pair of iterations dealt out four at a time",
        f"{_DYNAMIC}\n{_LOOP} {{ b[i] = 1.0; if (i == 5) b[4] = 2.0; }}",
        f"{_DYNAMIC}\n{_LOOP} {{ b[i] = 1.0; if (i == 5) b[5] = 2.0; }}",
        frozenset({WW}),
        "b[4]",
        (4, 5),
    ),
    Control(
        "the same value is written",
        f"{_FOR}\n{_LOOP} b[i / 2] = 0.0;",
        f"{_FOR}\n{_LOOP} b[i] = 0.0;",
        frozenset({WW}),
        "b[0]",
        (0, 1),
    ),
    Control(
        "rows of a matrix in a function of their own",
        f"{_FOR}\n{_LOOP} region(n, i, i / 2, c);",
        f"{_FOR}\n{_LOOP} region(n, i, i, c);",
        frozenset({WW, RW}),
        "c[0, 0]",
        (0, 1),
        before=_REGION,
    ),
    Control(
        "diagonals: along one instead of across",
        "for (int64_t t = 2; t < 2 * n - 1; t++)\n"
        "#pragma omp parallel for schedule(dynamic)\n"
        "for (int64_t i = 1; i < n; i++) {\n"
        "int64_t j = t - 2 * i;\n"
        "if (j >= 1 && j < n) c[i * n + j] = c[(i - 1) * n + j + 1] + c[i * n + j - 1];\n}\n"
        "for (int64_t t = 2; t < 2 * n - 1; t++)\n"
        f"{_FOR}\nfor (int64_t i = 1; i < n; i++) {{\nint64_t j = t - i;\n"
        "if (j >= 1 && j < n) c[i * n + j] += c[(i - 1) * n + j + 1];\n}",
        "for (int64_t t = 2; t < 2 * n - 1; t++)\n"
        f"{_FOR}\nfor (int64_t i = 1; i < n; i++) {{\nint64_t j = t - i;\n"
        "if (j >= 1 && j < n) c[i * n + j] = c[(i - 1) * n + j] + c[i * n + j - 1];\n}",
        frozenset({RW}),
    ),
    Control(
        "array of all iterations",
        f"double t[4];\n{_FOR}\n{_LOOP} {{ t[i % 4] = a[i]; b[i] = t[i % 4]; }}",
        f"{_FOR}\n{_LOOP} {{ double t[4]; t[i % 4] = a[i]; b[i] = t[i % 4]; }}",
        frozenset({WW, RW}),
    ),
    Control(
        "heap block of all iterations",
        f"double *t = malloc(8 * n);\n{_FOR}\n{_LOOP} {{ t[0] = a[i]; b[i] = t[0]; }}\nfree(t);",
        f"{_FOR}\n{_LOOP} {{ double *t = malloc(8 * n); t[0] = a[i]; b[i] = t[0]; free(t); }}",
        frozenset({WW, RW}),
        "t[0]",
        (0, 1),
    ),
    Control(
        "through a helper",
        f"{_FOR}\nfor (int64_t i = 1; i < n; i++) a[i] = po_get(&a[i - 1]);",
        f"{_FOR}\nfor (int64_t i = 1; i < n; i++) b[i] = po_get(&a[i - 1]);",
        frozenset({RW}),
        "a[1]",
        before=_HELPER,
    ),
    Control(
        "bytes of one word",
        f"char *s = (char *)b;\n{_FOR}\n{_LOOP} {{ s[i] = 1; if (i == 9) s[8] = 2; }}",
        f"char *s = (char *)b;\n{_FOR}\n{_LOOP} {{ s[i] = 1; if (i == 9) s[9] = 2; }}",
        frozenset({WW}),
        "b[1]",
        (8, 9),
    ),
    Control(
        "bytes, and words that hold them",
        f"char *s = (char *)b;\n{_FOR}\n{_LOOP} {{ b[i] = 1.0; if (i == 9) s[0] = 2; }}",
        f"char *s = (char *)b;\n{_FOR}\n{_LOOP} {{ b[i] = 1.0; if (i == 9) s[75] = 2; }}",
        frozenset({WW}),
        "b[0]",
        (0, 9),
    ),
    Control(
        "atomic operations beside a plain one",
        f"{_FOR}\n{_LOOP} {{\n#pragma omp atomic\nb[0] += a[i];\nif (i == 7) b[0] = 0.0;\n}}",
        f"{_FOR}\n{_LOOP} {{\n#pragma omp atomic\nb[0] += a[i];\n}}",
        frozenset({WW, RW}),
        "b[0]",
    ),
    Control(
        "two locks for one cell",
        f"{_FOR}\n{_LOOP} {{\nif (i % 2)\n#pragma omp critical(one)\nb[0] += a[i];\nelse\n"
        "#pragma omp critical(two)\nb[0] += a[i];\n}",
        f"{_FOR}\n{_LOOP} {{\nif (i % 2)\n#pragma omp critical(one)\nb[0] += a[i];\nelse\n"
        "#pragma omp critical(one)\nb[0] += a[i] * 2;\n}",
        frozenset({WW, RW}),
        "b[0]",
    ),
    Control(
        "an `if` clause that is false for small sizes",
        f"{_FOR} if (n > 30000)\nfor (int64_t i = 1; i < n; i++) a[i] = a[i - 1] + 1.0;",
        f"{_FOR} if (n > 30000)\nfor (int64_t i = 1; i < n; i++) a[i] = a[i] + 1.0;",
        frozenset({RW}),
        "a[1]",
    ),
    Control(
        "an `if` clause that is obeyed",
        f"{_FOR} if (n > 3)\nfor (int64_t i = 1; i < n; i++) a[i] = a[i - 1] + 1.0;",
        f"{_FOR} if (n > 30000)\nfor (int64_t i = 1; i < n; i++) a[i] = a[i - 1] + 1.0;",
        frozenset({RW}),
        "a[1]",
        rules=Rules(obeys_if=True),
    ),
    Control(
        "two loops as one",
        "#pragma omp parallel for collapse(2) schedule(static)\n"
        f"{_LOOP} for (int64_t j = 1; j < n; j++) c[i * n + j] = c[i * n + j - 1];",
        "#pragma omp parallel for collapse(2) schedule(static)\n"
        f"{_LOOP} for (int64_t j = 1; j < n; j++) c[i * n + j] = a[j - 1];",
        frozenset({RW}),
        "c[0, 1]",
    ),
    Control(
        "steps and a falling loop",
        f"{_DYNAMIC}\nfor (int64_t i = n - 1; i > 0; i -= 3) a[i] = a[i > 3 ? i - 3 : 0];",
        f"{_DYNAMIC}\nfor (int64_t i = n - 1; i > 0; i -= 3) a[i] = a[i - 1];",
        frozenset({RW}),
    ),
    Control(
        "a loop told with its region",
        "struct shared s = {n, a, a};\nGOMP_parallel_loop_dynamic(body, &s, 0, 0, n - 1, 1, 8, 0);",
        "struct shared s = {n, a, b};\nGOMP_parallel_loop_dynamic(body, &s, 0, 0, n - 1, 1, 8, 0);",
        frozenset({RW}),
        "a[1]",
        (0, 1),
        before=_TOLD,
    ),
    Control(
        "no barrier between two loops",
        f"#pragma omp parallel\n{{\n#pragma omp for schedule(static) nowait\n{_LOOP} a[i] = 1.0;\n"
        f"#pragma omp for schedule(static)\n{_LOOP} b[i] = a[n - 1 - i];\n}}",
        f"#pragma omp parallel\n{{\n#pragma omp for schedule(static)\n{_LOOP} a[i] = 1.0;\n"
        f"#pragma omp for schedule(static)\n{_LOOP} b[i] = a[n - 1 - i];\n}}",
        frozenset({RW}),
        rules=_TEAM,
    ),
    Control(
        "one thread writes what the others read",
        "#pragma omp parallel\n{\n#pragma omp single nowait\na[0] = 1.0;\n"
        f"#pragma omp for schedule(dynamic)\n{_LOOP} b[i] = a[0];\n}}",
        "#pragma omp parallel\n{\n#pragma omp single\na[0] = 1.0;\n"
        f"#pragma omp for schedule(dynamic)\n{_LOOP} b[i] = a[0];\n}}",
        frozenset({RW}),
        "a[0]",
        rules=_TEAM,
    ),
    Control(
        "lanes that read their neighbours",
        f"#pragma omp simd\n{_LOOP} a[i] = i > 3 ? a[i - 4] : 0.0;",
        f"#pragma omp simd\n{_LOOP} a[i] = i > 3 ? b[i - 4] : 0.0;",
        frozenset({RW}),
        "a[0]",
        (0, 4),
        level=Level.LANES,
    ),
    Control(
        "lanes inside a parallel loop",
        f"{_FOR}\n{_LOOP} {{\n#pragma omp simd\n"
        "for (int64_t j = 0; j < n; j++) c[i * n] += a[j];\n}",
        f"{_FOR}\n{_LOOP} {{\ndouble s = 0;\n#pragma omp simd reduction(+ : s)\n"
        "for (int64_t j = 0; j < n; j++) s += a[j];\nc[i * n] = s;\n}",
        frozenset({WW, RW}),
        "c[0, 0]",
        level=Level.LANES,
    ),
)
