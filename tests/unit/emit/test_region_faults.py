"""Faults of whole functions: which one is told, that all loops end, that memory is freed."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from polyopt.emit import emit_c
from polyopt.emit.fault_exits import exit_on_faults
from polyopt.emit.passes.faults import collect_faults
from polyopt.ir.expr import (
    Binary,
    BinaryOp,
    Compare,
    CompareOp,
    Const,
    Symbol,
)
from polyopt.ir.loops import (
    AllocateArray,
    Assign,
    Declare,
    Fail,
    If,
    LoopKind,
    While,
    show_body,
)
from polyopt.ir.scop import Role
from tests.texts import bare
from tests.unit.emit.kernels import (
    F64,
    STRICT,
    arguments,
    array,
    at,
    ex,
    i64,
    load,
    loop,
    plus,
)
from tests.unit.emit.region_runs import (
    BOOL,
    FAULTS,
    I64,
    agree,
    cell,
    fault_array,
    is_,
    kernel,
    note,
    put,
    run_c,
    run_python,
    scalar,
)

PARALLEL, VECTOR = LoopKind.PARALLEL, LoopKind.VECTOR
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
