"""C's types of literals, conversions and divisions, where Python's integers have others."""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np
import pytest

from polyopt.errors import FrontendError
from tests.unit.cregion.test_programs import library, optimized

PROGRAMS = Path(__file__).parent / "conversions.c"
SIZES = [0, 1, 37]


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> list[ctypes.CDLL]:
    folder = tmp_path_factory.mktemp("conversions")
    (folder / "before.c").write_text(PROGRAMS.read_text())
    (folder / "after.c").write_text(optimized(PROGRAMS))
    plain = library(folder / "before.c", "-O0", "-fwrapv")
    return [plain, library(folder / "after.c", "-O3", "-march=native", "-fopenmp", "-Wall")]


def integers(kind: type, seed: int, size: int = 40) -> np.ndarray:
    """Small and large ones, the least and the greatest among them."""
    limits = np.iinfo(kind)
    rng = np.random.default_rng(seed)
    found = rng.integers(limits.min, limits.max, size, dtype=kind, endpoint=True)
    found[::3] = rng.integers(0, 12, size)[::3]
    found[:4] = limits.min, limits.max, limits.min, limits.max
    return found


def compare(both: list[ctypes.CDLL], name: str, *args: object) -> None:
    made = []
    for one in both:
        own = [a.copy() if isinstance(a, np.ndarray) else a for a in args]
        getattr(one, name)(
            *(a.ctypes.data_as(ctypes.c_void_p) if isinstance(a, np.ndarray) else a for a in own)
        )
        made.append([a.tolist() for a in own if isinstance(a, np.ndarray)])
    assert made[0] == made[1]


@pytest.mark.toolchain
@pytest.mark.parametrize("n", SIZES)
def test_literals_have_the_type_of_value_and_suffix(both, n):
    chars = np.resize(np.frombuffer(b"\n\\aA\0", np.int8), 40)
    wide, unsigned = np.zeros(40, np.int64), np.zeros(40, np.uint32)
    compare(both, "literals", n, integers(np.int32, 1), chars, wide, unsigned, np.zeros(40))


@pytest.mark.toolchain
@pytest.mark.parametrize("m", [-1, -40, 0, 5])
@pytest.mark.parametrize("factor", [1, 100_000, -70_000])
def test_unsigned_numbers_wrap_and_turn_signed_ones_unsigned(both, m, factor):
    for n in SIZES:
        x, b = integers(np.int32, 2), np.zeros(40, np.uint8)
        compare(both, "signs", n, m, ctypes.c_long(factor), x, np.zeros(40), b)


@pytest.mark.toolchain
def test_quotients_of_the_least_integers_are_rounded_towards_zero(both):
    x, z, y = integers(np.int32, 3), integers(np.int64, 4), integers(np.int32, 5)
    y[(y == 0) | (y == -1)] = 7
    compare(both, "quotients", 40, x, y, z, np.zeros(40, np.int32), np.zeros(40, np.int64))


@pytest.mark.toolchain
@pytest.mark.parametrize("a", [5, 2**32 + 7, 3 - 2**33])
def test_shifts_and_narrower_variables_keep_the_bits_that_c_keeps(both, a):
    chars = integers(np.uint8, 6)
    compare(both, "shifts", 40, ctypes.c_long(a), chars, np.zeros(40, np.uint64))


@pytest.mark.toolchain
@pytest.mark.parametrize(
    ("loop", "message"),
    [
        ("for (int i = -1; i < n; i++) x[i + 1] = i;", "compares `i`, which is signed, with"),
        ("for (unsigned i = n; i > m; i--) x[i] = i;", "compares `i`, which is unsigned, with"),
        ("for (unsigned i = n; i >= 0; i--) x[i] = i;", "never ends: `i` is unsigned"),
        ("for (int i = 0; i < m; i++) x[i] = 0.1L;", "is a `long double`"),
        ("for (int i = 0; i < m; i++) x[i] = 'ab';", "is not one character"),
        ("for (int i = 0; i < m; i++) { double *p = &x[i]; *p = 1; }", "`p` is a pointer"),
        ("for (int i = 0; i < MOST; i++) x[i] = 0;", "`MOST` is a constant of an enum"),
    ],
)
def test_comparisons_and_literals_without_a_meaning_in_python_are_refused(tmp_path, loop, message):
    path = tmp_path / "refused.c"
    head = "enum { MOST = 7 };\nvoid f(unsigned n, int m, double *x)\n{\n#pragma scop\n"
    path.write_text(f"{head}{loop}\n#pragma endscop\n}}\n")
    with pytest.raises(FrontendError, match=message):
        optimized(path)


@pytest.mark.toolchain
def test_regions_with_integers_of_64_bits_are_barriers_to_the_compiler(tmp_path):
    text = optimized(PROGRAMS)
    assert text.count('__asm__ volatile("" ::: "memory");') == 6
    assert "(int64_t *)&sum" in text
