"""The edition for readers: what it computes, what its comments and names may do, its length."""

from __future__ import annotations

import copy
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

import polyopt as po
from polyopt import pipeline
from polyopt.building import compile_stages
from polyopt.emit import emit_c, rerolling
from polyopt.emit.banner import Edition, plain
from polyopt.emit.edition import source_comment
from polyopt.emit.frame import local_names, readable_identifier
from polyopt.emit.runs import TEXT, filled
from polyopt.emit.sharing import shared_nests
from polyopt.emit.text import emit_for_readers
from polyopt.emit.tidying import with_short_names, without_braces
from polyopt.errors import Loc
from polyopt.ir.expr import Iter, Load, Symbol, VectorLoad, integer, rewrite
from polyopt.ir.linear import normalize
from polyopt.ir.loops import Assign, Declare, LoopKind, SetLocal
from polyopt.ir.source import Source
from polyopt.machine import Machine
from polyopt.targets import Options
from tests.unit.emit.kernels import F64, array, at, ex, function, least, loop, op, plus
from workloads import registry

# ruff: noqa: F821, UP037 - sizes are named by strings

WIDE = Machine(cores=4, vector_bytes=64, vector_registers=32, fma=True)
NARROW = Machine(cores=4, vector_bytes=32, vector_registers=16, fma=True)
READABLE = Edition(True)


def readable(name: str, machine: Machine = WIDE, form: str | None = None) -> str:
    """Return the text for readers of a workload."""
    workload = registry.get(name)
    function = workload.forms[form or next(iter(workload.forms))]
    types = po.frontend.infer_types(function)
    stages = compile_stages(function, types, Options(), machine)
    return emit_for_readers(stages.loops, "c", stages.written or stages.program, "9.9").text


def test_long_schedules_stay_in_their_file():
    short, long = (readable(name).partition("*/")[0] for name in ("jacobi-2d", "gemm"))
    assert "skew(L0.tile[0], L0.tile[1], 1);" in short
    assert re.search(r"Schedule: \d+ steps, each proven, in gemm\.schedule\.txt of ", long)
    assert long.count("\n") < 10


@pytest.mark.parametrize(
    ("name", "wide", "narrow"),
    [("jacobi-2d", 175, 88), ("softmax", 139, 139), ("gemm", 261, 237), ("lu", 257, 255)],
)
def test_texts_are_short(name, wide, narrow):
    for machine, most in ((WIDE, wide), (NARROW, narrow)):
        text = readable(name, machine)
        assert text.count("\n") <= most
        assert ("po_free_registers();" in text) == (name in ("gemm", "lu"))  # sums in registers
        assert max(map(len, text.splitlines())) <= 100


@pytest.mark.parametrize("name", ["mvt", "seidel-2d", "softmax"])
def test_helpers_that_nothing_names_are_left_out(name):
    text = readable(name)
    helpers = re.findall(r"^static inline .*?(po_\w+)\(", text, re.MULTILINE)
    assert helpers
    assert [helper for helper in helpers if len(re.findall(rf"\b{helper}\b", text)) < 2] == []


def test_bodies_of_vector_loops_stand_once():
    text = readable("heat-3d", NARROW)
    assert len(re.findall(r"^ +po_store_lanes\(", text, re.MULTILINE)) == 2
    assert len(re.findall(r"^ +po_store", text, re.MULTILINE)) == 2


@pytest.mark.parametrize(("name", "count"), [("jacobi-2d", 2), ("softmax", 4)])
def test_compilers_have_the_lanes_of_plain_rows(name, count):
    text = readable(name, NARROW)
    assert "po_store" not in text
    assert text.count("#pragma omp simd") == count


def test_nests_of_no_line_say_what_they_fill():
    assert "/* fill factor: i, k in SIMD lanes */" in readable("gemm")


