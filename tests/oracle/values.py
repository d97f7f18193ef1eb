"""Witnesses of refused data steps, confirmed by enumeration.

In: a step, the schedule it was refused on, the refusal.  Out: nothing, or an AssertionError.
"""

from __future__ import annotations

from polyopt.errors import IllegalSchedule
from polyopt.ir.integers import evaluate
from polyopt.schedule.data import ValueWitness
from polyopt.schedule.data_steps import DataStep
from polyopt.schedule.rebase import rebased
from polyopt.schedule.schedule import Schedule
from tests.oracle.judge import confirm_witness, last_writes


def confirm_refusal(step: DataStep, schedule: Schedule, refusal: IllegalSchedule) -> None:
    """Assert that the witness of a refused data step tells what the program does."""
    witness = refusal.witness
    if refusal.code == "PO0333":
        assert isinstance(witness, ValueWitness)
        return
    made = step.renew(schedule.tree, schedule.scop)
    if not isinstance(witness, ValueWitness):
        confirm_witness(rebased(made.scop, made.tree), witness, made.tree)
        return
    if witness.read is None or witness.wanted is None:
        return
    params = dict(witness.params)
    name, point = witness.read
    reader = made.scop.statement(name)
    origin = made.same.get(name)
    if origin is not None:
        env = params | dict(zip(reader.iters, point, strict=True))
        name, point = origin.statement, tuple(evaluate(part, env) for part in origin.instance)
    pairs = last_writes(rebased(schedule.scop, schedule.tree), params)
    assert (witness.wanted, (name, point)) in pairs, witness
    assert witness.found != witness.wanted, witness
    assert witness.found is None or (witness.found, (name, point)) not in pairs, witness
