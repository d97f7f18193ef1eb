"""Loops that data ends, faults, memory got on the way, library calls: C against the interpreter."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import numpy as np
import pytest

from polyopt.emit import emit_c
from polyopt.ir.expr import (
    Binary,
    BinaryOp,
    Compare,
    CompareOp,
    Const,
    Select,
    Symbol,
    Unary,
    UnaryOp,
)
from polyopt.ir.loops import (
    AllocateArray,
    Assign,
    Break,
    CallLibrary,
    Declare,
    DeclareArray,
    For,
    If,
    LoopKind,
    While,
)
from polyopt.ir.scop import Role
from polyopt.ir.source import LibraryCall, Operand
from tests.texts import bare
from tests.unit.emit.kernels import (
    F64,
    STRICT,
    array,
    at,
    data,
    ex,
    function,
    i64,
    least,
    loop,
    op,
    plus,
)
from tests.unit.emit.region_runs import (
    BOOL,
    I64,
    agree,
    cell,
    is_,
    kernel,
    put,
    run_c,
    run_python,
    scalar,
)

PARALLEL = LoopKind.PARALLEL
SANITIZED = (*STRICT, "-g", "-fsanitize=undefined", "-fno-sanitize-recover=undefined")


def collatz():
    """Steps until 1, for every start, in a parallel loop of while loops."""
    start = cell("x", I64)
    odd = is_(i64("%", start, 2), "==", 1)
    return kernel(
        [array("steps", "N", dtype=I64), array("n", "N", dtype=I64, role=Role.INPUT)],
        ["N"],
        loop(
            "i",
            0,
            "N",
            DeclareArray(scalar("x", I64)),
            put("x", at("n", "i", dtype=I64), I64),
            Assign(at("steps", "i", dtype=I64), ex(0)),
            While(
                is_(start, ">", 1),
                (
                    put(
                        "x",
                        Select(odd, plus(i64("*", 3, start), 1), i64("//", start, 2), I64),
                        I64,
                    ),
                    Assign(at("steps", "i", dtype=I64), plus(at("steps", "i", dtype=I64), 1)),
                ),
            ),
            kind=PARALLEL,
            label="region",
        ),
    )


@pytest.mark.toolchain
def test_a_while_loop_in_a_parallel_loop():
    fn = collatz()
    status, found = agree(fn, {"N": 60}, times=2)
    assert status == 0
    assert found["steps"].max() > 10
    text = bare(emit_c(fn).text)
    assert "int64_t x = 0;" in text
    assert "while (x > 1)" in text
    run_python(fn, data(fn, {"N": 9}), {"N": 9}, shuffle=Random(1))


@pytest.mark.toolchain
def test_scalars_of_the_function_are_variables():
    body = (
        put("s", Const(1.0, F64)),
        put("go", Const(True, BOOL), BOOL),
        While(
            cell("go", BOOL),
            (
                put("s", op("*", cell("s"), Symbol("q", F64))),
                put("go", Compare(CompareOp.LT, cell("s"), Const(100.0, F64)), BOOL),
            ),
        ),
        loop("i", 0, "N", Assign(at("A", "i"), cell("s")), kind=PARALLEL),
    )
    fn = kernel([array("A", "N"), scalar("s"), scalar("go", BOOL)], ["N"], *body)
    fn = replace(fn, signature=function("kernel", [], ["N"], scalars=[("q", F64)]).signature)
    agree(fn, {"N": 5}, {"q": 3.0})
    assert "malloc" not in emit_c(fn).text
    assert "aligned_alloc" not in emit_c(fn).text


@pytest.mark.toolchain
def test_a_scalar_written_by_one_iteration_of_a_parallel_nest():
    inner = loop("j", 0, "N", Assign(at("A", "i", "j"), op("+", cell("s"), at("A", "i", "j"))))
    last = If(is_("i", "==", 3), (put("t", at("A", "i", 0)),))
    fn = kernel(
        [array("A", "N", "N"), scalar("s"), scalar("t"), array("r")],
        ["N"],
        put("s", Const(2.0, F64)),
        loop("i", 0, "N", inner, last, kind=PARALLEL),
        put("r", cell("t")),
    )
    agree(fn, {"N": 6})
    text = bare(emit_c(fn).text)
    assert "double s," in text.replace("\n", " ")
    assert "double *restrict t" in text.replace("\n", " ")


@pytest.mark.toolchain
def test_break_leaves_the_innermost_loop_and_passes_keep_it():
    stop = If(is_(at("n", dtype=I64), "<=", "j"), (Break(),))
    fn = kernel(
        [array("A", "N", "N"), array("n", dtype=I64, role=Role.INPUT)],
        ["N"],
        loop("i", 0, "N", loop("j", 0, "N", stop, Assign(at("A", "i", "j"), Const(1.0, F64)))),
        # a loop that runs once and leaves itself
        loop(
            "k",
            0,
            1,
            If(is_(at("n", dtype=I64), ">", 2), (Break(),)),
            Assign(at("A", 0, 0), Const(7.0, F64)),
        ),
    )
    for n in (0, 2, 5):
        arrays = {**data(fn, {"N": 4}), "n": np.array(n)}
        agree(fn, {"N": 4}, arrays=arrays)


@pytest.mark.toolchain
def test_a_bound_is_read_once():
    grow = loop("i", 0, cell("n", I64), put("n", plus(cell("n", I64), 1), I64))
    once = loop(
        "k",
        cell("n", I64),
        plus(cell("n", I64), 1),
        put("n", plus("k", 10), I64),
        Assign(at("r", 1, dtype=I64), ex("k")),
    )
    fn = kernel(
        [array("r", 2, dtype=I64), scalar("n", I64)],
        ["N"],
        put("n", ex("N"), I64),
        grow,
        once,
        Assign(at("r", 0, dtype=I64), cell("n", I64)),
    )
    _, found = agree(fn, {"N": 4})
    assert found["r"].tolist() == [18, 8]


@pytest.mark.toolchain
def test_a_condition_on_a_bound_that_changes_is_not_decided():
    shrink = put("n", i64("-", cell("n", I64), 1), I64)
    fn = kernel(
        [array("r", "N", dtype=I64), scalar("n", I64)],
        ["N"],
        put("n", ex("N"), I64),
        loop(
            "i",
            0,
            cell("n", I64),
            shrink,
            If(is_("i", "<", cell("n", I64)), (Assign(at("r", "i", dtype=I64), ex(1)),)),
        ),
    )
    arrays = {"r": np.zeros(6, np.int64)}
    _, found = agree(fn, {"N": 6}, arrays=arrays)
    assert found["r"].tolist() == [1, 1, 1, 0, 0, 0]


def rows(kind=PARALLEL):
    """Sums of the rows of a sparse matrix: bounds are loads, sizes are locals."""
    begin, end = at("p", "i", dtype=I64), at("p", plus("i", 1), dtype=I64)
    return kernel(
        [
            array("s", "N"),
            array("p", plus("N", 1), dtype=I64, role=Role.INPUT),
            array("v", "M", role=Role.INPUT),
        ],
        ["N", "M"],
        Declare("m", I64, 1, at("p", "N", dtype=I64)),
        loop(
            "i",
            0,
            "N",
            Assign(at("s", "i"), Const(0.0, F64)),
            loop("k", begin, end, Assign(at("s", "i"), op("+", at("s", "i"), at("v", "k")))),
            kind=kind,
        ),
        loop("q", 0, Symbol("m", I64), Assign(at("s", 0), op("+", at("s", 0), at("v", "q")))),
    )


@pytest.mark.toolchain
def test_bounds_that_are_data():
    fn = rows()
    arrays = {
        "s": np.empty(4),
        "p": np.array([0, 3, 3, 5, 7]),
        "v": np.arange(7.0),
    }
    agree(fn, {"N": 4, "M": 7}, arrays=arrays)
    text = bare(emit_c(fn).text)
    assert "if (po_many(16 * N)) {" in text
    assert "schedule(dynamic, N / 256 + 1)\n" in text
    declared, outer, *others = fn.body
    inner = outer.body[-1]
    for body, pieces in (
        ((*outer.body, inner), "schedule(dynamic, N / 256 + 1)\n"),
        ((*outer.body[:-1], replace(inner, iter="l", body=(inner,))), "schedule(dynamic)\n"),
    ):
        changed = replace(fn, body=(declared, replace(outer, body=body), *others))
        assert pieces in bare(emit_c(changed).text)
    empty = {"s": np.empty(1), "p": np.zeros(2, np.int64), "v": np.empty(0)}
    agree(fn, {"N": 1, "M": 0}, arrays=empty)


@pytest.mark.toolchain
def test_a_region_of_little_work_is_none():
    store = Assign(at("A", "k"), op("+", at("A", "k"), Const(1.0, F64)))
    lower = Binary(BinaryOp.MAX, ex(0), plus("t", -3), I64)
    rows = loop("k", "i", plus("i", 1), loop("m", 0, "N", store))
    band = loop("i", lower, least("N", plus("t", 1)), rows, kind=PARALLEL)
    fn = kernel([array("A", "N")], ["N"], loop("t", 0, "N", band))
    agree(fn, {"N": 9})
    text = bare(emit_c(fn).text)
    before, pragma, after = text.partition("#pragma omp parallel for")
    assert "if (po_max(0, t - 3) + 1 < po_min(N, t + 1) && po_many(" in before
    assert after.count("kernel_region(N, i, A, &left);") == 2
    assert "if (" not in pragma + after.partition("\n")[0]
    single = loop("i", 0, "N", Assign(at("A", "i"), Const(1.0, F64)), kind=PARALLEL)
    once = emit_c(kernel([array("A", "N")], ["N"], single)).text
    once = bare(once)
    before, pragma, after = once.partition("#pragma omp parallel for simd")
    assert "if (po_many(N)) {" in before
    assert "#pragma omp simd" in after.partition("else")[2]
    assert "if (" not in pragma + after.partition("\n")[0]


@pytest.mark.toolchain
def test_a_loop_with_memory_of_its_own_that_runs_once():
    held = array("T", plus("t", 2), 2, role=Role.TEMP)
    again = array("T", 1, plus("N", 1), role=Role.TEMP)
    fn = kernel(
        [array("A", "N"), held],
        ["N"],
        loop(
            "t",
            0,
            1,
            AllocateArray(held),
            Assign(at("T", "t", 1), Const(3.0, F64)),
            Assign(at("A", "t"), at("T", "t", 1)),
        ),
        AllocateArray(again),
        Assign(at("T", 0, "N"), Const(4.0, F64)),
        Assign(at("A", 1), at("T", 0, "N")),
    )
    agree(fn, {"N": 2})


SOLVE = LibraryCall(
    "numpy.linalg.solve", (Operand(0), Operand(1)), (), ((F64, 2), (F64, 1)), ((F64, 1),)
)
TOTAL = LibraryCall("numpy.sum", (Operand(0),), (), ((F64, 1),), ((F64, 0),))


@pytest.mark.toolchain
def test_library_calls():
    inputs = (array("A", "N", "N", role=Role.INPUT), array("b", "N", role=Role.INPUT))
    x, s = array("X", "N", role=Role.TEMP), scalar("s")
    fn = kernel(
        [*inputs, x, s, array("r", "N")],
        ["N"],
        CallLibrary(0, inputs, (x,)),
        CallLibrary(1, (x,), (s,)),
        loop("i", 0, "N", Assign(at("r", "i"), op("+", at("X", "i"), cell("s")))),
        library=(SOLVE, TOTAL),
    )
    agree(fn, {"N": 4})
    singular = {"A": np.zeros((4, 4)), "b": np.ones(4), "r": np.ones(4)}
    status, found = run_c(fn, singular, {"N": 4})
    assert status == -1
    assert found["r"].all()
    with pytest.raises(np.linalg.LinAlgError):
        run_python(fn, singular, {"N": 4})
    source = emit_c(fn)
    assert "-1: `library` gave anything but 0" in source.header
    assert "int (*library)(int site, void *const *data, const int64_t *extents)" in source.header


@pytest.mark.toolchain
def test_one_thread_and_no_undefined_behaviour():
    def sequential(node):
        return replace(node, kind=LoopKind.SEQUENTIAL) if isinstance(node, For) else node

    fn = collatz()
    agree(replace(fn, body=tuple(map(sequential, fn.body))), {"N": 20}, flags=SANITIZED)


@pytest.mark.toolchain
def test_negated_conditions_and_endless_loops_with_a_way_out():
    going = cell("go", BOOL)
    fn = kernel(
        [array("A", "N"), scalar("go", BOOL), scalar("c", I64)],
        ["N"],
        put("go", Const(True, BOOL), BOOL),
        put("c", ex(0), I64),
        While(
            Const(True, BOOL),
            (
                If(Unary(UnaryOp.INVERT, going, BOOL), (Break(),)),
                Assign(at("A", cell("c", I64)), Const(1.0, F64)),
                put("c", plus(cell("c", I64), 1), I64),
                put("go", is_(cell("c", I64), "<", i64("-", "N", 2)), BOOL),
            ),
        ),
    )
    agree(fn, {"N": 6})
