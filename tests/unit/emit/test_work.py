"""Estimates of a loop's work, against the number of assignments it runs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from polyopt.emit.lower import lower
from polyopt.emit.work import work
from polyopt.ir.expr import Binary, BinaryOp, Call, Iter, MathFunc, Symbol, VectorLoad, integer
from polyopt.ir.integers import evaluate
from polyopt.ir.interp import run_loops
from polyopt.ir.loops import Assign, For, If, SetLocal
from polyopt.ir.showing import show
from polyopt.ir.types import DType
from polyopt.schedule import source_schedule
from polyopt.transforms import Interchange, Skew, Tile
from tests import scops
from tests.oracle import random_arrays
from tests.oracle.program import as_program
from tests.reading import read
from tests.unit.emit.kernels import at, least, loop, plus

STORE = Assign(at("A", 0), at("B", 0), "S0")


def test_products_of_trip_counts():
    assert show(work(loop("i", 0, "N", loop("j", 0, "M", STORE)))) == "N * M"
    assert show(work(loop("i", 2, "N", STORE))) == "N - 2"
    assert show(work(loop("i", 0, 10, loop("j", 0, 4, STORE)))) == "40"
    assert show(work(loop("i", 0, "N", STORE, STORE, STORE))) == "3 * N"


def test_steps_divide():
    assert show(work(loop("i", 0, "N", STORE, step=4))) == "N // 4"


def test_the_deepest_nest_counts():
    body = loop("i", 0, "N", STORE, loop("j", 0, "M", STORE), loop("k", 0, 3, STORE))
    assert show(work(body)) == "N * M"
    deep = loop("j", 0, "M", loop("k", 0, 5, STORE))
    assert show(work(loop("i", 0, "N", loop("l", 0, 99, STORE), deep))) == "5 * N * M"


def test_conditions_count_as_taken():
    condition = at("C", 0)
    assert show(work(loop("i", 0, "N", If(condition, (STORE, STORE))))) == "2 * N"
    assert show(work(loop("i", 0, "N", If(condition, (STORE,)), STORE))) == "2 * N"
    inner = loop("j", 0, "M", STORE)
    assert show(work(loop("i", 0, "N", If(condition, (STORE,)), inner))) == "N * M"
    assert show(work(loop("i", 0, "N", If(condition, (inner,)), STORE))) == "N * M"


def test_tiles_cancel():
    """Tiles times their size is the number of points."""
    scop = scops.transposed()
    fn = lower(source_schedule(scop).apply(Tile("L0", (8, 16))), as_program(scop))
    (outer,) = fn.body
    assert isinstance(outer, For)
    assert show(work(outer)) == "N * M"


def test_rounded_tiles_cancel():
    tiles = Binary(BinaryOp.FLOORDIV, plus("N", 31), integer(32), DType.INT64)
    assert show(work(loop("t", 0, tiles, loop("i", 0, 32, STORE)))) == "N"
    fewer = Binary(BinaryOp.FLOORDIV, plus("N", 30), integer(32), DType.INT64)
    assert show(work(loop("t", 0, fewer, loop("i", 0, 32, STORE)))) == "32 * ((N + 30) // 32)"


def test_nests_of_copies_and_of_what_tiles_leave_over_do_not_count():
    copy = Assign(at("A", 0), at("B", 0), "")
    main = replace(loop("i", 0, "N", STORE), label="L0.point[0]")
    moves = loop("k", 0, "K", loop("j", 0, "M", copy))
    rest = replace(loop("k", 0, "K", loop("j", 0, "M", STORE)), label="L0.point.rest[0]")
    assert show(work(loop("t", 0, 4, moves, main, rest))) == "4 * N"
    assert show(work(loop("t", 0, 4, rest, main))) == "4 * N"
    assert show(work(loop("t", 0, 4, rest))) == "4 * K * M"
    assert show(work(loop("t", 0, 4, moves))) == "4 * K * M"
    condition = at("C", 0)
    assert show(work(loop("t", 0, 4, If(condition, (rest,)), main))) == "4 * N"


def test_what_full_tiles_leave_over_counts_as_they_do():
    full = Binary(BinaryOp.FLOORDIV, plus("N", 0), integer(32), DType.INT64)
    tiles = loop("t", 0, full, loop("i", 0, 32, loop("j", 0, "M", STORE)))
    tiles = replace(tiles, label="L0.tile[0]")
    rest = replace(loop("i", 0, "N", loop("j", 0, "M", STORE)), label="L0.point.rest[0]")
    assert show(work(loop("k", 0, "K", tiles))) == "32 * K * (N // 32) * M"
    assert show(work(loop("k", 0, "K", tiles, rest))) == "K * N * M"
    but_one = replace(tiles, upper=Binary(BinaryOp.SUB, full, integer(1), DType.INT64))
    assert show(work(loop("k", 0, "K", but_one, rest))) == "K * (N - 32) * M"


def test_what_is_left_counts_where_there_are_no_full_tiles():
    start = replace(loop("i", 0, "N", STORE), label="L0.inner[0]")
    sums = replace(loop("i", 0, "N", loop("j", 0, "M", STORE)), label="L1.tile.rest[0]")
    assert show(work(loop("k", 0, "K", start, sums))) == "K * N * M"


def test_functions_count_as_several_assignments():
    value = Call(MathFunc.EXP, (at("B", 0),), DType.FLOAT64)
    function = Assign(at("A", 0), value, "S0")
    assert show(work(loop("i", 0, "N", function))) == "9 * N"
    root = Assign(at("A", 0), replace(value, func=MathFunc.SQRT), "S0")
    assert show(work(loop("i", 0, "N", root))) == "N"
    sums = loop("j", 0, "N", loop("k", 0, "K", STORE))
    both = loop("t", 0, 4, sums, loop("j", 0, "N", function))
    assert show(work(both)) == "4 * (N * K + 9 * N)"


def test_vectors_count_as_their_lanes():
    lanes = VectorLoad("A", (Iter("i"),), DType.FLOAT64, 8)
    store = Assign(lanes, VectorLoad("B", (Iter("i"),), DType.FLOAT64, 8), "S0")
    assert show(work(loop("i", 0, "N", store))) == "8 * N"
    local = SetLocal("v", DType.FLOAT64, 4, Symbol("w", DType.FLOAT64, 4), "S0")
    assert show(work(loop("i", 0, "N", local))) == "4 * N"


def test_lanes_and_rows_without_a_loop_of_their_own_count_as_nests():
    lanes = VectorLoad("A", (integer(0),), DType.FLOAT64, 8)
    steps = Assign(lanes, VectorLoad("B", (integer(0),), DType.FLOAT64, 8), "S0")
    begun = loop("i", 0, 16, STORE)
    assert show(work(loop("t", 0, "T", begun, loop("j", 0, "M", steps)))) == "8 * T * M"
    assert show(work(loop("t", 0, "T", begun, loop("j", 0, "M", STORE, STORE)))) == "2 * T * M"
    begun = loop("i", 0, 16, steps, step=8)
    assert show(work(loop("t", 0, "T", begun, loop("j", 0, "M", STORE)))) == "T * M"
    long = loop("i", 0, 4096, STORE)
    assert show(work(loop("t", 0, "T", long, loop("j", 0, "M", STORE)))) == "4096 * T"


def test_minima_are_resolved_to_the_simpler_side():
    points = loop("i", "t", least(plus("t", 8), "N"), STORE)
    assert show(work(loop("t", 0, "M", points, step=8))) == "8 * (M // 8)"


def test_outer_iterators_stay_in_the_formula():
    assert show(work(loop("j", 0, "i", STORE))) == "i"


CASES = [
    (scops.gemm, ()),
    (scops.gemm, (Tile("L0", (4, 4, 8)),)),
    (scops.solve, ()),
    (scops.seidel, (Tile("L0", (8, 8)),)),
    (scops.seidel, (Skew("i", "j"),)),
    (scops.transposed, (Interchange("i", "j"),)),
    (scops.transposed, (Tile("L0", (5,)),)),
]


IDS = ["-".join((make.__name__, *map(str, steps))) for make, steps in CASES]


@pytest.mark.parametrize(("make", "steps"), CASES, ids=IDS)
def test_about_right(make, steps):
    """Within a factor of three of the truth, large enough sizes given."""
    scop = make()
    params = {name: 18 + 3 * n for n, name in enumerate(scop.params)}
    fn = lower(source_schedule(scop).apply(*steps), as_program(scop))
    trace = []
    run_loops(fn, random_arrays(scop.arrays, params, 0), params, trace=trace)
    guess = sum(evaluate(work(node), params) for node in fn.body if isinstance(node, For))
    assert len(trace) / 3 <= guess <= 3 * len(trace)


def test_triangles_are_taken_at_the_middle():
    scop = read("for i in range(N):\n    for j in range(i, N):\n        A[i, j] = 1", "A[N, N]")
    fn = lower(source_schedule(scop), as_program(scop))
    (outer,) = fn.body
    assert isinstance(outer, For)
    assert 4900 <= evaluate(work(outer), {"N": 100}) <= 5100


def test_empty_loops_are_no_trouble():
    amount = work(loop("i", "N", 0, loop("j", 0, "i", STORE)))
    assert isinstance(evaluate(amount, {"N": 5}), int)
