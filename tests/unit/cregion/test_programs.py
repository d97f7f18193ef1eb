"""C programs with regions: what they compute before and after, bit for bit."""

from __future__ import annotations

import ctypes
import subprocess
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from polyopt.cregion.compiling import compile_region
from polyopt.cregion.declarations import find_regions
from polyopt.cregion.function import translate
from polyopt.cregion.preprocessing import preprocess
from polyopt.cregion.splicing import spliced
from polyopt.cregion.syntax import parse_unit
from polyopt.machine import Machine
from polyopt.targets import FpMode, Options

pytest.importorskip("tree_sitter_c")
PROGRAMS = Path(__file__).parent / "programs.c"
MACHINE = Machine(cores=2, vector_bytes=32)
SIZES = [0, 1, 2, 3, 7, 16, 45]


@cache
def optimized(path: Path, *flags: str, fp: str = "strict") -> str:
    """Return the text of a C file, which stays as it is, with its regions replaced."""
    text, macros = preprocess(path, flags)
    unit = parse_unit(text, str(path))
    options = Options(fp=FpMode(fp))
    made = [
        compile_region(unit, region, translate(unit, region, macros), options, MACHINE)
        for region in find_regions(unit, str(path))
    ]
    return spliced(unit, path.read_text(), made)


def library(path: Path, *flags: str) -> ctypes.CDLL:
    """Build a C file as a shared library."""
    target = path.with_suffix(".so")
    command = ["gcc", "-shared", "-fPIC", *flags, str(path), "-o", str(target), "-lm"]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return ctypes.CDLL(str(target))


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> tuple[ctypes.CDLL, ctypes.CDLL]:
    """The library as written, and with its regions replaced."""
    folder = tmp_path_factory.mktemp("regions")
    (folder / "after.c").write_text(optimized(PROGRAMS))
    (folder / "before.c").write_text(PROGRAMS.read_text())
    strict = ("-O3", "-march=native", "-fopenmp", "-Wall", "-Werror", "-Wno-parentheses")
    return library(folder / "before.c", "-O2"), library(folder / "after.c", *strict)


def run(both, name, args, result=None):
    """Call a function of both libraries on copies; return what each made."""
    made = []
    for one in both:
        own = [a.copy() if isinstance(a, np.ndarray) else a for a in args]
        passed = [
            a.ctypes.data_as(ctypes.c_void_p) if isinstance(a, np.ndarray) else ctypes.c_int(a)
            for a in own
        ]
        function = getattr(one, name)
        function.restype = result
        returned = function(*passed)
        made.append([a.tobytes() for a in own if isinstance(a, np.ndarray)] + [returned])
    return made


def numbers(n: int, seed: int, dtype: type = np.float64) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=n).astype(dtype)


def cases(n: int):
    """Arguments of every program at a size."""
    rng = np.random.default_rng(n)
    ints = rng.integers(-99, 99, n).astype(np.int32)
    square = numbers(n * n, 1).reshape(n, n)
    yield (
        "matmul",
        [n, n + 2, 5, numbers(n * 5, 1), numbers(5 * (n + 2), 2), numbers(n * (n + 2), 3)],
    )
    yield "heat", [min(n, 12), 3, numbers(n**3, 4, np.float32), numbers(n**3, 5, np.float32)]
    yield "norm", [n, numbers(n, 6), np.zeros(1)], ctypes.c_double
    bytes_ = rng.integers(0, 256, n).astype(np.uint8)
    some = rng.integers(0, max(n, 1), n).astype(np.int32)
    yield "histogram", [n, bytes_, np.zeros(256, np.int32), some, numbers(n, 7)]
    wide, short = np.zeros(n, np.int64), rng.integers(-9, 9, n).astype(np.int16)
    yield "ints", [n, ints, np.zeros(n, np.int32), np.zeros(n, np.uint32), wide, short]
    yield "triangle", [n, square + n * np.eye(n), np.zeros(n)]
    yield "count", [n, ints], ctypes.c_int
    yield "two", [n, numbers(n + 1, 8, np.float32), numbers(n + 1, 9, np.float32)]
    yield "shifted", [1, n, numbers(n + 2, 10), numbers(n + 2, 11)]
    yield "plane", [n, numbers(4 * n, 12), 2]
    fours = numbers(4 * n, 16)
    yield "unsigned_counters", [n, 4, numbers(n, 15), np.zeros(n, np.uint32), fours]
    single = numbers(n, 15, np.float32)
    yield "functions", [n, numbers(n, 13), numbers(n, 14), single, single.copy()]
    factors = [numbers(n * n, 18), numbers(n * n, 19), numbers(n * n, 20)]
    yield "flat_product", [n, n, n, *factors]
    yield "flat_product", [max(n - 1, 0), n, min(n, 3), *factors]
    yield "flat_images", [n, n, 2, numbers(2 * n * n, 21, np.float32), single.repeat(2 * n)]
    yield "flat_ends", [n, numbers(n * n, 22)]
    odd = [0.5, -0.5, 0.49999999999999994, 2.5, -0.0, np.inf, np.nan, -1.5, 4503599627370495.5]
    values = np.resize(np.array([*odd, *numbers(7, 17)]), n)
    outputs = [numbers(n, 14), values.astype(np.float32), single.copy(), np.zeros(n, np.int32)]
    yield "more_functions", [n, values, *outputs]