def test_a_text_is_for_readers():
    text = readable("jacobi-2d")
    assert text.startswith("/*\n * jacobi_2d: generated from jacobi_2d.py by polyopt 9.9.\n")
    assert "tile(L0" in text
    assert "jacobi_2d.py:26: B[i, j] = 0.2 * (A[i, j]" in text
    assert "PO_BUILTINS" not in text
    assert "PO_STOPPED" not in text
    assert text.count("jacobi_2d_i_tile(") == 2, "a definition and a call"
    assert re.search(r"#pragma omp parallel for [^\n]*if \(", text)
    assert "i_tile_" not in text


# -- what is computed ------------------------------------------------------------------------------


def flat(values: object) -> list[np.ndarray]:
    if values is None:
        return []
    if isinstance(values, tuple | list):
        return [one for value in values for one in flat(value)]
    return [np.asarray(values)]


def results(workload, form: str, fp: str, size: str) -> list[np.ndarray]:
    values = copy.deepcopy(tuple(workload.make(size).values()))
    returned = po.kernel(workload.forms[form], fp=fp)(*values)
    return [*flat(values), *flat(returned)]


def check_same(workload, form: str, fp: str, monkeypatch, tmp_path: Path) -> None:
    """Check that both editions compute the same bits."""
    monkeypatch.setenv("POLYOPT_CACHE_DIR", str(tmp_path / "built"))
    want = results(workload, form, fp, "MINI")
    printed: list[str] = []

    def for_readers(loops, target, program):
        made = emit_for_readers(loops, target.value, program)
        printed.append(made.text)
        return made

    monkeypatch.setattr(pipeline, "_emitted", for_readers)
    monkeypatch.setenv("POLYOPT_CACHE_DIR", str(tmp_path / "readers"))
    got = results(workload, form, fp, "MINI")
    assert printed
    assert len(got) == len(want)
    for one, other in zip(got, want, strict=True):
        np.testing.assert_array_equal(one, other)


CASES = [(w, form) for w in registry.all() for form in w.forms]
SOME = ("conjugate-gradient-numpy", "gemm-loops", "softmax-loops")


def named(cases):
    ids = [f"{w.name}-{form}" for w, form in cases]
    return pytest.mark.parametrize(("workload", "form"), cases, ids=ids)


@pytest.mark.toolchain
@named([(w, form) for w, form in CASES if f"{w.name}-{form}" in SOME])
def test_both_editions_compute_the_same(workload, form, monkeypatch, tmp_path):
    check_same(workload, form, "strict", monkeypatch, tmp_path)


@pytest.mark.toolchain
@pytest.mark.matrix
@pytest.mark.parametrize("fp", ["strict", "reassociate"])
@named(CASES)
def test_both_editions_of_every_workload_compute_the_same(
    workload, form, fp, monkeypatch, tmp_path
):
    check_same(workload, form, fp, monkeypatch, tmp_path)


# -- runs of statements ---------------------------------------------------------------------------


def element(text: str, counters: dict[str, int]) -> str:
    """Return the element that a text is where its counters have values."""
    return re.sub(
        r"\[([^]]*)\]",
        lambda match: f"[{eval(match[1], {'__builtins__': {}}, counters)}]",
        text.removeprefix(TEXT),
    )


def expanded(form, counters: dict[str, int], elements):
    """Return what a form is in one iteration, with elements' names in place of locals."""

    def rule(expr):
        if isinstance(expr, Load | VectorLoad):
            index = tuple(normalize(rewrite(i, number)) for i in expr.index)
            return type(expr)(**{**fields(expr), "index": index})
        if isinstance(expr, Symbol) and expr.name.startswith(TEXT):
            return Symbol(element(expr.name, counters), expr.dtype, expr.lanes)
        if isinstance(expr, Symbol) and expr.name in elements:
            return Symbol(elements[expr.name], expr.dtype, expr.lanes)
        return None

    def number(expr):
        is_counter = isinstance(expr, Iter) and expr.name in counters
        return integer(counters[expr.name]) if is_counter else None

    value = rewrite(form.value, rule)
    if isinstance(form, Assign):
        return rewrite(form.target, rule), value
    if isinstance(form, SetLocal):
        return rewrite(Symbol(form.name, form.dtype, form.lanes), rule), value
    return value


