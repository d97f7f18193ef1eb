"""Names of the emitted text: no keyword, macro or header has them."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import polyopt as po
from polyopt.emit.c import emit_c
from polyopt.emit.frame import LONGEST, c_identifier, entry_identifier
from polyopt.ir.expr import Const, Iter, Param
from polyopt.ir.loops import Assign
from polyopt.ir.scop import Array, Role
from tests.unit.emit.kernels import F64, at, loop, op
from tests.unit.emit.kernels import function as function_of

HEADERS = (
    "stdint.h", "stdbool.h", "stdlib.h", "math.h", "complex.h", "string.h", "stdio.h", "errno.h",
    "assert.h", "limits.h", "float.h", "omp.h", "immintrin.h",
)  # fmt: skip
WORDS = """
auto break case char const continue default do double else enum extern float for goto if inline
int long register restrict return short signed sizeof static struct switch typedef union unsigned
void volatile while asm typeof bool true false alignas alignof noreturn static_assert thread_local
class delete friend mutable namespace new operator private protected public template this throw
try catch using virtual and or not xor bitand bitor compl nullptr constexpr decltype explicit
export typename typeid wchar_t and_eq or_eq xor_eq not_eq co_await concept requires main free
malloc memcpy exp sqrt index round y1 j0 gamma I complex imaginary NULL EOF stdin errno assert
linux unix i386 __LINE__ __FILE__ _Bool _Complex _Pragma __func__ UINT64_MAX INTPTR_MAX M_PI
size_t int64_t u_int u_char po_x po_min threadIdx blockIdx blockDim gridDim warpSize dim3 half
half2 float4 double2 __syncthreads atomicAdd __shared__ __global__ __restrict__ uchar kernel
global local constant generic read_only pipe uint ulong event_t get_global_id barrier mad
CLK_LOCAL_MEM_FENCE
""".split()  # noqa: SIM905 - a table of words


def macros() -> list[str]:
    """Return the names of the macros of the compiler and of the headers."""
    text = "".join(f"#include <{name}>\n" for name in HEADERS)
    command = ["gcc", "-std=gnu11", "-fopenmp", "-march=native", "-dM", "-E", "-"]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
    return re.findall(r"^#define (\w+)", done.stdout, re.M)


def declared() -> list[str]:
    """Return every identifier that the headers have, whatever it stands for."""
    text = "".join(f"#include <{name}>\n" for name in HEADERS)
    command = ["gcc", "-std=gnu11", "-fopenmp", "-march=native", "-E", "-P", "-"]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
    return sorted(set(re.findall(r"[A-Za-z_]\w*", done.stdout)))


@pytest.mark.toolchain
def test_no_header_has_a_name_of_ours():
    theirs = {*macros(), *declared(), *WORDS}
    ours = {c_identifier(name) for name in theirs} | {entry_identifier(name) for name in theirs}
    assert ours & theirs == {name for name in ours & theirs if len(name) == 1}
    assert {name for name in theirs if len(name) == 1} & {c_identifier(n) for n in theirs} <= set(
        "abcdefghijklmnopqrstuvwxyzABCDEFGHJKLMNOPQRSTUVWXYZ"
    )
    assert not {name for name in macros() if len(name) == 1} - {"I"}
    assert not any(re.search(r"__|^_|[^A-Za-z0-9_]", name) for name in ours)


LONG = "x" * 10_000
NAMES = [
    *(LONG, f"{LONG}y", "größe", "переменная", "変数", "_", "__", "_x", "x_", "x__", "x"),
    *("x" * 31 + "a", "x" * 31 + "b", "x" * 63 + "a", "x" * 63 + "b", "a__b", "a_b", "v_x"),
]


def test_names_are_different_short_and_made_the_same_way_again():
    taken: set[str] = set()
    for name in NAMES:
        found = c_identifier(name, taken)
        assert found not in taken
        assert re.fullmatch(r"[A-HJ-Za-z]|[A-Za-z]\w*_", found)
        assert len(found) <= LONGEST + 8
        assert c_identifier(name) == c_identifier(name)
        taken.add(found)
    assert len({entry_identifier(name) for name in NAMES}) >= len(NAMES) - 6


@pytest.mark.toolchain
def test_arrays_iterators_and_functions_of_any_name(tmp_path):
    """One text with all names: each is an array and an iterator."""
    found = macros()
    names = [name for name in found if not name.startswith("_")]
    names = sorted({*names, *found[::40], *WORDS, *NAMES})
    path = tmp_path / "text.c"
    for start in range(0, len(names), 150):
        part = names[start : start + 150]
        arrays = [Array(name, F64, (Param("extent"),), Role.INOUT) for name in part]
        body = []
        for name in part:
            place = at(name, Iter(f"{name}_"))
            store = Assign(place, op("+", place, Const(1.0, F64)))
            body.append(loop(f"{name}_", 0, Param("extent"), store))
        path.write_text(emit_c(function_of(part[-1], arrays, ["extent"], *body)).text)
        command = ["gcc", "-std=gnu11", "-fopenmp", "-Wall", "-Werror", "-fsyntax-only", str(path)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr[:2000]


PROGRAM = """
def {name}({name}0, half, errno, complex):
    unix = 0.0
    for I in range({name}0.shape[0]):
        NULL = {name}0[I] * half
        unix += NULL
        errno[I] = unix + complex[I]
"""


@pytest.mark.toolchain
@pytest.mark.parametrize(
    "name",
    ["UINT64_MAX", "I", "exp", "main", "malloc", "stdin", "linux", "min", "process", "po_min"],
)
def test_kernels_run(tmp_path, name):
    path = tmp_path / "program.py"
    path.write_text(PROGRAM.format(name=name))
    scope: dict[str, object] = {}
    exec(compile(path.read_text(), str(path), "exec"), scope)
    function = scope[name]
    a, ours, theirs = np.arange(5.0), np.zeros(5), np.zeros(5)
    po.kernel(function, threads=1)(a, 0.5, ours, a)
    function(a, 0.5, theirs, a)
    assert np.array_equal(ours, theirs)


@pytest.mark.toolchain
@pytest.mark.parametrize("compiler", ["gcc", "g++"])
@pytest.mark.parametrize("name", ["exp", "class", "NULL", "größe"])
def test_headers_can_be_included_with_all_others(tmp_path: Path, compiler, name):
    if shutil.which(compiler) is None:
        pytest.skip(f"no {compiler}")
    body = loop("i", 0, Param("extent"), Assign(at("errno", "i"), Const(1.0, F64)))
    arrays = [Array("errno", F64, (Param("extent"),), Role.INOUT)]
    fn = function_of(name, arrays, ["extent"], body)
    source = emit_c(fn)
    (tmp_path / "own.h").write_text(source.header)
    others = "".join(f"#include <{header}>\n" for header in HEADERS if header != "complex.h")
    suffix = "c" if compiler == "gcc" else "cc"
    text = f'{others}#include "own.h"\nint (*entry)(int64_t, double *) = {source.entry};\n'
    (tmp_path / f"use.{suffix}").write_text(text)
    command = [
        compiler,
        "-fopenmp",
        "-c",
        str(tmp_path / f"use.{suffix}"),
        "-o",
        str(tmp_path / "o"),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
