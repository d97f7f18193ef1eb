"""Intrinsics as macros of gcc's builtin functions: the same machine code as by the header."""

from __future__ import annotations

import platform
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from polyopt.emit.helpers.intrinsics import intrinsics
from tests.conftest import compiler

HEADER = "#include <immintrin.h>"
SIZES = {"pd": 8, "ps": 4, "epi64": 8, "epi32": 4, "epi16": 2, "epi8": 1}


def register(element: str, bits: int) -> str:
    return f"__m{bits}" + {"pd": "d", "ps": ""}.get(element, "i")


def uses() -> Iterator[tuple[str, str, str]]:
    """Yield result, parameters and the call of every intrinsic that helpers are written with."""
    for bits, mm in ((128, "_mm"), (256, "_mm256"), (512, "_mm512")):
        whole = register("epi64", bits)
        for element, size in SIZES.items():
            r, mask = register(element, bits), f"__mmask{max(8, bits // 8 // size)}"
            yield r, f"{mask} m, void *p", f"{mm}_maskz_loadu_{element}(m, p)"
            yield "void", f"{mask} m, void *p, {r} x", f"{mm}_mask_storeu_{element}(p, m, x)"
            if size >= 4 and bits < 512:
                scalar = {"pd": "double", "ps": "float", "epi64": "long long"}.get(element, "int")
                yield r, f"void *p, {whole} m", f"{mm}_maskload_{element}((const {scalar} *)p, m)"
                given = f"void *p, {whole} m, {r} x"
                yield "void", given, f"{mm}_maskstore_{element}(({scalar} *)p, m, x)"
            if size >= 4 and bits == 512:
                yield r, "void *p", f"{mm}_loadu_{element}(p)"
                places = f"{r} a, {whole} i, {r} b"
                yield r, places, f"{mm}_permutex2var_{element}(a, i, b)"
        for element in ("pd", "ps"):
            r = register(element, bits)
            yield r, f"{r} a, {r} b, {r} c", f"{mm}_fmadd_{element}(a, b, c)"
            yield r, f"{r} a, {r} b", f"{mm}_max_{element}(a, b)"
            yield r, f"{r} a, {r} b", f"{mm}_min_{element}(a, b)"
            if bits == 512:
                yield r, f"{r} a, {whole} t, {r} b", f"{mm}_fixupimm_{element}(a, b, t, 0)"
        yield "void", f"void *p, {whole} x", f"{mm}_stream_si{bits}(({whole} *)p, x)"
        yield whole, "void *p", f"{mm}_load_si{bits}((const {whole} *)p)"
        if bits > 128:
            half, floats = f"__m{bits // 2}i", register("ps", bits)
            yield floats, f"{half} x", f"{mm}_cvtph_ps(x)"
            yield whole, f"{half} x", f"{mm}_slli_epi32({mm}_cvtepu16_epi32(x), 16)"
            yield floats, f"{whole} x", f"{mm}_castsi{bits}_ps(x)"
        if bits < 512:
            yield whole, "void *p", f"{mm}_loadu_si{bits}((const {whole} *)p)"
            yield whole, "short x", f"{mm}_set1_epi16(x)"
    for element in ("epi32", "epi64"):
        lanes = ", ".join(map(str, range(3, 3 + 64 // SIZES[element])))
        yield "__m512i", "void", f"_mm512_set_{element}({lanes})"
        yield "__m512i", "int x", f"_mm512_set1_{element}(x)"
        yield "__m512i", "__m512i a, __m512i b", f"_mm512_add_{element}(a, b)"
    yield "void", "void", "_mm_sfence()"


def functions(level: str) -> str:
    """Return a C function for each intrinsic that processors of a level have."""
    lines = []
    for number, (result, parameters, call) in enumerate(uses()):
        if level.endswith("v3") and re.search("512|maskz|mask_", call):
            continue
        back = "" if result == "void" else "return "
        lines.append(f"{result} f{number}({parameters}) {{ {back}{call}; }}")
    return "\n".join(lines)


def assembly(text: str, level: str, folder: Path) -> str:
    cc = compiler()
    assert cc is not None
    (folder / "text.c").write_text(f"{text}\n")
    command = [cc, "-std=gnu11", "-O2", f"-march={level}", "-Wall", "-Wextra", "-Werror"]
    done = subprocess.run(
        [*command, "-S", "text.c", "-o", "-"], cwd=folder, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    # numbers of labels count the header's functions
    return re.sub(r"\.L[A-Z]+\d+", ".L", done.stdout)


@pytest.mark.toolchain
@pytest.mark.skipif(platform.machine() != "x86_64", reason="x86's instructions")
@pytest.mark.parametrize("level", ["x86-64-v3", "x86-64-v4"])
def test_macros_make_the_code_of_the_header(level: str, tmp_path: Path) -> None:
    code = functions(level)
    lines = intrinsics(re.findall(r"\w+", code))
    assert HEADER in lines
    assert "#ifdef PO_BUILTINS" in lines
    is_clang = "clang" in str(compiler())
    other = HEADER if is_clang else "#error the header is read"
    own = "\n".join(other if line == HEADER else line for line in lines)
    assert assembly(f"{own}\n{code}", level, tmp_path) == assembly(
        f"{HEADER}\n{code}", level, tmp_path
    )


def test_an_intrinsic_that_is_not_in_the_list_needs_the_header() -> None:
    lines = intrinsics(["_mm256_fmadd_pd", "_mm256_hadd_pd"])
    guard = "#if defined(__FMA__) || defined(__AVX2__) || defined(__AVX512F__)"
    assert lines == [guard, HEADER, "#endif"]


def test_a_text_without_intrinsics_needs_nothing() -> None:
    assert intrinsics(["main", "__builtin_fma", "_mmap"]) == []