def fields(record) -> dict[str, object]:
    return {name: getattr(record, name) for name in record.__dataclass_fields__}


@pytest.mark.parametrize("name", ["gemm", "softmax", "syrk", "lu"])
def test_loops_of_a_run_are_the_statements_of_it(name, monkeypatch):
    found = []
    find = rerolling.run_of

    def noting(nodes, elements, least_):
        run = find(nodes, elements, least_)
        if run is not None:
            found.append((nodes, elements, run))
        return run

    monkeypatch.setattr(rerolling, "run_of", noting)
    readable(name)
    assert found
    for nodes, elements, run in found:
        form = filled(nodes[0], run, ("r", "c"), elements, {})
        for number, node in enumerate(nodes):
            r, c = divmod(number, run.columns)
            counters = {"r": r, "c": c}
            assert expanded(form, counters, elements) == expanded(node, {}, elements)


def accumulated(*offsets: int):
    """Return a function with a local for each element, set from rows so far apart."""
    nodes = [
        Declare(f"s_acc{n}", F64, 1, at("A", plus("i", offset), 0))
        for n, offset in enumerate(offsets)
    ]
    sums = [
        SetLocal(f"s_acc{n}", F64, 1, op("+", Symbol(f"s_acc{n}", F64), at("A", plus("i", o), "j")))
        for n, o in enumerate(offsets)
    ]
    stores = [
        Assign(at("A", plus("i", o), 0), Symbol(f"s_acc{n}", F64)) for n, o in enumerate(offsets)
    ]
    inner = loop("j", 0, "M", *sums)
    outer = loop("i", 0, plus("N", -9), *nodes, inner, *stores)
    return function("sums", [array("A", "N", "M")], ["N", "M"], outer)


def test_equal_steps_are_a_loop():
    text = emit_c(accumulated(0, 1, 2, 3), READABLE).text
    assert "double s_acc[4];" in text
    assert "s_acc[r] += A[i + r][j];" in text
    assert "double s_acc[4];" in emit_c(accumulated(0, 2, 4, 6), READABLE).text


def test_other_steps_are_no_loop():
    text = emit_c(accumulated(0, 1, 2, 4), READABLE).text
    assert "s_acc[" not in text
    assert "s_acc3 += A[i + 4][j];" in text


def test_built_texts_have_no_such_loops():
    assert "PO_UNROLL" not in emit_c(accumulated(0, 1, 2, 3)).text


# -- nests that stand twice ------------------------------------------------------------------------


def nested(name: str, target: str):
    value = op("+", Symbol(name, F64), at("A", "i", "j"))
    row = [Declare(name, F64, 1, at("A", "i", 0)), loop("j", 0, "M", SetLocal(name, F64, 1, value))]
    body = loop("i", 0, "N", *row, Assign(at(target, "i", 0), Symbol(name, F64)))
    return loop("t", 0, 3, body)


def twice(target: str):
    arrays = [array("A", "N", "M"), array("B", "N", "M")]
    return function("twice", arrays, ["N", "M"], nested("a", "A"), nested("b", target))


def test_a_nest_that_stands_twice_is_a_function():
    text = emit_c(twice("A"), READABLE).text
    assert text.count("twice_part(N, M, po_A);") == 2
    assert text.count("A[i][0] =") == 1
    assert len(shared_nests(twice("A").body).repeated) == 1


def row_of(name: str, *more):
    """Return nodes on row `i`: two loops that use its first element, and others after them."""
    total = loop("j", 0, "M", Assign(at("A", "i", 0), op("+", at("A", "i", 0), at("A", "i", "j"))))
    scaled = loop(
        "j", 1, "M", Assign(at("A", "i", "j"), op("*", at("A", "i", "j"), at("A", "i", 0)))
    )
    first = Assign(at("A", "i", 0), at("B", "i", 0))
    second = Assign(at("A", "i", 1), at("B", "i", 1))
    return first, second, total, scaled, *more


