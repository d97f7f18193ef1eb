"""Programs that random testing found: each broke a stage once."""

from __future__ import annotations

from random import Random

import pytest

from polyopt.emit import optimize_loops
from polyopt.emit.lower import lower
from polyopt.errors import IllegalSchedule
from polyopt.ir.expr import Expr, Iter, Param, add, integer, sub
from polyopt.ir.interp import run_loops, run_scop
from polyopt.ir.scop import Scop
from polyopt.machine import Machine
from polyopt.schedule.schedule import source_schedule
from polyopt.strategy import auto_schedule
from polyopt.transforms import Interchange, Parallelize, Rfactor, Skew, Tile, Vectorize
from tests.oracle import confirm_witness, enumerate_kernel, hashed, random_arrays
from tests.oracle.program import as_program
from tests.properties.schedules import check_schedule, compare, sizes_for
from tests.properties.spec import Loop, Put, Spec, build_scop

N, M, i, j = Param("N"), Param("M"), Iter("i"), Iter("j")


def plus(expr: Expr, value: int) -> Expr:
    return add(expr, integer(value))


def test_pairs_outside_the_context_are_no_dependences() -> None:
    """The written and the read cell meet only at negative sizes: the loop is parallel."""
    read = plus(add(N, M), 1)
    loop = Loop("i", integer(0), N, 1, (Put("A", (i,), (("A", (read,)),)),))
    scop = hashed(build_scop(Spec((("A", 1),), (loop,))))
    schedule = source_schedule(scop).apply(Parallelize("i"))
    check_schedule(scop, schedule, sizes_for(0), Random(1))


def test_smallest_witness_of_a_strided_loop() -> None:
    inner = Loop(
        "j",
        sub(M, integer(1)),
        integer(-1),
        -2,
        (Put("A", (plus(j, 2),), (("A", (plus(i, 2),)),)),),
    )
    spec = Spec((("A", 1),), (Loop("i", integer(0), M, 1, (inner,)),))
    scop = hashed(build_scop(spec))
    start = source_schedule(scop).apply(Tile("L0", (2,))).apply(Tile("L0.tile", (4,)))
    step = Tile("L0.point", (5, 4))
    with pytest.raises(IllegalSchedule) as refused:
        start.apply(step)
    confirm_witness(scop, refused.value.witness, step.rewrite(start.tree, scop))


def test_a_skewed_loop_outside_its_partner() -> None:
    """Loops count in the source's coordinates only where the other iterator is known."""
    inner = Loop("j", integer(0), sub(i, integer(1)), 1, (Put("B", (plus(j, 2),), ()),))
    scop = hashed(build_scop(Spec((("B", 1),), (Loop("i", integer(1), N, 1, (inner,)),))))
    schedule = source_schedule(scop).apply(
        Tile("L0", (4,)),
        Skew("L0.point[1]", "L0.point[0]", 1),
        Interchange("L0.point[0]", "L0.point[1]"),
    )
    check_schedule(scop, schedule, sizes_for(0), Random(1))


def test_a_guard_on_the_accumulator_keeps_the_order() -> None:
    put = Put("A", (integer(0),), (("A", (integer(0),)), ("B", (i,))), True, guarded=True)
    scop = build_scop(Spec((("A", 1), ("B", 1)), (Loop("i", integer(0), N, 1, (put,)),)))
    assert not scop.statements[0].is_reassociable
    with pytest.raises(IllegalSchedule):
        source_schedule(scop).apply(Vectorize("i"))


def test_loops_with_steps_that_defeat_flow_analysis() -> None:
    zero, total = (integer(0),), ("B", ())
    first = Loop(
        "k", sub(N, integer(2)), sub(i, integer(1)), -2,
        (Put("B", (), (total, ("A", (plus(i, 3),))), True), Put("T", zero, (total,))),
    )  # fmt: skip
    second = Loop(
        "k", sub(M, integer(3)), j, -1,
        (Put("B", (), (("A", (plus(i, 2),)),)), Put("T", zero, (total,))),
    )  # fmt: skip
    nest = Loop("i", sub(N, integer(1)), integer(0), -2, (Loop("j", i, M, 1, (first, second)),))
    spec = Spec((("A", 1), ("B", 0), ("T", 1)), (nest,), 1, frozenset(("T",)))
    scop = hashed(build_scop(spec))
    schedule = auto_schedule(scop, Machine())
    check_schedule(scop, schedule, sizes_for(1), Random(1))


def test_lowered_loops_keep_vector_accumulators_apart() -> None:
    """A cell that a reduction and another statement touch in one iteration is no conflict."""
    body = (
        Put("A", (i, plus(j, 3)), (), True),
        Put("A", (integer(3), plus(j, 4)), (("A", (integer(3), plus(j, 4))),)),
    )
    inner = Loop("j", sub(N, integer(2)), integer(-1), -1, body)
    spec = Spec((("A", 2),), (Loop("i", integer(2), sub(M, integer(2)), 1, (inner,)),))
    scop = hashed(build_scop(spec))
    schedule = auto_schedule(scop, Machine())
    loops = lower(schedule, as_program(schedule.scop))
    before = random_arrays(scop.arrays, {"N": 5, "M": 9}, 1)
    want = {name: array.copy() for name, array in before.items()}
    run_loops(loops, want, {"N": 5, "M": 9})
    compare(want, before, lambda a: run_loops(loops, a, {"N": 5, "M": 9}, shuffle=Random(1)))


def test_an_accumulator_that_is_also_set_is_no_reduction() -> None:
    body = (Put("A", (), ()), Put("A", (), (), True))
    spec = Spec((("A", 0),), (Loop("j", integer(2), M, 1, body),))
    scop = hashed(build_scop(spec))
    check_optimized(scop)


def test_an_accumulator_that_is_read_on_the_way_is_no_reduction() -> None:
    body = (Put("A", (), (("B", (j,)),), True), Put("C", (j,), (("A", ()),)))
    spec = Spec((("A", 0), ("B", 1), ("C", 1)), (Loop("j", integer(0), M, 1, body),))
    check_optimized(hashed(build_scop(spec)))


def test_partial_results_of_a_strided_loop_stay_in_their_array() -> None:
    """The loop that sets them once ran over the iterations between those of the source as well."""
    loop = Loop("i", integer(1), N, 2, (Put("A", (i,), (), True),))
    spec = Spec((("A", 1),), (loop,))
    scop = hashed(build_scop(spec))
    schedule = source_schedule(scop).apply(Rfactor("S0", "i"))
    loops = lower(schedule, as_program(schedule.scop))
    for params in sizes_for(0):
        assert enumerate_kernel(as_program(scop), loops, params) == []


def check_optimized(scop: Scop) -> None:
    for schedule in (source_schedule(scop), auto_schedule(scop, Machine())):
        loops = optimize_loops(lower(schedule, as_program(schedule.scop)), Machine(), "strict")
        for params in sizes_for(0):
            before = random_arrays(scop.arrays, params, 1)
            want = {name: array.copy() for name, array in before.items()}
            run_scop(scop, want, params)
            compare(
                want, before, lambda a, p=params, o=loops: run_loops(o, a, p, shuffle=Random(1))
            )
