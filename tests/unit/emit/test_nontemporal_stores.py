"""Stores past the caches: which loops have them, under what condition, the same bits either way."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import polyopt as po
from polyopt.emit.lanes import row_arrays
from polyopt.emit.nontemporal_loops import nontemporal_stores
from polyopt.emit.passes.nontemporal_stores import (
    STRIP,
    TIMES,
    nontemporal_arrays,
    strip_mine_nontemporal,
    use_nontemporal_stores,
)
from polyopt.ir.expr import Compare, CompareOp, Symbol
from polyopt.ir.loops import Assign, Declare, For, If, LoopKind, While
from polyopt.ir.nodes import all_nodes
from polyopt.ir.scop import Role
from polyopt.ir.showing import show
from polyopt.ir.types import DType
from polyopt.machine import Machine
from tests.unit.emit.kernels import (
    array,
    assert_same,
    at,
    data,
    ex,
    function,
    interpret,
    loop,
    op,
    plus,
)

# ruff: noqa: F821, UP037 - sizes are named by strings

ARRAYS = (
    array("X", "N", "M"),
    array("Y", "N", "M", role=Role.OUTPUT),
    array("Z", "N", "M", role=Role.OUTPUT),
    array("V", "N", role=Role.OUTPUT),
)
SMALL = Machine(l3=1)
X, Y = at("X", "i", "j"), at("Y", "i", "j")


def rows(*body, kind=LoopKind.VECTOR):
    return loop("i", 0, "N", loop("j", 0, "M", *body, kind=kind), kind=LoopKind.PARALLEL)


def made(*body):
    return function("f", ARRAYS, ("N", "M"), *body)


def put(target=Y, value=X, statement="S0"):
    return Assign(target, value, statement)


def arrays_of(*body):
    fn = made(*body)
    return nontemporal_arrays(fn, fn.body[-1], row_arrays(fn))


def test_write_only_arrays_get_nontemporal_stores():
    assert arrays_of(rows(put())) == ("Y",)


def test_arrays_that_are_read_stay():
    assert arrays_of(rows(put(value=op("+", X, Y)))) == ()
    assert arrays_of(rows(put(), put(at("V", "i"), Y, "S1"))) == ()


def test_strided_stores_stay():
    stepped = replace(loop("j", 0, "M", put(), kind=LoopKind.VECTOR), step=2)
    assert arrays_of(loop("i", 0, "N", stepped, kind=LoopKind.PARALLEL)) == ()
    marked = stepped.annotated(streams=(("Y", Symbol("is_large", DType.BOOL)),))
    assert nontemporal_stores(marked, row_arrays(made(marked))) == ()


@pytest.mark.toolchain
def test_every_second_element_of_a_row():
    def every_second(a):
        for i in range(0, a.shape[1], 2):
            a[0, i] = 0

    found, wanted = np.ones((3, 7)), np.ones((3, 7))
    po.kernel(every_second, threads=1)(found)
    every_second(wanted)
    assert np.array_equal(found, wanted)


def test_arrays_of_two_statements_stay():
    assert arrays_of(rows(put(), put(value=op("+", X, ex(0)), statement="S1"))) == ()


def test_repeated_stores_stay():
    again = loop("k", 0, "N", rows(put()))
    assert arrays_of(again) == ()
    once = loop("k", 3, 4, rows(put()))
    assert arrays_of(once) == ("Y",)
    until = While(Compare(CompareOp.LT, ex(0), ex("N")), (rows(put()),))
    assert arrays_of(until) == ()


def test_loops_of_row_offsets_count():
    inner = loop("i", "t", plus("t", 4), loop("j", 0, "M", put(), kind=LoopKind.VECTOR))
    assert arrays_of(loop("t", 0, "N", inner)) == ("Y",)


def test_columns_stay():
    assert arrays_of(rows(put(at("Y", "j", "i")))) == ()
    assert arrays_of(rows(put(at("V", "i")))) == ()


def test_lanes_are_needed():
    assert arrays_of(rows(put(), kind=LoopKind.SEQUENTIAL)) == ()


def test_sizes_decide():
    told, nest = use_nontemporal_stores(made(rows(put())), Machine(l3=1000)).body
    assert isinstance(told, Declare)
    assert isinstance(told.value, Compare)
    assert show(told.value) == f"2 * (8 * N * M) >= {TIMES * 1000}"
    (lanes,) = (n for n in all_nodes((nest,)) if isinstance(n, For) and n.streams)
    assert lanes.streams == (("Y", Symbol(told.name, DType.BOOL)),)


@pytest.mark.parametrize(("elements", "count"), [(255, 0), (256, 1)])
def test_loops_over_short_rows_are_left_out(elements, count):
    tile = loop("j", ex("M"), plus("M", elements), put(), kind=LoopKind.VECTOR)
    fn = use_nontemporal_stores(made(loop("i", 0, "N", tile)), SMALL)
    assert sum(isinstance(n, For) and bool(n.streams) for n in all_nodes(fn.body)) == count


def test_loops_that_also_write_what_stays_in_the_caches_are_left_out():
    """A row that each step of the outer loop updates beside the one that it fills."""
    update = put(at("V", "j"), op("+", at("V", "j"), X), "S1")
    for body, count in (((put(),), 1), ((update, put()), 0)):
        fn = use_nontemporal_stores(made(rows(*body)), SMALL)
        assert sum(isinstance(n, For) and bool(n.streams) for n in all_nodes(fn.body)) == count


def test_arrays_that_another_nest_reads_must_exceed_the_caches():
    reader = loop("i", 0, "N", put(at("V", "i"), at("Y", "i", 0), "S1"))
    alone = use_nontemporal_stores(made(rows(put())), SMALL).body[0]
    read = use_nontemporal_stores(made(rows(put()), reader), SMALL).body[0]
    assert isinstance(alone, Declare)
    assert isinstance(read, Declare)
    assert alone.value != read.value


def test_one_condition_is_computed_once():
    fn = use_nontemporal_stores(made(rows(put()), rows(put(value=op("+", X, ex(0))))), SMALL)
    assert sum(isinstance(node, Declare) for node in fn.body) == 1


def test_conditional_stores_do_not_fill_rows():
    choice = If(Compare(CompareOp.LT, ex("j"), ex(3)), (put(),))
    fn = use_nontemporal_stores(made(rows(choice)), SMALL)
    (lanes,) = (n for n in all_nodes(fn.body) if isinstance(n, For) and n.streams)
    assert nontemporal_stores(lanes, row_arrays(fn)) == ()


def test_threads_share_strips_of_what_has_no_rows():
    single = loop("i", 2, "N", put(at("V", "i"), at("X", 0, "i")), kind=LoopKind.PARALLEL)
    fn = made(single)
    strips = strip_mine_nontemporal(fn)
    (outer,) = strips.body
    assert isinstance(outer, For)
    (inner,) = outer.body
    assert (outer.kind, inner.kind) == (LoopKind.PARALLEL, LoopKind.VECTOR)
    for size in (0, 2, 3, STRIP + 1, STRIP + 2, STRIP + 3):
        params = {"N": size, "M": size}
        arrays = data(fn, params)
        want, got = interpret(fn, arrays, params), interpret(strips, arrays, params)
        assert np.array_equal(want["V"], got["V"])


@pytest.mark.toolchain
@pytest.mark.parametrize("machine", [SMALL, Machine()], ids=["past", "cached"])
@pytest.mark.parametrize("columns", [0, 1, 7, 31, 33, 64, 100])
def test_rows_are_filled_whole(machine, columns):
    fn = use_nontemporal_stores(made(rows(put(), put(at("Z", "i", "j"), X, "S1"))), machine)
    assert_same(fn, {"N": 3, "M": columns})


# -- whole programs


def affine(x: po.f64["N,M"], s: po.f64):
    return s * x + 1.0


def wave(x: po.f64["N,M"], s: po.f64):
    return np.sqrt(np.abs(x)) + s, x > s


def capped(x: po.f64["N,M"], s: po.f64):
    out = np.empty_like(x)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            out[i, j] = x[i, j] if x[i, j] > s else s
    return out


def halves(x: po.f64["N,M"], s: po.f64):
    return (x * 2).astype(np.float32), x - s


def single(x: po.f64["N,M"], s: po.f64):
    return np.maximum(x[0] * s, 0.25)


@pytest.fixture
def no_cache(monkeypatch):
    """A machine on which everything is large."""
    monkeypatch.setenv("POLYOPT_L3", "1")


@pytest.mark.toolchain
@pytest.mark.usefixtures("no_cache")
@pytest.mark.parametrize("vector", ["16", "32", "64"])
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("program", [affine, wave, capped, halves, single])
def test_programs_store_the_same_bits(program, threads, vector, monkeypatch):
    monkeypatch.setenv("POLYOPT_VECTOR_BYTES", vector)
    call = po.kernel(program, threads=threads)
    rng = np.random.default_rng(5)
    for shape in ((1, 1), (2, 31), (3, 64), (5, 65), (3, 4099), (1, 9001), (2, 0)):
        if program is single and 0 in shape:
            continue
        x = rng.standard_normal(shape)
        x.ravel()[::7] = np.nan
        with np.errstate(all="ignore"):
            want = program(x, 0.5)
        got = call(x, 0.5)
        for one, other in zip(np.atleast_1d(want), np.atleast_1d(got), strict=True):
            assert np.array_equal(one, other, equal_nan=one.dtype.kind == "f"), shape
    assert "po_streamed();" in call.compile(x, 0.5).source


@pytest.mark.toolchain
@pytest.mark.usefixtures("no_cache")
@pytest.mark.parametrize("offset", range(9))
def test_rows_need_not_be_aligned(offset):
    @po.kernel(threads=2)
    def two(x: po.f64["N"], y: po.f64["N"], z: po.f64["N"]):
        y[:] = x + 1
        z[:] = x * 2

    memory = np.zeros(40_000)
    y, z = memory[offset : offset + 10_001], memory[20_000:30_001]
    x = np.linspace(0, 1, 10_001)
    two(x, y, z)
    assert np.array_equal(y, x + 1)
    assert np.array_equal(z, x * 2)
    assert memory[:offset].sum() == memory[offset + 10_001 : 20_000].sum() == 0
    assert memory[30_001:].sum() == 0


@pytest.mark.toolchain
@pytest.mark.usefixtures("no_cache")
@pytest.mark.parametrize(("vector", "elements"), [("32", 256), ("64", 64)])
def test_only_long_rows_are_aligned_and_go_past_the_caches(vector, elements, monkeypatch):
    monkeypatch.setenv("POLYOPT_VECTOR_BYTES", vector)

    @po.kernel(threads=1)
    def doubled(y: po.f64["N,M"], x: po.f64["N,M"]):
        for i in range(y.shape[0]):
            for j in range(y.shape[1]):
                y[i, j] = 2.0 * x[i, j]

    text = " ".join(doubled.compile().source.split())
    assert f"-(M >= {elements} ? po_phase" in text
    assert f"M >= {elements} && is_large" in text


@pytest.mark.toolchain
@pytest.mark.usefixtures("no_cache")
@pytest.mark.parametrize("vector", ["16", "32", "64"])
@pytest.mark.parametrize("columns", [64, 65, 300, 4099])
def test_rows_side_by_side_in_one_loop_may_be_aligned_differently(vector, columns, monkeypatch):
    monkeypatch.setenv("POLYOPT_VECTOR_BYTES", vector)

    @po.kernel(threads=1)
    def smoothed(y: po.f64["N,M"], x: po.f64["N,M"]):
        for i in range(1, y.shape[0] - 1):
            for j in range(y.shape[1]):
                y[i, j] = x[i - 1, j] + x[i, j] + x[i + 1, j]

    x = np.random.default_rng(5).standard_normal((11, columns))
    y = np.zeros_like(x)
    smoothed(y, x)
    assert np.array_equal(y[1:-1], x[:-2] + x[1:-1] + x[2:])
    assert "po_stream" in smoothed.compile(y, x).source
    assert "i += 4" in smoothed.compile(y, x).source
