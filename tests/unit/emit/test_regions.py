"""Loops that data ends, faults, memory got on the way, library calls: C against the interpreter."""

from __future__ import annotations

import ctypes
from dataclasses import replace
from random import Random

import numpy as np
import pytest

from polyopt.emit import emit_c, optimize_loops
from polyopt.emit.fault_exits import exit_on_faults
from polyopt.emit.passes.faults import collect_faults
from polyopt.errors import KernelFault
from polyopt.ir.expr import (
    Binary,
    BinaryOp,
    Compare,
    CompareOp,
    Const,
    Load,
    Select,
    Symbol,
    Unary,
    UnaryOp,
)
from polyopt.ir.interp import run_loops
from polyopt.ir.library import call_library
from polyopt.ir.loops import (
    AllocateArray,
    Assign,
    Break,
    CallLibrary,
    Declare,
    DeclareArray,
    Fail,
    For,
    If,
    LoopKind,
    While,
    show_body,
)
from polyopt.ir.scop import Role
from polyopt.ir.source import CParamKind, Fault, LibraryCall, Operand
from polyopt.ir.types import DType
from polyopt.machine import Machine
from tests.texts import bare
from tests.unit.emit.kernels import (
    F64,
    STRICT,
    arguments,
    array,
    at,
    build,
    data,
    ex,
    function,
    i64,
    least,
    load,
    loop,
    op,
    plus,
)

I64, U8, BOOL = DType.INT64, DType.UINT8, DType.BOOL
PARALLEL, VECTOR = LoopKind.PARALLEL, LoopKind.VECTOR
WIDE = Machine(vector_bytes=64, vector_registers=32)
SANITIZED = (*STRICT, "-g", "-fsanitize=undefined", "-fno-sanitize-recover=undefined")
FAULTS = (
    Fault("PO0231", "first"),
    Fault("PO0232", "second"),
    Fault("PO0233", "third"),
)
COUNTED = """
#include <stdlib.h>
static int given, back;
static inline void *counted_alloc(size_t align, size_t size)
{
    given++;
    return aligned_alloc(align, size);
}
static inline void counted_free(void *memory)
{
    back += memory != NULL;
    free(memory);
}
int live(void) { return given - back; }
int made(void) { return given; }
#define aligned_alloc counted_alloc
#define free counted_free
"""
LIBRARY = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_int, ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(ctypes.c_int64)
)


def is_(left, sign, right):
    return Compare(CompareOp(sign), ex(left), ex(right))


def scalar(name, dtype=F64):
    return array(name, dtype=dtype, role=Role.TEMP)


def cell(name, dtype=F64):
    return Load(name, (), dtype)


def put(name, value, dtype=F64):
    return Assign(cell(name, dtype), value)


def fault_array(count=3):
    return array("faults", count, dtype=U8, role=Role.FAULT)


def note(number):
    return Assign(at("faults", number, dtype=U8), Const(1, U8))


def kernel(*given, faults=(), library=()):
    fn = function("kernel", *given)
    return replace(fn, signature=replace(fn.signature, faults=faults, library=library))


def run_c(fn, arrays, params, symbols=None, flags=STRICT, times=1):
    """Run the emitted text on copies; return the status and the copies."""
    source = emit_c(exit_on_faults(fn))
    copies = {name: value.copy() for name, value in arrays.items()}
    given = arguments(source, copies, params, symbols or {})
    if source.params and source.params[-1].kind is CParamKind.LIBRARY:
        given.append(LIBRARY(_callback(fn.signature.library)))
    entry = build(source, flags)
    status = {entry(*given) for _ in range(times)}
    assert len(status) == 1
    return status.pop(), copies


def _callback(calls):
    def call(site, data, extents):
        views, at_extent = [], 0
        for dtype, rank in (*calls[site].inputs, *calls[site].outputs):
            shape = tuple(extents[at_extent + d] for d in range(rank))
            at_extent += rank
            size = int(np.prod(shape, dtype=int)) * dtype.size
            memory = (ctypes.c_char * size).from_address(data[len(views)])
            views.append(np.frombuffer(memory, dtype.numpy).reshape(shape))
        given = len(calls[site].inputs)
        try:
            call_library(calls[site], views[:given], views[given:])
        except ValueError:
            return 1
        return 0

    return call


def run_python(fn, arrays, params, symbols=None, shuffle=None):
    """Run the interpreter on copies; return the status and the copies."""
    copies = {name: value.copy() for name, value in arrays.items()}
    try:
        run_loops(fn, copies, params, symbols or {}, shuffle)
    except KernelFault as fault:
        codes = [f.code for f in fn.signature.faults]
        return 2 + codes.index(fault.code), copies
    return 0, copies


