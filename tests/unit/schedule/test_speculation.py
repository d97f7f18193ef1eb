"""Scalars under a condition: computed always where nothing else can see them."""

from __future__ import annotations

import islpy as isl
import numpy as np
import pytest

import polyopt as po
from polyopt.dataclass import replace
from polyopt.frontend import build
from polyopt.ir.expr import Const, Iter, integer, loads
from polyopt.ir.interp import run_program
from polyopt.ir.program import Program
from polyopt.ir.types import DType
from polyopt.schedule.speculation import with_speculated_scalars
from polyopt.specialize import Parameters, types_of


def program(function, *values) -> Program:
    return build(function, types_of(Parameters.of(function), values, frozenset()))


def unguarded(found: Program) -> set[str]:
    """Return the scalars whose writes have no guard now, though they had one."""
    before = {s.name for s in found.scop.statements if s.guard is not None}
    after = with_speculated_scalars(found)
    return {s.target.array for s in after.scop.statements if s.name in before and s.guard is None}


def forces(x, out, cutoff):
    for i in range(x.shape[0]):
        total = 0.0
        for j in range(x.shape[0]):
            d = x[i] - x[j]
            if d * d < cutoff and d > 0.0:
                s = 1.0 / d
                f = s * s - s
                total += f * d
        out[i] = total


def two_sides(x, out):
    for i in range(x.shape[0]):
        v = x[i]
        if v > 0.5:
            t = v * 2.0
            out[i] = t * t
        else:
            t = v - 1.0
            out[i] = t


def read_after(x, out):
    s = 0.0
    for i in range(x.shape[0]):
        v = x[i]
        if v > 0.5:
            s = v * 2.0
        out[i] = s


def nested(x, out):
    for i in range(x.shape[0]):
        v = x[i]
        if v > 0.25:
            t = v * 2.0
            if v > 0.75:
                t = v * 3.0
            out[i] = t


def several(x, out):
    for i in range(x.shape[0]):
        v = x[i]
        if v > 0.5:
            t = v * 2.0
            v = v - 1.0
            out[i] = t + v


def reads_an_array(x, out):
    for i in range(x.shape[0]):
        v = x[i]
        if v > 0.5:
            t = out[i] * v
            out[i] = t


def calls(x, out):
    for i in range(x.shape[0]):
        v = x[i]
        if v > 0.5:
            t = np.exp(v)
            out[i] = t


CASES = {
    forces: {"s", "f"},
    two_sides: {"t", "t_1"},
    nested: {"t"},  # not `t_1`, of which two conditions decide
    several: {"t", "v_1"},
    read_after: set(),
    reads_an_array: set(),
    calls: set(),
}


def arguments(function):
    rng = np.random.default_rng(3)
    values = (rng.random(9), rng.random(9))
    return (*values, 0.2) if function is forces else values


@pytest.mark.parametrize("function", CASES, ids=lambda f: f.__name__)
def test_only_scalars_that_nothing_else_sees(function):
    assert unguarded(program(function, *arguments(function))) == CASES[function]


@pytest.mark.parametrize("function", CASES, ids=lambda f: f.__name__)
def test_results_stay(function):
    given, wanted = arguments(function), arguments(function)
    function(*wanted)
    run_program(with_speculated_scalars(program(function, *given)), given)
    np.testing.assert_array_equal(given[1], wanted[1])


def changed(statement: str, **fields) -> Program:
    """Return `two_sides` with something else in one of its statements."""
    found = program(two_sides, *arguments(two_sides))
    statements = tuple(
        replace(s, **fields) if s.name == statement else s for s in found.scop.statements
    )
    return replace(found, parts=(replace(found.scop, statements=statements),))


def test_the_read_follows_the_write():
    first, _, last = program(two_sides, *arguments(two_sides)).scop.statements[0].order
    assert "t" not in unguarded(changed("S2", order=(first, Iter("i"), last)))


def test_the_condition_stays_until_the_read():
    found = program(two_sides, *arguments(two_sides))
    number, write, read, *rest = found.scop.statements
    assert "t" in unguarded(found)
    first, step, _ = write.order
    between = replace(write, name="S9", target=number.target, value=Const(1.0, DType.FLOAT64))
    later = [replace(s, order=(first, step, integer(9))) for s in (read, *rest)]
    place = replace(between, order=(first, step, integer(8)))
    scop = replace(found.scop, statements=(number, write, place, *later))
    assert "t" not in unguarded(replace(found, parts=(scop,)))


def test_the_write_happens_wherever_the_read_does():
    domain = program(two_sides, *arguments(two_sides)).scop.statements[1].domain
    half = domain.intersect(isl.Set(str(domain).replace("0 <= i", "2 <= i")))
    assert "t" not in unguarded(changed("S1", domain=half))


@pytest.mark.toolchain
def test_loops_around_such_scalars_are_parallel():
    given, wanted = arguments(forces), arguments(forces)
    forces(*wanted)
    kernel = po.kernel(forces, threads=2)
    kernel(*given)
    np.testing.assert_array_equal(given[1], wanted[1])
    assert "parallelize(" in kernel.compile(*given).schedule_text


def ladder(x, out, low, high):
    for i in range(x.shape[0]):
        v = x[i]
        if v > high:
            v = high
            out[i] = 1.0
        elif v < low:
            v = low
            out[i] = -1.0
        x[i] = v


def protected(x, y, out):
    for i in range(x.shape[0]):
        v = x[i]
        if v > 0.5:
            v = y[i]
            near = v < y[i]
            if near:
                out[i] = v


@pytest.mark.toolchain
def test_comparisons_of_later_branches_are_computed_always():
    """Whether an `elif` holds is known in each iteration, of numbers that its branch reads."""
    values = np.linspace(-1, 2, 9), np.zeros(9), 0.0, 1.0
    found = unguarded(program(ladder, *values))
    assert any(name.startswith("cond") for name in found)
    expected = [v.copy() if isinstance(v, np.ndarray) else v for v in values]
    ladder(*expected)
    po.kernel(ladder)(*values)
    np.testing.assert_array_equal(values[0], expected[0])
    np.testing.assert_array_equal(values[1], expected[1])


def test_elements_that_the_condition_does_not_read_stay_under_it():
    found = program(protected, np.zeros(4), np.zeros(4), np.zeros(4))
    after = with_speculated_scalars(found).scop.statements
    reading = [s for s in after if any(load.array == "y" for load in loads(s.value))]
    assert reading
    assert all(s.guard is not None for s in reading)


def between(x, table, out):
    for i in range(x.shape[0]):
        at = x[i]
        k = int(np.floor(at))
        if 0 <= k < table.shape[0] - 1:
            f = at - k
            out[i] = table[k] * (1 - f) + table[k + 1] * f


def in_place(x, table, out):
    for i in range(x.shape[0]):
        if 0 <= int(x[i] * 2.0) < table.shape[0]:
            f = x[i] * 2.0 - int(x[i] * 2.0)
            out[i] = table[int(x[i] * 2.0)] * f


def unlike(x, table, out):
    for i in range(x.shape[0]):
        if x[i] > 0.0:
            k = int(x[i] * 4.0)
            out[i] = table[k % 7]


def test_what_the_condition_converts_may_be_converted_always():
    args = np.zeros(5), np.zeros(7), np.zeros(5)
    assert unguarded(program(between, *args)) == {"f"}
    assert unguarded(program(in_place, *args)) == {"f"}
    assert unguarded(program(unlike, *args)) == set()
