"""Elementary functions: errors in units of the last place, special values, rare arguments."""

from __future__ import annotations

import ctypes
import math
import shutil
import subprocess

import numpy as np
import pytest

import polyopt as po
from polyopt.emit.functions import table
from polyopt.ir.types import DType
from tests.texts import bare

FLAGS = (
    *("-std=gnu11", "-O2", "-ftree-vectorize", "-fno-math-errno", "-fno-trapping-math", "-w"),
    *("-march=native", "-fopenmp-simd", "-fPIC", "-shared"),
)
BUILDS = [("gcc", "off"), ("gcc", "fast"), ("clang", "fast")]
DTYPES = {np.float32: DType.FLOAT32, np.float64: DType.FLOAT64}
LIMITS = {  # for doubles; most floats are computed in double
    "exp": 1, "exp2": 1, "expm1": 2, "sinh": 2.5, "cosh": 1.5, "tanh": 2.5, "log": 1, "log2": 1.5,
    "log10": 1.5, "log1p": 1, "asin": 2, "acos": 2, "atan": 2, "atan2": 2, "cbrt": 1, "hypot": 1,
    "erf": 1.5, "erfc": 4, "sin": 2.5, "cos": 2.5, "tan": 2.5, "pow": 1,
}  # fmt: skip
SINGLE_LIMIT = {
    "tan": 0.8,  # the C library's own, for large arguments
    "sin": 2, "cos": 2, "asin": 2, "acos": 2, "atan": 2, "atan2": 2,  # in float, as what follows
    "log": 1, "log1p": 1, "log2": 1.5, "log10": 1.5, "erf": 1.5,
    "exp": 1, "exp2": 1, "expm1": 1.7, "cosh": 1.6, "sinh": 2.5, "tanh": 2.5,
}  # fmt: skip
PAIRS = ("atan2", "hypot", "pow")

SPECIAL = [
    np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 0.5, -0.5, 3.0, -3.0, 88.72283,
    88.7229, -87.4, -103.9, 709.78, 710.47, -745.1, -745.2, 1024.0, 1e30, -1e30, 1e-30, -1e-30,
    1e-40, -1e-40, 1e-320, 1e300, -1e300, 1e-300, 1e-4, -1e-4, 0.346, -0.347, 7.5, 26.5, 1e5,
]  # fmt: skip


def text() -> str:
    """Return C text that applies each function, and the C library's in long double, to arrays."""
    lines = ["#include <math.h>", "#include <stdint.h>", "#include <stdbool.h>"]
    for name in LIMITS:
        second = ", b[i]" if name in PAIRS else ""
        for dtype in DTYPES.values():
            t, mine = dtype.ctype, f"po_{name}_{dtype.name}"
            lines += [
                *table.definition(name, dtype, mine),
                f"void {name}_{dtype.name}(long n, const {t} *a, const {t} *b, {t} *restrict r)",
                "{",
                "#pragma omp simd",
                f"    for (long i = 0; i < n; i++) r[i] = {mine}(a[i]{second});",
                "}",
                f"void want_{name}_{dtype.name}",
                f"    (long n, const {t} *a, const {t} *b, long double *restrict r)",
                "{",
                f"    for (long i = 0; i < n; i++) r[i] = {name}l(a[i]{second});",
                "}",
            ]
    return "\n".join(lines) + "\n"


@pytest.fixture(scope="module", params=BUILDS, ids=" ".join)
def library(request, tmp_path_factory):
    compiler, contract = request.param
    found = shutil.which(compiler) or shutil.which(f"{compiler}-19")
    if found is None or np.finfo(np.longdouble).nmant < 63:
        pytest.skip("needs this compiler and long doubles that are longer")
    folder = tmp_path_factory.mktemp("functions")
    (folder / "all.c").write_text(text())
    command = [found, *FLAGS, f"-ffp-contract={contract}", "all.c", "-o", "all.so", "-lm"]
    subprocess.run(command, cwd=folder, check=True)
    return ctypes.CDLL(str(folder / "all.so"))


def run(library, name, a, b, *, exact=False):
    a, b = np.ascontiguousarray(a), np.ascontiguousarray(b)
    result = np.empty(a.shape, np.longdouble if exact else a.dtype)
    function = getattr(library, f"{'want_' if exact else ''}{name}_{DTYPES[a.dtype.type].name}")
    places = (ctypes.c_void_p(array.ctypes.data) for array in (a, b, result))
    function(ctypes.c_long(a.size), *places)
    return result


def error(got, want):
    """Return the largest error in units of the last place of normal results."""
    with np.errstate(all="ignore"):
        rounded = want.astype(got.dtype)
        normal = np.isfinite(rounded) & (np.abs(rounded) >= np.finfo(got.dtype).tiny)
        unit = np.spacing(np.abs(rounded[normal])).astype(np.longdouble)
        return float((np.abs(got[normal] - want[normal]) / unit).max())