def agree(fn, params, symbols=None, flags=STRICT, arrays=None, times=1):
    """Check the text of `fn` and of its optimized form; return the status and the arrays."""
    given = data(fn, params) if arrays is None else arrays
    want = run_python(fn, given, params, symbols)
    for version in (fn, optimize_loops(fn, WIDE, "strict")):
        got = run_c(version, given, params, symbols, flags, times)
        assert got[0] == want[0], "\n".join(show_body(version.body))
        if want[0] != 0 and any(a.role is Role.FAULT for a in fn.arrays):
            continue  # how far it came is not said
        for name, value in want[1].items():
            np.testing.assert_array_equal(got[1][name], value, err_msg=name)
    return want


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
def test_fail_stops_at_once():
    body = (
        Assign(at("A", 0), Const(1.0, F64)),
        loop("i", 0, "N", If(is_("i", "==", 3), (Fail(1),)), Assign(at("A", "i"), Const(2.0, F64))),
        Assign(at("A", 0), Const(5.0, F64)),
    )
    fn = kernel([array("A", "N")], ["N"], *body, faults=FAULTS)
    status, found = agree(fn, {"N": 6})
    assert status == 3
    assert found["A"][0] == 2.0
    assert agree(fn, {"N": 3})[0] == 0
    assert "goto" not in emit_c(fn).text


@pytest.mark.toolchain
@pytest.mark.parametrize("nested", [False, True])
def test_fail_in_a_parallel_loop_tells_the_lowest(nested):
    bad = (If(is_("i", "==", 4), (Fail(2),)), If(is_("i", ">", 4), (Fail(1),)))
    rest = Assign(at("A", "i"), Const(2.0, F64))
    body = (loop("j", 0, 2, *bad), rest) if nested else (*bad, rest)
    fn = kernel(
        [array("A", "N"), array("T", "N", role=Role.TEMP)],
        ["N"],
        Assign(at("T", 0), Const(1.0, F64)),
        loop("i", 0, "N", *body, kind=PARALLEL),
        Assign(at("A", 0), at("T", 0)),
        faults=FAULTS,
    )
    for n, want in ((4, 0), (5, 4), (300, 3)):
        status, found = agree(fn, {"N": n}, times=3)
        assert status == want
        assert found["A"][3] == 2.0


@pytest.mark.toolchain
def test_noted_faults_win_over_later_ones():
    fn = kernel(
        [array("A", "N"), fault_array(), array("T", "N", role=Role.TEMP)],
        ["N"],
        loop("i", 0, "N", If(is_(at("A", "i"), "<", Const(0.0, F64)), (note(1),)), kind=PARALLEL),
        If(is_("N", ">", 3), (Fail(0),)),
        Assign(at("A", 0), at("A", 1)),
        faults=FAULTS,
    )
    for values, want in (
        (np.array([1.0, 2.0]), 0),
        (np.array([1.0, -2.0]), 3),
        (np.ones(4), 2),
        (-np.ones(4), 3),
    ):
        status, _ = agree(fn, {"N": len(values)}, arrays={"A": values})
        assert status == want


@pytest.mark.toolchain
@pytest.mark.parametrize("nested", [False, True])
def test_a_search_that_leaves_its_array_ends(nested):
    at_end = is_(cell("k", I64), ">=", "N")
    check = If(at_end, (note(1),))
    if nested:  # in a counted loop faults are noted, and looked at after it
        check = loop(
            "q", 0, 2, If(Binary(BinaryOp.AND, at_end, is_("q", "==", 1), BOOL), (note(1),))
        )
    place = Binary(BinaryOp.MIN, cell("k", I64), i64("-", "N", 1), I64)
    fn = kernel(
        [array("A", "N", role=Role.INPUT), array("r", dtype=I64), scalar("k", I64), fault_array()],
        ["N"],
        put("k", ex(0), I64),
        While(
            Compare(CompareOp.NE, at("A", place), Const(7.0, F64)),
            (put("k", plus(cell("k", I64), 1), I64), check),
        ),
        put("r", cell("k", I64), I64),
        faults=FAULTS,
    )
    values = np.array([1.0, 7.0, 3.0])
    status, found = agree(fn, {"N": 3}, arrays={"A": values, "r": np.array(0)})
    assert (status, found["r"]) == (0, 1)
    assert agree(fn, {"N": 3}, arrays={"A": -values, "r": np.array(0)})[0] == 3
    assert ("faults" in emit_c(exit_on_faults(fn)).text) == nested


