"""Reductions, what is read from before and left behind, and copies that loops could have.

In: a Scop or a Schedule.  Out: lines for people.
"""

from __future__ import annotations

from collections.abc import Iterator

import islpy as isl

from polyopt.errors import BudgetError
from polyopt.ir.affine import coalesced, quota
from polyopt.ir.scop import Scop
from polyopt.ir.showing import show
from polyopt.schedule import Schedule
from polyopt.schedule.liveness import Live, live, privatisable
from polyopt.schedule.reductions import Form, FoundReduction, find_reductions

BUDGET = 5_000_000
"""isl operations for each of the two questions."""


_WRITTEN = {
    Form.UPDATE: "",
    Form.CHOICE: ", written as a choice",
    Form.GUARDED: ", written as a condition",
    Form.PLACE: ", with its place",
}


def explain_reductions(scop: Scop) -> Iterator[str]:
    """Yield one line for each reduction: what it does, and whether its order is open."""
    for found in find_reductions(scop):
        yield _reduction(found)


def _reduction(found: FoundReduction) -> str:
    names = ", ".join(found.statements)
    condition = " under a condition" if found.conditional and found.form is Form.UPDATE else ""
    head = f"{names}  {show(found.target)} by `{found.op.value}`{condition}{_WRITTEN[found.form]}"
    if found.open:
        return f"{head}: in any order, but not at the same time"
    if found.marked:
        return f'{head}: in the order of the source; open with fp="reassociate"'
    return f"{head}: in the order of the source"


def explain_storage(schedule: Schedule, formulas: bool) -> Iterator[str]:
    """Yield what the part needs and leaves, array by array, then copies that loops could have."""
    try:
        with quota(BUDGET):
            context = schedule.scop.context if formulas else None
            lines = [_live(one, context) for one in live(schedule.scop)]
        yield from lines
        with quota(BUDGET):
            private = privatisable(schedule.dependences, schedule.tree)
    except BudgetError:
        yield "what is read from before, and kept, could not be found within the budget"
        return
    for one in private:
        kept = "; the last iteration's is kept (lastprivate)" if one.last else ""
        yield f"{one.array}: each iteration of {one.loop} could have a copy of its own{kept}"


def _live(one: Live, context: isl.Set | None) -> str:
    """Return what is read and written of one array, as formulas under `context` if one is given."""
    facts = []
    if not one.needed.is_empty():
        facts.append(f"read from before{_text(one.needed, context)}")
    if not one.left.is_empty():
        verb = "written" if one.certain else "maybe written"
        facts.append(f"{verb}{_text(one.left, context)}")
    return f"{one.array}: {', '.join(facts)}"


def _text(elements: isl.Set, context: isl.Set | None) -> str:
    if context is None:
        return ""
    return " " + str(coalesced(elements.gist_params(context))).split("->", 1)[-1].strip()
