"""Partial vectors: every range of lanes is read and written, and nothing beside it is touched."""

from __future__ import annotations

import ctypes
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

import polyopt as po
from polyopt.emit import emit_c
from polyopt.emit.banner import BUILT, Edition
from polyopt.emit.helpers import definition
from polyopt.emit.helpers.helper import Helper, HelperKind
from polyopt.emit.helpers.intrinsics import intrinsics
from polyopt.ir.loops import Assign, LoopFunction, LoopKind
from polyopt.ir.types import DType
from polyopt.runtime.toolchain import LEVELS, listed_features
from tests.conftest import compiler
from tests.unit.emit.kernels import array, assert_same, at, ex, function, least, loop, op, plus

# ruff: noqa: F821, UP037 - sizes are named by strings

VECTORS = tuple(
    (dtype, lanes)
    for dtype in (DType.FLOAT64, DType.FLOAT32, DType.INT64, DType.INT32, DType.INT16)
    for lanes in (2, 4, 8, 16)
    if 128 <= dtype.size * lanes * 8 <= 512
)
CHECK = """
#include <string.h>
#include <sys/mman.h>

static int check_{name}(char *end)
{{
    enum {{ LANES = {lanes} }};
    int wrong = 0;
    for (int64_t from = 0; from <= LANES; from++)
        for (int64_t to = 0; to <= LANES; to++) {{
            /* the lanes up to `to` end where memory does; what comes before them is kept */
            {ctype} *p = ({ctype} *)end - (to > from ? to : from);
            for (int64_t lane = from; lane < to; lane++)
                p[lane] = ({ctype})(lane + 1);
            if (from > 0)
                p[from - 1] = 77;
            const bool whole = from == 0 && to == LANES;
            {vector} read = {load}(p, from, to);
            {vector} same = {load_lanes}(p, whole, from, to);
            for (int64_t lane = 0; lane < LANES; lane++)
                wrong += read[lane] != same[lane];
            for (int64_t lane = 0; lane < LANES; lane++)
                wrong += read[lane] != (from <= lane && lane < to ? ({ctype})(lane + 1) : 0);
            {vector} value;
            for (int64_t lane = 0; lane < LANES; lane++)
                value[lane] = ({ctype})(lane + 33);
            {store}(p, from, to, value);
            for (int64_t lane = from; lane < to; lane++)
                wrong += p[lane] != ({ctype})(lane + 33);
            if (from > 0)
                wrong += p[from - 1] != 77;
            {store_lanes}(p, whole, from, to, value + value);
            for (int64_t lane = from; lane < to; lane++)
                wrong += p[lane] != ({ctype})(2 * (lane + 33));
            if (from > 0)
                wrong += p[from - 1] != 77;
        }}
    return wrong;
}}
"""
MAIN = """
int check(void)
{
    size_t size = 1 << 16;
    char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED || mprotect(memory + size / 2, size / 2, PROT_NONE) != 0)
        return -1;
    int wrong = 0;
    CALLS
    munmap(memory, size);
    return wrong;
}
"""


def program() -> str:
    """Return C text that checks the partial loads and stores of all vectors."""
    lines, checks, calls = [], [], []
    for dtype, lanes in VECTORS:
        vector = Helper(HelperKind.VECTOR, dtype, lanes)
        helpers = {
            "vector": vector,
            "load": Helper(HelperKind.LOAD_PART, dtype, lanes),
            "store": Helper(HelperKind.STORE_PART, dtype, lanes),
            "load_lanes": Helper(HelperKind.LOAD_LANES, dtype, lanes),
            "store_lanes": Helper(HelperKind.STORE_LANES, dtype, lanes),
        }
        for helper in helpers.values():
            lines += definition(helper)
        names = {name: helper.name for name, helper in helpers.items()}
        checks.append(CHECK.format(name=vector.name, lanes=lanes, ctype=dtype.ctype, **names))
        calls.append(f"wrong += check_{vector.name}(memory + size / 2);")
    text = "\n".join([*lines, *checks, MAIN.replace("CALLS", "\n    ".join(calls))])
    header = "#define _GNU_SOURCE\n#include <stdint.h>\n#include <stddef.h>\n#include <stdbool.h>\n"
    return header + "\n".join(intrinsics(re.findall(r"\w+", text))) + "\n" + text


@pytest.mark.toolchain
@pytest.mark.parametrize("level", LEVELS)
def test_partial_vectors_touch_their_lanes_alone(level: str, tmp_path: Path) -> None:
    missing = LEVELS[level].features.difference(listed_features())
    if missing:
        pytest.skip(f"the processor lacks {min(missing)}")
    cc = compiler()
    assert cc is not None
    (tmp_path / "check.c").write_text(program())
    library = tmp_path / "check.so"
    flags = ["-std=c11", "-O2", f"-march={level}", "-Wno-psabi", "-shared", "-fPIC"]
    subprocess.run([cc, *flags, "check.c", "-o", str(library)], cwd=tmp_path, check=True)
    assert ctypes.CDLL(str(library)).check() == 0


@po.kernel(schedule="vectorize(L0[0])")
def doubled(D: po.f64["M,N"], A: po.f64["M,N"]):
    for i in range(D.shape[1]):
        for j in range(D.shape[0]):
            D[j, i] = A[j, i] * 2.0


@pytest.mark.toolchain
@pytest.mark.parametrize("shape", [(5, 300), (3, 7), (0, 9)])
def test_loops_inside_of_vectors(shape):
    """Alignment, streams and lanes are those of the vectors around a loop."""
    A, D = np.random.default_rng(0).random(shape), np.zeros(shape)
    doubled(D, A)
    assert np.array_equal(D, 2 * A)


def tiled() -> LoopFunction:
    """B = A + A in vectors of four, a tile of a vector each; the last one may be shorter."""
    first, end = (
        op("*", ex(4), ex("t"), DType.INT64),
        least(ex("N"), plus(op("*", ex(4), ex("t"), DType.INT64), 4)),
    )
    add = Assign(at("B", "j"), op("+", at("A", "j"), at("A", "j")))
    lanes = loop("j", first, end, add, kind=LoopKind.VECTOR).annotated(lanes=4)
    count = op("//", plus("N", 3), ex(4), DType.INT64)
    return function("f", [array("A", "N"), array("B", "N")], ["N"], loop("t", 0, count, lanes))


@pytest.mark.parametrize("edition", [BUILT, Edition(True)])
def test_a_single_vector_is_no_loop(edition):
    text = emit_c(tiled(), edition).text
    assert text.count("for (int64_t t = ") == 1
    assert "for (int64_t j" not in text
    assert "j_to = po_min(N - j, 4);" in text.replace("j_to_", "j_to").replace("N_", "N")


@pytest.mark.toolchain
@pytest.mark.parametrize("size", range(10))
def test_single_vectors_are_those_of_the_loop(size):
    assert_same(tiled(), {"N": size})
