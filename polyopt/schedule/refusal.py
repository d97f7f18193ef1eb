"""Build the error that refuses a step: its code, its witness, and an alternative.

In: the refused step, the tree it makes.  Out: an `IllegalSchedule`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import islpy as isl

from polyopt.errors import IllegalSchedule
from polyopt.ir.scop import Scop
from polyopt.never import assert_never
from polyopt.schedule.dependences import Dependences
from polyopt.schedule.legality import Fault, Violation
from polyopt.schedule.reductions import accumulation
from polyopt.schedule.repair import RefusedStep, find_repair
from polyopt.schedule.tree import Tree
from polyopt.schedule.witness import find_witness
from polyopt.schedule.witness_text import describe

if TYPE_CHECKING:
    from polyopt.schedule.schedule import Transform


def refusal(
    refused: RefusedStep, step: Transform, scop: Scop, dependences: Dependences, tree: Tree
) -> IllegalSchedule:
    """Return the error that refuses `step`, with its witness and a repair that works.

    `tree`, over `scop`, is the step's result; `dependences` are those of `scop`.
    """
    violation = refused.violation
    witness = find_witness(scop, dependences, violation, tree)
    repair = find_repair(refused, step)
    target = scop.statement(witness.target[0])
    code, reason = _reason(violation)
    return IllegalSchedule(
        code,
        f"{step} is not legal: {reason}",
        witness=witness,
        repair=repair,
        loc=target.loc,
        notes=(
            *describe(witness, scop, str(step)),
            *_fixed_order_note(scop, dependences, violation),
        ),
        hint=_hint(violation) if repair is None else str(repair),
    )


def _reason(violation: Violation) -> tuple[str, str]:
    """Return the code and the explanation of a violation."""
    match violation.fault:
        case Fault.CONCURRENT:
            return "PO0312", f"the loop `{violation.loop}` carries a dependence"
        case Fault.REVERSED:
            loop = f" at loop `{violation.loop}`" if violation.loop else ""
            return "PO0311", f"it reverses a dependence{loop}"
        case Fault.UNORDERED:
            return "PO0313", "it leaves dependent iterations without an order"
        case Fault.LOST:
            return "PO0314", "an iteration would not run exactly once"
        case _:
            assert_never(violation.fault)


def _fixed_order_note(
    scop: Scop, dependences: Dependences, violation: Violation
) -> tuple[str, ...]:
    """Return a note if only reductions in a fixed order are violated."""
    broken = [
        dependence
        for dependence in dependences.touching(violation.pairs)
        if not violation.pairs.intersect(isl.UnionMap.from_map(dependence.relation)).is_empty()
    ]
    own = [d for d in broken if d.source == d.target and not d.reduction]
    own = [d for d in own if d.array == scop.statement(d.source).target.array]
    names = dict.fromkeys(d.source for d in own)
    found = {s: accumulation(scop.statement(s)) for s in names}
    if not own or len(own) < len(broken) or None in found.values():
        return ()
    words = sorted({f"`{update[0].value}`" for update in found.values() if update is not None})
    return (
        f"{', '.join(names)}: a reduction by {', '.join(words)} whose order the source fixes, as "
        'its last bits depend on it; `np.sum`, `@` or the option fp="reassociate" leave it open',
    )


def _hint(violation: Violation) -> str:
    """Return advice where no repair was found."""
    match violation.fault:
        case Fault.CONCURRENT:
            return f"keep `{violation.loop}` in order: no step that was tried makes it parallel"
        case Fault.REVERSED:
            return "leave the step out: no step that was tried makes it legal"
        case Fault.UNORDERED:
            return "keep the loop that orders the two"
        case Fault.LOST:
            return "this is a mistake of the step, not of the program; please report it"
        case _:
            assert_never(violation.fault)
