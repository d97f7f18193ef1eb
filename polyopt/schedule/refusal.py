"""The error that refuses a step: its code, its witness, and what to do instead.

In: the tree before the step, the step, the violation the judge found.  Out: an `IllegalSchedule`.
"""

from __future__ import annotations

from typing import Protocol

from polyopt.errors import IllegalSchedule
from polyopt.ir.scop import Scop
from polyopt.schedule.dependences import Dependences
from polyopt.schedule.legality import Fault, Violation
from polyopt.schedule.repair import advice
from polyopt.schedule.tree import Tree
from polyopt.schedule.witness import Witness, describe, find_witness


class Rewrite(Protocol):
    """What a refusal needs of a step: the tree it makes, and its text."""

    def rewrite(self, tree: Tree, scop: Scop) -> Tree:
        """Return the changed tree."""

    def __str__(self) -> str:
        """Return the step in the schedule language."""


def refusal(
    scop: Scop, dependences: Dependences, tree: Tree, step: Rewrite, violation: Violation
) -> IllegalSchedule:
    """Return the error that refuses `step` on `tree`, with its witness and advice that works."""
    if violation.fault is Fault.LOST:
        raise AssertionError(f"{step} loses instances: {violation.pairs}")
    witness: Witness = find_witness(scop, dependences, violation)
    target = scop.statement(witness.target[0])
    loop = f" at loop `{violation.loop}`" if violation.loop else ""
    match violation.fault:
        case Fault.CONCURRENT:
            code, reason = "PO0312", f"the loop `{violation.loop}` carries a dependence"
        case Fault.REVERSED:
            code, reason = "PO0311", f"it reverses a dependence{loop}"
        case Fault.UNORDERED | Fault.LOST:
            code, reason = "PO0313", "it leaves dependent iterations without an order"
    return IllegalSchedule(
        code,
        f"{step} is not legal: {reason}",
        witness=witness,
        loc=target.loc,
        notes=describe(witness, scop),
        hint=advice(scop, dependences, tree, lambda old: step.rewrite(old, scop), violation.fault),
    )
