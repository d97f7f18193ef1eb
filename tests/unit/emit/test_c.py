"""Emitted files: goldens, both compilers, headers for C and C++, layouts, names, memory."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from polyopt.emit import emit_c, optimize_loops
from polyopt.ir.expr import (
    Call,
    Compare,
    CompareOp,
    Const,
    Iter,
    MathFunc,
    Param,
    Symbol,
    integer,
)
from polyopt.ir.loops import (
    Assign,
    Comment,
    Declare,
    DeclareArray,
    If,
    LoopKind,
    SetLocal,
)
from polyopt.ir.scop import Array, Role
from polyopt.ir.source import Layout
from polyopt.ir.types import DType
from polyopt.machine import Machine
from tests.unit.emit.kernels import (
    F64,
    STRICT,
    arguments,
    array,
    assert_same,
    at,
    build,
    call,
    data,
    function,
    i64,
    interpret,
    least,
    loop,
    op,
    plus,
)

CLANG = shutil.which("clang") or shutil.which("clang-14")
WIDE = Machine(cores=2, vector_bytes=64, vector_registers=32)
I64 = DType.INT64
PARALLEL = LoopKind.PARALLEL


def tiled_gemm():
    target = at("C", "i", "j")
    value = op(
        "+", target, op("*", op("*", Symbol("alpha", F64), at("A", "i", "k")), at("B", "k", "j"))
    )
    update = loop("k", 0, "K", loop("j", 0, "M", Assign(target, value, "S0"), kind=LoopKind.VECTOR))
    rows = loop("i", i64("*", 32, "it"), least("N", plus(i64("*", 32, "it"), 32)), update)
    tiles = i64("//", plus("N", 31), 32)
    return function(
        "gemm",
        [
            array("C", "N", "M"),
            array("A", "N", "K", role=Role.INPUT),
            array("B", "K", "M", role=Role.INPUT),
        ],
        ["N", "M", "K"],
        loop("it", 0, tiles, rows, kind=LoopKind.PARALLEL, label="L0.tile[0]"),
        scalars=[("alpha", F64)],
        trace=["tile(L0, 32)", "parallelize(L0.tile[0])", "vectorize(L0.point[2])"],
    )


def register_gemm(reassociable=()):
    row, column = plus("i", "r"), plus("j", "c")
    target = at("C", row, column)
    value = op("+", target, op("*", at("A", row, "k"), at("B", "k", column)))
    tile = loop(
        "r",
        0,
        4,
        loop("c", 0, 16, Assign(target, value, "S0"), kind=LoopKind.VECTOR),
        kind=LoopKind.UNROLL,
    )
    depth = loop("k", 0, "K", tile)
    nest = loop("i", 0, i64("*", 4, "N"), loop("j", 0, i64("*", 16, "M"), depth, step=16), step=4)
    rows, columns = i64("*", 4, "N"), i64("*", 16, "M")
    return function(
        "gemm",
        [
            array("C", rows, columns),
            array("A", rows, "K", role=Role.INPUT),
            array("B", "K", columns, role=Role.INPUT),
        ],
        ["N", "M", "K"],
        nest,
        reassociable=reassociable,
    )


def two_temporaries():
    copy = Assign(at("t", "i"), op("*", at("x", "i"), Const(2.0, F64)))
    scale = Assign(at("u", "i"), op("+", at("t", "i"), Const(1.0, F64)))
    back = Assign(at("x", "i"), op("-", at("u", "i"), at("t", "i")))
    return function(
        "chain",
        [array("x", "N"), array("t", "N", role=Role.TEMP), array("u", "N", role=Role.TEMP)],
        ["N"],
        *(loop("i", 0, "N", part, kind=LoopKind.VECTOR) for part in (copy, scale, back)),
    )


def everything():
    """One function with every node of the loop AST."""
    s = Symbol("s", F64)
    odd = Compare(CompareOp.EQ, i64("%", "i", 2), integer(1))
    stack = DeclareArray(Array("row", F64, (integer(4),), Role.TEMP))
    return function(
        "everything",
        [array("x", "N"), array("total", dtype=F64)],
        ["N"],
        Comment("sum of the odd elements"),
        Declare("s", F64, 1, Const(0.0, F64)),
        loop(
            "i",
            0,
            "N",
            If(odd, (SetLocal("s", F64, 1, op("+", s, at("x", "i"))),), (Assign(at("x", "i"), s),)),
        ),
        stack,
        loop("i", 0, 4, Assign(at("row", "i"), op("*", s, Const(0.5, F64))), kind=LoopKind.UNROLL),
        Assign(at("total"), op("+", at("row", 1), at("row", 3))),
    )


_PEDANTIC = ("-Wall", "-Wextra", "-Werror", "-pedantic", "-c")
CASES = {
    "gemm_tiled": (tiled_gemm, {"N": 37, "M": 21, "K": 13}, {"alpha": 1.5}),
    "gemm_registers": (register_gemm, {"N": 2, "M": 3, "K": 5}, {}),
    "two_temporaries": (two_temporaries, {"N": 19}, {}),
    "everything": (everything, {"N": 11}, {}),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("passes", [False, True], ids=["plain", "passes"])
def test_golden(name, passes, golden):
    fn = CASES[name][0]()
    fn = optimize_loops(fn, WIDE, "strict") if passes else fn
    suffix = "_passes" if passes else ""
    golden(f"emit/{name}{suffix}.c", emit_c(fn).text)


def test_golden_header(golden):
    golden("emit/gemm_tiled.h", emit_c(tiled_gemm()).header)


@pytest.mark.parametrize("name", CASES)
def test_text_is_the_same_every_time(name):
    make = CASES[name][0]
    assert emit_c(make()).text == emit_c(make()).text


@pytest.mark.toolchain
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("passes", [False, True], ids=["plain", "passes"])
def test_compiled_text_does_what_the_loops_do(name, passes):
    make, params, symbols = CASES[name]
    fn = make()
    done = optimize_loops(fn, WIDE, "strict") if passes else fn
    assert_same(done, params, symbols, other=fn)


@pytest.mark.toolchain
@pytest.mark.parametrize("name", CASES)
def test_empty_sizes(name):
    make, params, symbols = CASES[name]
    fn = make()
    done = optimize_loops(fn, WIDE, "strict")
    for zero in params:
        assert_same(done, params | {zero: 0}, symbols, other=fn)


@pytest.mark.toolchain
@pytest.mark.skipif(CLANG is None, reason="no clang")
@pytest.mark.parametrize("name", CASES)
def test_clang_agrees(name):
    make, params, symbols = CASES[name]
    fn = optimize_loops(make(), WIDE, "strict")
    flags = (CLANG, *(f for f in STRICT[1:] if "openmp" not in f), "-fopenmp-simd")
    flags = (*flags, "-Wno-unknown-pragmas", "-Wno-pass-failed", "-Wno-source-uses-openmp")
    assert_same(fn, params, symbols, flags=flags, other=make())


@pytest.mark.toolchain
@pytest.mark.parametrize("name", CASES)
def test_without_wide_registers(name):
    """The portable versions of the vector helpers, under the sanitizers."""
    make, params, symbols = CASES[name]
    fn = optimize_loops(make(), WIDE, "strict")
    flags = ("gcc", "-std=c11", "-O1", "-fopenmp", "-fwrapv", "-ffp-contract=off", "-Wall")
    sanitizers = ("-fsanitize=undefined", "-fno-sanitize-recover=all")
    flags = (*flags, "-Wextra", "-Werror", "-fPIC", "-shared", *sanitizers)
    assert_same(fn, params, symbols, flags=flags, other=make())


@pytest.mark.toolchain
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_the_text_contracts_nothing_whatever_the_flags(compiler, tmp_path):
    if shutil.which(compiler) is None:
        pytest.skip(f"no {compiler}")
    (tmp_path / "gemm.c").write_text(emit_c(optimize_loops(tiled_gemm(), WIDE, "strict")).text)
    fuses = ["-ffp-contract=fast"] if compiler == "gcc" else []  # clang's means: in spite of all
    for flags, is_built in (["-mavx2", "-mfma", *fuses], True), (["-Ofast"], False):
        command = [compiler, "-O3", *flags, "-S", "-w", "gemm.c", "-o", "gemm.s"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert (done.returncode == 0) is is_built, done.stderr
        if is_built:
            assert "vfmadd" not in (tmp_path / "gemm.s").read_text()
        else:
            assert "build it without -ffast-math" in done.stderr


@pytest.mark.toolchain
@pytest.mark.parametrize("compiler", ["gcc", "g++"])
def test_header_compiles(compiler, tmp_path):
    if shutil.which(compiler) is None:
        pytest.skip(f"no {compiler}")
    header = emit_c(tiled_gemm()).header
    (tmp_path / "gemm.h").write_text(header)
    language, suffix = ("c", "c") if compiler == "gcc" else ("c++", "cc")
    text = tmp_path / f"use.{suffix}"
    text.write_text('#include "gemm.h"\n#include "gemm.h"\nint (*entry)(int64_t, int64_t, int64_t,')
    text.write_text(
        text.read_text() + " double, double *, const double *, const double *) = polyopt_gemm;\n"
    )
    done = subprocess.run(
        [compiler, "-x", language, *_PEDANTIC, str(text), "-o", str(tmp_path / "use.o")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.toolchain
@pytest.mark.parametrize("layout", [Layout.ROWS, Layout.STRIDED], ids=["rows", "strided"])
def test_strides_are_passed(layout):
    value = op("+", at("x", "i", "j"), Const(1.0, F64))
    body = loop(
        "i", 0, "N", loop("j", 0, "M", Assign(at("y", "i", "j"), value), kind=LoopKind.VECTOR)
    )
    arrays = [array("x", "N", "M", layout=layout), array("y", "N", "M")]
    fn = optimize_loops(function("f", arrays, ["N", "M"], body), WIDE, "strict")
    base = np.arange(600.0).reshape(20, 30)
    x = base[18:2:-2, 1:29] if layout is Layout.ROWS else base[18:2:-2, 25:3:-3]
    n, m = x.shape
    y = np.zeros((n, m))
    source = emit_c(fn)
    entry = build(source)
    status = entry(*arguments(source, {"x": x, "y": y}, {"N": n, "M": m}, {}))
    assert status == 0
    np.testing.assert_array_equal(y, x + 1.0)


@pytest.mark.toolchain
def test_reserved_names_are_renamed():
    names = ["double", "exp", "I", "y1", "free", "po_x", "int64_t", "f"]
    arrays = [array(n, "linux") for n in names]
    arrays = [Array(n, F64, (Param("linux"),), Role.INOUT) for n in names]
    body = [Assign(at(n, Iter("for")), op("+", at(n, Iter("for")), Const(1.0, F64))) for n in names]
    nest = loop("for", 0, Param("linux"), *body)
    fn = function("main", arrays, ["linux"], nest)
    values = {n: np.arange(3.0) for n in names}
    got = call(fn, values, {"linux": 3})
    for name in names:
        np.testing.assert_array_equal(got[name], np.arange(3.0) + 1)


@pytest.mark.toolchain
@pytest.mark.parametrize("name", ["gamma", "round", "index", "select", "random", "j0"])
def test_functions_are_not_called_as_those_of_the_library(name):
    """Headers declare them; what stands for an array may hide them."""
    value = Call(MathFunc.TGAMMA, (at(name, Iter("i")),), F64)
    nest = loop("i", 0, Param("N"), Assign(at(name, Iter("i")), value))
    fn = function(name, [Array(name, F64, (Param("N"),), Role.INOUT)], ["N"], nest)
    assert emit_c(fn).entry == f"polyopt_{name}"
    got = call(fn, {name: np.arange(1.0, 4.0)}, {"N": 3})
    np.testing.assert_allclose(got[name], [1.0, 1.0, 2.0])


@pytest.mark.toolchain
def test_no_memory_is_reported_and_nothing_written():
    huge = i64("*", Param("N"), Const(2**62, I64))
    fn = function(
        "f",
        [array("x", "N"), array("t", huge, 8, role=Role.TEMP)],
        ["N"],
        Assign(at("t", 0, 0), at("x", 0)),
        Assign(at("x", 0), op("+", at("t", 0, 0), Const(1.0, F64))),
    )
    source = emit_c(fn)
    x = np.zeros(1)
    status = build(source)(*arguments(source, {"x": x}, {"N": 1}, {}))
    assert status == 1
    assert x[0] == 0.0


@pytest.mark.toolchain
def test_comment_text_cannot_leave_the_comment():
    fn = function("f", [array("x", "N")], ["N"], trace=['*/ int evil; /* \n"\x00 ünï'])
    source = emit_c(fn)
    assert "*/ int evil" not in source.text
    build(source)


def test_interpreter_runs_what_the_passes_make():
    fn = register_gemm()
    done = optimize_loops(fn, WIDE, "strict")
    params = {"N": 1, "M": 1, "K": 3}
    arrays = data(fn, params)
    got, want = interpret(done, arrays, params), interpret(fn, arrays, params)
    np.testing.assert_array_equal(got["C"], want["C"])


def test_text_does_not_depend_on_the_hash_seed():
    script = "\n".join(
        [
            "import hashlib",
            "from polyopt.emit import emit_c, optimize_loops",
            "from tests.unit.emit.test_c import CASES, WIDE",
            "for make, _, _ in CASES.values():",
            "    text = emit_c(optimize_loops(make(), WIDE, 'strict')).text",
            "    print(hashlib.sha256(text.encode()).hexdigest())",
        ]
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, "PYTHONHASHSEED": seed},
            cwd=Path(__file__).parents[3],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(found) == 1


@pytest.mark.toolchain
def test_parallel_loops_inside_parallel_loops_do_not_fork():
    inner = loop("j", 0, "M", Assign(at("x", "i", "j"), Const(1.0, F64)), kind=LoopKind.PARALLEL)
    nest = loop("i", 0, "N", inner, kind=LoopKind.PARALLEL)
    fn = function("f", [array("x", "N", "M")], ["N", "M"], nest)
    text = emit_c(fn).text
    assert text.count("#pragma omp parallel") == 1
    assert_same(fn, {"N": 5, "M": 7})


@pytest.mark.toolchain
@pytest.mark.parametrize(
    "upper, between, together",
    [("M", False, True), ("i", False, False), ("M", True, False)],
)
def test_parallel_loops_of_a_box_are_shared_out_together(upper, between, together):
    """Not those whose bounds change from row to row, nor with something between them."""
    store = loop("k", 0, "N", Assign(at("x", "i", "j"), Const(1.0, F64)))
    inner = loop("j", 0, upper, store, kind=LoopKind.PARALLEL)
    first = Assign(at("y", "i"), Const(2.0, F64))
    body = (first, inner) if between else (inner,)
    nest = loop("i", 0, "N", *body, kind=LoopKind.PARALLEL)
    arrays = [array("x", "N", "M"), array("y", "N")]
    fn = function("f", arrays, ["N", "M"], nest)
    assert ("collapse(2)" in emit_c(fn).text) == together
    assert_same(fn, {"N": 5, "M": 7})


def test_triangular_work_is_shared_dynamically():
    def nest(upper):
        inner = loop("j", 0, upper, loop("k", 0, "N", Assign(at("x", "i", "j"), Const(1.0, F64))))
        return function("f", [array("x", "N", "N")], ["N"], loop("i", 0, "N", inner, kind=PARALLEL))

    assert "schedule(dynamic)" in emit_c(nest("i")).text
    assert "schedule(static)" in emit_c(nest("N")).text
    assert "schedule(static)" in emit_c(nest(plus("N", i64("%", "i", 2)))).text


@pytest.mark.toolchain
@pytest.mark.parametrize(
    ("lower", "upper", "falls"),
    [
        (0, "i", True),
        (0, least("N", plus("i", 3)), True),
        (0, plus(i64("//", "i", 4), 1), True),
        ("i", "N", False),  # the first one is the longest
        (0, plus("N", i64("-", 0, "i")), False),
    ],
)
def test_the_longest_iterations_are_begun_first(lower, upper, falls):
    """Shared out one by one, a long one at the end would leave the other threads idle."""
    one = Const(1.0, F64)
    inner = loop("j", lower, upper, Assign(at("x", "i", "j"), op("+", at("x", "i", "j"), one)))
    outer = loop("i", 0, "N", loop("k", 0, 2, inner), kind=PARALLEL)
    fn = function("f", [array("x", "N", plus("N", 3))], ["N"], outer)
    text = emit_c(fn).text
    assert ("for (int64_t i = N - 1; i >= 0; i--)" in text) == falls
    for size in (0, 1, 9, 40):
        assert_same(fn, {"N": size})