@pytest.mark.toolchain
@pytest.mark.parametrize("size", SIZES)
def test_results_are_equal_bit_for_bit(both, size):
    for name, args, *result in cases(size):
        before, after = run(both, name, args, *result)
        assert before == after, name


@pytest.mark.toolchain
@pytest.mark.parametrize("reach", [-1, 0, 3])
def test_the_written_region_runs_where_subscripts_are_negative(both, reach):
    values = numbers(7, 1)
    totals = []
    for one in both:
        one.around.restype = ctypes.c_double
        middle = ctypes.c_void_p(values.ctypes.data + 3 * values.itemsize)
        totals.append(one.around(middle, reach))
    assert totals[0] == totals[1]
    assert "else {" in optimized(PROGRAMS)


@pytest.mark.toolchain
def test_negative_sizes_run_the_written_region(both):
    x = numbers(4, 2)
    before, after = run(both, "matmul", [-3, -1, 2, x, x.copy(), x.copy()])
    assert before == after


@pytest.mark.toolchain
def test_only_the_regions_change(tmp_path):
    text = optimized(PROGRAMS)
    outside = "".join(PROGRAMS.read_text().split("#pragma scop")[0].splitlines(keepends=True)[:5])
    assert outside in text
    assert "#pragma scop" not in text
    assert text.count("polyopt_done(polyopt_") == PROGRAMS.read_text().count("#pragma scop")


@pytest.mark.toolchain
def test_other_macros_than_those_read_do_not_build(tmp_path):
    source = tmp_path / "scaled.c"
    source.write_text(
        "#ifndef N\n#define N 8\n#endif\n#ifndef REAL\n#define REAL double\n#endif\n"
        "void scaled(REAL x[N])\n{\n#pragma scop\n  for (int i = 0; i < N; i++)\n"
        "    x[i] *= 2;\n#pragma endscop\n}\n"
    )
    made = tmp_path / "made.c"
    made.write_text(optimized(source))
    for flags, builds in (([], True), (["-DN=9"], False), (["-DREAL=float"], False)):
        command = ["gcc", "-c", *flags, str(made), "-o", str(tmp_path / "made.o")]
        done = subprocess.run(command, check=False, capture_output=True, text=True)
        assert (done.returncode == 0) is builds, done.stderr


@pytest.mark.toolchain
def test_flat_arrays_have_rows():
    """No subscript is tested while the region runs: a function tests the sizes before."""
    text = optimized(PROGRAMS)
    for name in ("flat_product", "flat_images", "flat_ends"):
        made = text[text.index(f"int polyopt_{name}") :].split("\n}\n")[0]
        assert "faults" not in made
        assert "po_status" not in made or name == "flat_product"  # memory of a packed operand


@pytest.mark.toolchain
def test_two_regions_of_one_function_share_their_helpers(tmp_path):
    source = tmp_path / "rows.c"
    source.write_text(
        "void rows(int n, int m, float *a, const float *b)\n{\n#pragma scop\n"
        "  for (int i = 0; i < n; i++)\n    for (int j = 0; j < m; j++)\n"
        "      a[i * m + j] += b[j * n + i];\n#pragma endscop\n  a[0] += 1;\n#pragma scop\n"
        "  for (int i = 1; i < n; i++)\n    for (int j = 0; j < m; j++)\n"
        "      a[i * m + j] -= a[(i - 1) * m + j];\n#pragma endscop\n}\n"
    )
    (tmp_path / "after.c").write_text(optimized(source))
    both = library(source), library(tmp_path / "after.c", "-fopenmp")
    a, b = numbers(23 * 31, 1, np.float32), numbers(23 * 31, 2, np.float32)
    before, after = run(both, "rows", [23, 31, a, b])
    assert before == after