def test_neighbours_that_stand_twice_are_a_function():
    extra = Assign(at("B", "i", 0), at("A", "i", 0))
    rows = [loop("i", 0, "N", *row_of("a")), loop("i", 1, "N", *row_of("b", extra))]
    made = function("rows", [array("A", "N", "M"), array("B", "N", "M")], ["N", "M"], *rows)
    text = emit_c(made, READABLE).text
    assert text.count("rows_part(M, i, po_A, po_B);") == 2
    assert text.count("A[i][1] =") == 1
    assert text.count("B[i][0] =") == 1


def test_neighbours_whose_locals_are_used_later_are_not_taken_out():
    kept = Assign(at("B", "i", 0), Symbol("s", F64))
    body = (Declare("s", F64, 1, at("A", "i", 0)), *row_of("a"), kept)
    rows = [loop("i", 0, "N", *body), loop("i", 1, "N", *body)]
    made = function("rows", [array("A", "N", "M"), array("B", "N", "M")], ["N", "M"], *rows)
    text = emit_c(made, READABLE).text
    assert text.count("double s") == 2
    assert text.count("A[i][1] =") == 1


def test_nests_with_other_arrays_are_two():
    assert "twice_part" not in emit_c(twice("B"), READABLE).text


# -- comments and names ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text", ["*/ int x; /*", "x \\", "??/", "????/", "**//", "a\nb", "größe */", "\\\n*/", "/*/"]
)
def test_no_source_line_ends_its_comment(text):
    for found in (plain(text), source_comment(Loc(f"{text}.py", 1, 1, 1, 1), text)):
        assert "*/" not in f"/* {found} */"[:-2]
        assert "/*" not in f"/* {found} */"[2:]
        assert "??" not in found
        assert "\n" not in found
        assert not found.endswith("\\")
        assert found.isascii()


def hostile(A: po.f64["N"]):
    for i in range(A.shape[0]):
        A[i] = A[i] + 1.0  # */ return 7; /* ??/ \\ größe abort(); NULL \