@pytest.mark.toolchain
def test_loops_that_data_ends_are_not_begun_after_a_fault():
    going = Compare(CompareOp.GE, at("A", 0), Const(0.0, F64))
    fn = kernel(
        [array("A", "N", role=Role.INPUT), array("T", "N", role=Role.TEMP), fault_array()],
        ["N"],
        loop("i", 0, "N", If(is_(at("A", "i"), ">", Const(0.0, F64)), (note(0),)), kind=PARALLEL),
        While(going, (Assign(at("T", 0), at("A", 0)),)),
        faults=FAULTS,
    )
    assert agree(fn, {"N": 2}, arrays={"A": np.ones(2)})[0] == 2
    assert agree(fn, {"N": 2}, arrays={"A": -np.ones(2)})[0] == 0


def gather(kind):
    """`B[i] = A[x[i]]` with a check of every subscript."""
    index = at("x", "i", dtype=I64)
    bad = Binary(BinaryOp.OR, is_(index, "<", 0), is_(index, ">=", "N"), BOOL)
    inside = Binary(BinaryOp.MAX, ex(0), Binary(BinaryOp.MIN, index, i64("-", "N", 1), I64), I64)
    return kernel(
        [
            array("B", "M"),
            array("A", "N", role=Role.INPUT),
            array("x", "M", dtype=I64, role=Role.INPUT),
            fault_array(),
        ],
        ["N", "M"],
        loop("i", 0, "M", If(bad, (note(2),)), Assign(at("B", "i"), at("A", inside)), kind=kind),
        faults=FAULTS,
    )


@pytest.mark.toolchain
@pytest.mark.parametrize("kind", [LoopKind.SEQUENTIAL, VECTOR, PARALLEL])
def test_checked_subscripts(kind):
    fn = gather(kind)
    for last, want in ((4, 0), (5, 4), (-1, 4)):
        arrays = {
            "A": np.arange(5.0),
            "B": np.empty(9),
            "x": np.array([0, 1, 2, 3, 4, 0, 0, 2, last]),
        }
        status, _ = agree(fn, {"N": 5, "M": 9}, arrays=arrays)
        assert status == want
    run_python(fn, arrays, {"N": 5, "M": 9}, shuffle=Random(3))


@pytest.mark.parametrize("kind", [VECTOR, PARALLEL])
def test_faults_of_an_innermost_loop_are_noted_after_it(kind):
    fn = collect_faults(gather(kind))
    lines = show_body(fn.body)
    assert lines[0] == "bad = 0"
    assert lines[-2:] == ["if bad != 0:", "    faults[2] = 1"]
    assert "reduction(| : bad)" in bare(emit_c(fn).text)


@pytest.mark.toolchain
def test_memory_on_the_way_is_freed_on_every_way_out(tmp_path):
    size = Symbol("m", I64)
    held = array("T", size, size, role=Role.TEMP)
    clear = loop("i", 0, size, loop("j", 0, size, Assign(at("T", "i", "j"), Const(1.0, F64))))
    fn = kernel(
        [array("A", "N"), held, array("n", dtype=I64, role=Role.INPUT)],
        ["N"],
        loop(
            "t",
            0,
            3,
            Declare("m", I64, 1, plus(at("n", dtype=I64), "t")),
            AllocateArray(held),
            clear,
            loop("i", 0, size, Assign(at("A", "i"), at("T", "i", 0))),
            loop("i", 0, size, Assign(at("T", "i", "i"), at("A", 0)), kind=PARALLEL),
            If(is_(size, ">", 6), (Fail(0),)),
        ),
        faults=FAULTS,
    )
    counted = tmp_path / "counted.h"
    counted.write_text(COUNTED)
    flags = (*STRICT, "-include", str(counted))
    for n, want in ((0, 0), (3, 0), (5, 2)):
        arrays = {"A": np.zeros(9), "n": np.array(n)}
        assert agree(fn, {"N": 9}, arrays=arrays)[0] == want
        library = load(emit_c(fn), flags)
        assert library.polyopt_kernel(*arguments(emit_c(fn), arrays, {"N": 9}, {})) == want
        assert library.live() == 0
        assert library.made() == 3
    text = bare(emit_c(fn).text)
    assert text.count("free(po_T);") == 2
    assert text.index("po_T = po_alloc") < text.index("double (*T)[")


@pytest.mark.toolchain
def test_memory_that_cannot_be_had():
    held = array("T", Symbol("m", I64), role=Role.TEMP)
    fn = kernel(
        [array("A", "N"), held, array("K", "N", role=Role.TEMP)],
        ["N"],
        Assign(at("K", 0), Const(1.0, F64)),
        Declare("m", I64, 1, i64("*", "N", 1 << 58)),
        AllocateArray(held),
        Assign(at("T", 0), at("K", 0)),
        Assign(at("A", 0), at("T", 0)),
    )
    status, found = run_c(fn, {"A": np.zeros(4)}, {"N": 4})
    assert status == 1
    assert not found["A"].any()


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