@pytest.mark.toolchain
def test_values_pass_from_one_run_of_a_region_to_the_next(tmp_path):
    source = tmp_path / "rounds.c"
    source.write_text(
        "void rounds(int n, double *x, double *out)\n{\n"
        "  double carry = 1, last = 0, again, seen = 3, *p = &seen;\n"
        "  for (int round = 0; round < 4; round++) {\n    if (round == 2)\n      again = 5;\n"
        "#pragma scop\n    for (int i = 0; i < n; i++) {\n      carry = carry * 0.5 + x[i];\n"
        "      x[i] = carry + last;\n    }\n    last = carry * 2;\n    again = last;\n"
        "    seen = carry;\n#pragma endscop\n    x[0] += *p;\n    if (round == 3)\n"
        "      last = last + again;\n    else\n      x[0] += last;\n  }\n  out[0] = last;\n}\n"
    )
    (tmp_path / "after.c").write_text(optimized(source))
    both = library(source), library(tmp_path / "after.c", "-fopenmp")
    before, after = run(both, "rounds", [9, numbers(9, 1), np.zeros(1)])
    assert before == after


COUNTED = """float k; int m;
void counted(int n, double *x, double (*given)(float n, int *x))
{
  double m = 0.5;
  for (int k = 7; k > 0; k--) {
#pragma scop
    for (int i = 0; i < n; i++)
      x[i] = x[i] * m + k / 2;
    k -= 2;
#pragma endscop
  }
  for (double k = 0.1, q = 2; ; q -= k) {
    if (q < 0)
      break;
#pragma scop
    for (int i = 0; i < n; i++)
      x[i] += k * q;
    q = q - 0.3;
#pragma endscop
  }
}
"""


@pytest.mark.toolchain
def test_headers_of_loops_around_a_region_declare_what_it_reads_and_changes(tmp_path):
    """They hide variables of their name; parameters of a function's parameters hide nothing."""
    source = tmp_path / "counted.c"
    source.write_text(COUNTED)
    (tmp_path / "after.c").write_text(optimized(source))
    both = library(source), library(tmp_path / "after.c", "-fopenmp")
    before, after = run(both, "counted", [9, numbers(9, 1), np.zeros(1)])
    assert before == after


DIAGONALS = """long diagonals(int n, double (*A)[n])
{
  long total = 0;
#pragma scop
  for (int d = 0; d < 2 * n - 1; d++)
    for (int i = (d < n ? 0 : d - n + 1); i <= (d < n ? d : n - 1); i++) {
      A[i][d - i] = A[i][d - i] * 2 + d;
      total += d * i;
    }
#pragma endscop
  return total;
}
"""


def test_limits_of_counters_need_no_header_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "before.c"
    path.write_text(DIAGONALS)
    (tmp_path / "after.c").write_text(optimized(path))
    two = library(path), library(tmp_path / "after.c", "-Wall", "-Werror", "-fopenmp")
    for n in (0, 1, 2, 7, 30):
        before, after = run(two, "diagonals", [n, numbers(n * n, n)], ctypes.c_long)
        assert before == after


FLAGS = """
#include <stdbool.h>
void flags(int n, bool *given, bool *found)
{
#pragma scop
    for (int i = 0; i < n; i++)
        if (given[i])
            found[i] = false;
#pragma endscop
}
"""


@pytest.mark.toolchain
def test_truth_values_pass_as_bytes(tmp_path: Path) -> None:
    path = tmp_path / "before.c"
    path.write_text(FLAGS)
    (tmp_path / "after.c").write_text(optimized(path))
    two = library(path), library(tmp_path / "after.c", "-Wall", "-Werror", "-fopenmp")
    for n in (0, 1, 7, 100):
        values = [numbers(n, n) > 0, numbers(n, n + 1) > 0]
        before, after = run(two, "flags", [n, *values])
        assert before == after
