"""What every test of a schedule asserts: same results by the slow interpreter, real witnesses.

In: Scops, steps, schedules.  Out: nothing, or an AssertionError.
"""

from __future__ import annotations

from random import Random
from typing import Any

import islpy as isl
import pytest

from polyopt.emit.lower import lower
from polyopt.errors import IllegalSchedule
from polyopt.ir.interp import fix_params
from polyopt.ir.loops import show_body
from polyopt.ir.scop import Scop
from polyopt.schedule import Schedule, Transform, Witness, source_schedule
from polyopt.schedule.tree import show_tree
from polyopt.transforms import parse_steps
from tests.oracle import confirm_witness, hashed
from tests.oracle.program import as_program
from tests.properties.schedules import check_schedule

LEAST = ({"N": 0, "M": 0, "K": 0, "T": 0}, {"N": 1, "M": 1, "K": 1, "T": 1})
ODD = ({"N": 7, "M": 5, "K": 3, "T": 3}, {"N": 4, "M": 9, "K": 5, "T": 2})


def sizes_of(scop: Scop) -> list[dict[str, int]]:
    """Return sizes to run at: empty, one, and odd ones that no tile size divides."""
    every = [{name: size.get(name, 6) for name in scop.params} for size in (*LEAST, *ODD)]
    found = [size for n, size in enumerate(every) if size not in every[:n]]
    return [size for size in found if not fix_params(scop.context, size).is_empty()]


def assert_same(value: Any, text: str) -> None:
    """Assert that an isl map, set or union equals the one written in `text`."""
    kind = isl.UnionMap if isinstance(value, isl.UnionMap | isl.Map) else isl.UnionSet
    if isinstance(value, isl.Map):
        value = isl.UnionMap.from_map(value)
    if isinstance(value, isl.Set):
        value = isl.UnionSet.from_set(value)
    want = kind.read_from_str(isl.DEFAULT_CONTEXT, text)
    assert value.is_equal(want), f"{value}\nis not\n{want}"


def assert_computes(scop: Scop, *steps: Transform) -> Schedule:
    """Assert that `scop` after `steps` computes what `scop` does; return the schedule.

    Values are hashes of what they are made from, so that any wrong order shows; it runs in the
    order of the tree, as lowered loops, and with parallel loops shuffled.
    """
    mixed = hashed(scop)
    schedule = source_schedule(mixed).apply(*steps)
    check_schedule(mixed, schedule, sizes_of(scop), Random(5))
    return source_schedule(scop).apply(*steps)


def assert_round_trip(*steps: Transform) -> None:
    """Assert that each step's text reads back as the step."""
    for step in steps:
        assert parse_steps(str(step)) == (step,)
    assert parse_steps("; ".join(map(str, steps))) == steps


def assert_illegal(scop: Scop, code: str, *steps: Transform) -> tuple[IllegalSchedule, Witness]:
    """Assert that the last step is refused on a witness that brute force confirms; return both."""
    schedule = source_schedule(scop).apply(*steps[:-1])
    with pytest.raises(IllegalSchedule) as refused:
        schedule.apply(steps[-1])
    error = refused.value
    assert error.code == code
    witness = error.witness
    assert isinstance(witness, Witness)
    confirm_witness(schedule.scop, witness, steps[-1].rewrite(schedule.tree, schedule.scop))
    return error, witness


def story(scop: Scop, *steps: Transform) -> str:
    """Return the trees before and after each step, and the loops of the last, for a golden."""
    schedule = source_schedule(scop)
    lines = show_tree(schedule.tree, schedule.scop)
    for step in steps:
        schedule = schedule.apply(step)
        lines += ["", f"-- {step}", *show_tree(schedule.tree, schedule.scop)]
    loops = lower(schedule, as_program(scop))
    lines += ["", "-- loops", *show_body(loops.body)]
    return "\n".join(lines) + "\n"