@pytest.mark.toolchain
@pytest.mark.parametrize("standard", ["c11", "gnu17"])
def test_a_hostile_line_stays_in_its_comment(standard, tmp_path):
    stages = compile_stages(hostile, po.frontend.infer_types(hostile), Options(), NARROW)
    text = emit_for_readers(stages.loops, "c", stages.written or stages.program).text
    assert "return 7" in text
    assert "stdlib.h" not in text, "words of comments include no headers"
    path = tmp_path / "hostile.c"
    path.write_text(text)
    flags = [f"-std={standard}", "-Wall", "-Wextra", "-Werror", "-c", "-o", "/dev/null"]
    done = subprocess.run(["gcc", *flags, str(path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def negated_first(x: po.f64["N"], y: po.f64["N"]):
    for i in range(x.shape[0]):
        if not (x[i] < 0) and (x[i] < 0.5 or x[i] > 0.9):
            y[i] = 1.0
        elif not (x[i] > 0) or (x[i] == y[i] and x[i] < 2.0):
            y[i] = 2.0


def distinct(x: po.i32["N"]):
    return np.unique(x)


@pytest.mark.toolchain
@pytest.mark.parametrize("written", [negated_first, distinct])
def test_comparisons_compile_without_a_warning(tmp_path, written):
    stages = compile_stages(written, po.frontend.infer_types(written), Options(), NARROW)
    path = tmp_path / "compared.c"
    path.write_text(emit_for_readers(stages.loops, "c", stages.written or stages.program).text)
    flags = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-c", "-o", "/dev/null"]
    done = subprocess.run(["gcc", *flags, str(path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.toolchain
def test_no_readable_name_is_a_macro_or_a_word(tmp_path):
    headers = ("complex", "math", "stdbool", "stdint", "stdlib", "sys/mman", "immintrin")
    path = tmp_path / "all.c"
    path.write_text("".join(f"#include <{name}.h>\n" for name in headers))
    command = ["gcc", "-std=gnu11", "-march=native", "-dM", "-E", str(path)]
    macros = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    names = set(re.findall(r"#define ([A-Za-z]\w*)(?= )", macros))
    assert len(names) > 100
    taken = {name for name in names if readable_identifier(name) == name}
    assert taken <= {"M", "E"}, "macros with values"
    for word in ("int", "class", "restrict", "exp", "free", "int64_t", "I", "NULL", "near"):
        assert readable_identifier(word) != word


def test_locals_are_numbered_in_each_nest():
    names = {"x_acc9": "x_acc9", "x_acc12": "x_acc12", "y": "y"}
    taken = set(names.values())
    nests = [
        loop("i", 0, 3, Declare(name, F64, 1, ex(0.0)), Declare(f"{name}0", F64, 1, ex(0.0)))
        for name in ("x_acc9", "x_acc12")
    ]
    names |= {"x_acc90": "x_acc90", "x_acc120": "x_acc120"}
    taken |= {"x_acc90", "x_acc120"}
    local_names(function("f", [], [], *nests), names, taken)
    assert [names[n] for n in ("x_acc9", "x_acc90")] == ["x_acc0", "x_acc1"]
    assert [names[n] for n in ("x_acc12", "x_acc120")] == ["x_acc0", "x_acc1"]
    assert names["y"] == "y"


def test_braces_stay_around_declarations_and_several_statements():
    code = "if (a) {\n    int x = 1;\n}\nfor (;;) {\n    x = 1;\n    y = 2;\n}"
    assert without_braces(code) == code
    both = "if (a) {\n    x = 1;\n} else {\n    y = 2;\n}"
    assert without_braces(both) == both
    assert without_braces("if (a) {\n    f(x);\n}") == "if (a)\n    f(x);"


def test_names_of_helpers_keep_types_where_there_are_several():
    from polyopt.emit.helpers import Helper, HelperKind
    from polyopt.ir.types import DType

    one = Helper(HelperKind.LOAD, DType.FLOAT64, 4)
    other = Helper(HelperKind.LOAD, DType.FLOAT32, 4)
    assert with_short_names([one], "po_load_f64x4(p)") == ("po_load(p)",)
    assert with_short_names([one, other], "po_load_f64x4(p)") == ("po_load_f64x4(p)",)


def test_parallel_loops_are_printed_once():
    body = loop(
        "j", 0, "M", Assign(at("A", "i", "j"), op("*", at("A", "i", "j"), at("A", "i", "j")))
    )
    fn = function(
        "square", [array("A", "N", "M")], ["N", "M"],
        loop("i", 0, least("N", plus("M", 1)), body, kind=LoopKind.PARALLEL, label="L0[0]"),
    )  # fmt: skip
    assert emit_c(fn).text.count("for (int64_t i ") == 2
    made = emit_c(fn, READABLE)
    assert made.text.count("for (int64_t i ") == 1
    assert isinstance(made, Source)


@pytest.mark.toolchain
@pytest.mark.parametrize("level", ["x86-64", "x86-64-v3"])
def test_texts_for_other_processors_compile_without_warnings(level: str, tmp_path: Path) -> None:
    """Vectors that the processor has not are passed by no function."""
    path = tmp_path / "jacobi.c"
    path.write_text(readable("jacobi-2d", NARROW), encoding="utf-8")
    flags = ["-std=c11", "-O2", "-Wall", "-Wextra", f"-march={level}", "-c", "-o", "/dev/null"]
    done = subprocess.run(["gcc", *flags, str(path)], capture_output=True, text=True, check=True)
    assert "warning" not in done.stderr