def arguments(name, dtype):
    """Return points that are dense where results are finite, near zero and far out."""
    rng = np.random.default_rng(len(name))
    size = np.finfo(dtype)
    top = float(np.log(size.max))
    n = 4001  # ends are no multiple of lanes
    spread = np.exp(rng.uniform(np.log(size.tiny) + 1, top - 1, n))
    if name.startswith("log") and name != "log1p":
        x = np.concatenate([spread, rng.uniform(0.5, 2, n), 1 + rng.uniform(-1e-3, 1e-3, n)])
    elif name in ("sin", "cos", "tan"):
        steps = np.round(rng.uniform(-1e5, 1e5, n)) * (np.pi / 2)
        x = np.concatenate([rng.uniform(-10, 10, n), steps, rng.uniform(-1e8, 1e8, n), spread])
    elif name in ("asin", "acos"):
        x = np.concatenate([rng.uniform(-1, 1, n), rng.uniform(-1e-3, 1e-3, n)])
    elif name == "pow":
        x = np.concatenate([spread, 1 + rng.uniform(-1e-3, 1e-3, n), rng.uniform(0, 10, n)])
    else:
        ends = {"exp2": top * 1.4, "erfc": 26.0, "erf": 6.0, "tanh": 20.0, "log1p": 2.0}
        end = ends.get(name, top)
        low = -0.999 if name == "log1p" else -end
        small = rng.choice([-1, 1], n) * 10.0 ** rng.uniform(-15, -0.01, n)
        x = np.concatenate([rng.uniform(low, end, n), rng.uniform(-0.9, 0.9, n), small])
        if name in ("cbrt", "atan", "hypot", "atan2"):
            x = np.concatenate([x, spread / 4, -spread / 4])
    y = x[::-1]
    if name == "pow":
        y = np.concatenate([rng.uniform(-1, 1, n), rng.uniform(-1, 1, n) * 7e2 * top, x[2 * n :]])
        y[1 : 2 * n : 3] = 3.0
    return x.astype(dtype), y.astype(dtype)


@pytest.mark.toolchain
def test_compilers_have_nothing_to_say_of_their_text():
    warnings = ("-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Wdouble-promotion")
    command = ["gcc", "-std=gnu11", "-fopenmp-simd", *warnings, "-fsyntax-only", "-x", "c", "-"]
    done = subprocess.run(command, input=text(), capture_output=True, text=True, check=False)
    lines = done.stderr.splitlines()
    said = [line for line in lines if "warning" in line and "unused parameter" not in line]
    assert said == []


@pytest.mark.matrix
@pytest.mark.toolchain
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", LIMITS)
def test_errors(library, name, dtype):
    x, y = arguments(name, dtype)
    limit = SINGLE_LIMIT.get(name, 0.51) if dtype is np.float32 else LIMITS[name]
    assert error(run(library, name, x, y), run(library, name, x, y, exact=True)) < limit


@pytest.mark.matrix
@pytest.mark.toolchain
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", LIMITS)
def test_special_values(library, name, dtype):
    with np.errstate(all="ignore"):
        x = np.array(SPECIAL).astype(dtype)
        y = x
        if name in PAIRS:
            x, y = (a.ravel() for a in np.meshgrid(x, x))
        check_values(library, name, x, y)


def all_over_the_range(dtype):
    """Return numbers of every exponent: powers of two, where mantissas are split, neighbours."""
    size = np.finfo(dtype)
    below = int(np.log2(size.smallest_subnormal))
    unit = np.ldexp(dtype(1), np.arange(below, size.maxexp))
    with np.errstate(all="ignore"):
        x = np.concatenate([unit * dtype(m) for m in (1, 1.25, 1.5, np.sqrt(2), np.sqrt(3))])
        x = np.concatenate([x, np.nextafter(x, dtype(0)), np.nextafter(x, dtype(np.inf))])
    x = np.concatenate([x, [dtype(0), dtype(np.inf), size.max, size.tiny]])
    return np.unique(np.concatenate([x, -x, [dtype(np.nan)]]).view(f"u{size.dtype.itemsize}"))


@pytest.mark.toolchain
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", LIMITS)
def test_values_all_over_the_range(library, name, dtype):
    x = all_over_the_range(dtype).view(dtype)
    rng = np.random.default_rng(5)
    y = rng.permutation(x)
    if name in PAIRS:
        x, y = np.tile(x, 4), np.concatenate([y, rng.permutation(x), x, -x])
    check_values(library, name, x, y)


def check_values(library, name, x, y):
    dtype = x.dtype.type
    with np.errstate(all="ignore"):
        got = run(library, name, x, y)
        want = run(library, name, x, y, exact=True).astype(dtype)
    tiny = np.finfo(dtype).smallest_subnormal
    np.testing.assert_allclose(got, want, rtol=4 * np.finfo(dtype).eps, atol=tiny)
    told = ~np.isnan(want)
    np.testing.assert_array_equal(np.signbit(got)[told], np.signbit(want)[told])


@pytest.mark.toolchain
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", LIMITS)
def test_an_element_does_not_depend_on_its_place(library, name, dtype):
    x, y = arguments(name, dtype)
    whole = run(library, name, x, y)
    parts = [run(library, name, x[i : i + 1], y[i : i + 1])[0] for i in range(len(x) - 60, len(x))]
    np.testing.assert_array_equal(whole[-60:], parts)


@po.kernel(threads=1)
def cubes(x):
    return x**3


@pytest.mark.toolchain
@pytest.mark.parametrize("dtype", DTYPES)
def test_cubes_are_rounded_once(dtype):
    rng = np.random.default_rng(2)
    x = np.concatenate([rng.standard_normal(20_000), rng.uniform(-1e12, 1e12, 20_000)])
    x = x.astype(dtype)
    assert error(cubes(x), x.astype(np.longdouble) ** 3) < 0.501
    with np.errstate(all="ignore"):
        special = np.array([*SPECIAL, 1e200, -1e110, 1e-110, 5e102]).astype(dtype)
        np.testing.assert_allclose(cubes(special), np.power(special, 3), atol=5e-324)


def powers(x):
    return x**4, x**5, x**6, x**-2, x**-3, x**3, x**1.5, x**2.5, x**-0.5, x**-1.5


EXPONENTS = (4, 5, 6, -2, -3, 3, 1.5, 2.5, -0.5, -1.5)


def check_powers(fp, dtype, limits):
    """Compare powers of numbers whose powers are in range, small and large, and of special ones."""
    kernel = po.kernel(powers, fp=fp, threads=1)
    top = np.log(np.finfo(dtype).max)
    rng = np.random.default_rng(3)
    for position, (exponent, limit) in enumerate(zip(EXPONENTS, limits, strict=True)):
        end = top * 0.99 / max(abs(exponent), 1)
        spread = np.exp(rng.uniform(-end, end, 20_000))
        x = np.concatenate([rng.uniform(0.5, 2, 20_000), spread]).astype(dtype)
        with np.errstate(all="ignore"):
            want = np.power(x.astype(np.longdouble), np.longdouble(exponent))
            assert error(kernel(x)[position], want) < limit, exponent
            ends = [1e-52, -3.3e-53, 1e-62, -1e-75, 1e160, -2e105, 3.1e50, 1e-310, 1e308, -7e-324]
            special = np.array([*SPECIAL, *ends]).astype(dtype)
            got, want = kernel(special)[position], np.power(special.astype(np.float64), exponent)
            want = want.astype(dtype)
        smallest = np.finfo(dtype).smallest_subnormal
        np.testing.assert_allclose(got, want, rtol=4 * np.finfo(dtype).eps, atol=smallest)
        told = ~np.isnan(want)
        np.testing.assert_array_equal(np.signbit(got)[told], np.signbit(want)[told])


@pytest.mark.toolchain
@pytest.mark.parametrize("dtype", DTYPES)
def test_powers_to_whole_constants_are_rounded_once(dtype):
    limits = (0.502, 0.502, 0.502, 0.502, 0.502, 1.3, 1, 1, 1, 1)  # small cubes are rounded twice
    check_powers("strict", dtype, limits)


@pytest.mark.toolchain
@pytest.mark.parametrize("dtype", DTYPES)
def test_powers_that_may_round_more_are_products(dtype):
    check_powers("reassociate", dtype, (2.5, 3.5, 4, 2.5, 4, 1.5, 1.5, 2.5, 2, 3))
    source = po.kernel(powers, fp="reassociate", threads=1).compile(np.ones(3, dtype)).source
    usual = source.rpartition("omp simd")[2]
    assert usual.count("po_products_f") == 10
    assert "po_power_" not in source


@po.kernel(threads=1)
def outside_and_inside(rate, x):
    return np.exp(x), math.exp(rate)


@pytest.mark.toolchain
def test_only_loops_have_functions_of_their_own():
    compiled = outside_and_inside.compile(po.f64, po.f64["N"])
    body = bare(compiled.source).partition("int polyopt_outside_and_inside(")[2]
    assert body.count(" exp(rate)") == 1
    assert "exp(x" not in body.replace("po_exp_f64(x[i])", "")
