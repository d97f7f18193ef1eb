"""What keeps a loop of the source in order: the dependence, in the words of the source.

In: the source's schedule of a part, a loop, the user's names.  Out: a `Blocker`, or None.  Of
several dependences the one that says most is named: of a value that is read, of a variable of the
user's, one that is certain.
"""

from __future__ import annotations

import islpy as isl

from polyopt.dataclass import dataclass
from polyopt.errors import IllegalSchedule, ScheduleError
from polyopt.ir.affine import quota
from polyopt.ir.program import Repeat, all_parts
from polyopt.ir.scop import Scop, Statement
from polyopt.report.names import Names, access_text, statement_line
from polyopt.report.nests import Loop
from polyopt.schedule import Dependence, Dependences, Schedule, Witness
from polyopt.schedule.dependences import DependenceKind
from polyopt.schedule.legality import Fault, Violation, carried_pairs
from polyopt.schedule.repair import Repair, RepairKind
from polyopt.schedule.tree import find_band
from polyopt.schedule.witness import find_witness
from polyopt.transforms import Parallelize, Vectorize

QUOTA = 6_000_000
"""isl operations for one loop."""

_VERBS = {
    DependenceKind.FLOW: "{what} of line {here} is read {when} by line {there}",
    DependenceKind.ANTI: "{what}, read in line {here}, is overwritten {when} by line {there}",
    DependenceKind.OUTPUT: "{what} of line {here} is written again {when} by line {there}",
}


@dataclass(frozen=True, eq=False)
class Blocker:
    """A dependence that a loop carries; `text` says it, `is_sum`: its order is left open."""

    loop: Loop
    text: str
    witness: Witness
    is_sum: bool


def is_free(schedule: Schedule, loop: Loop) -> bool:
    """Tell whether a loop of the source's order carries no dependence."""
    return find_band(schedule.tree, loop.label).members[loop.position].coincident


def blocker(schedule: Schedule, loop: Loop, names: Names) -> Blocker | None:
    """Return what the loop carries, None for nothing; raises `BudgetError`."""
    if is_free(schedule, loop):
        return None
    with quota(QUOTA):
        pairs = carried_pairs(schedule.dependences, schedule.tree, loop.label, loop.position)
        pairs = pairs.intersect_params(schedule.scop.context)
        touching = schedule.dependences.touching(pairs)
        for one in sorted(touching, key=lambda one: _worth(one, names)):
            carried = pairs.intersect(isl.UnionMap.from_map(one.relation))
            if carried.is_empty():
                continue
            if one.kind is DependenceKind.FLOW:
                values = carried.intersect(schedule.dependences.direct_flow)
                if values.is_empty():
                    continue  # another value was written in the meantime
                carried = values
            return _of(schedule, loop, one, carried, names)
    with quota(QUOTA):
        for one in schedule.dependences.touching(pairs):
            carried = pairs.intersect(isl.UnionMap.from_map(one.relation))
            if not carried.is_empty():
                return _of(schedule, loop, one, carried, names)
    return None


def _of(
    schedule: Schedule, loop: Loop, one: Dependence, carried: isl.UnionMap, names: Names
) -> Blocker:
    some = Dependences(schedule.scop, (one,))
    violation = Violation(Fault.CONCURRENT, carried, loop.name)
    witness = find_witness(schedule.scop, some, violation)
    return Blocker(
        loop, dependence_text(schedule, loop, one, witness, names), witness, one.reduction
    )


def _worth(one: Dependence, names: Names) -> tuple[bool, bool, bool]:
    """Order dependences, those first that tell most."""
    is_flow = one.kind is DependenceKind.FLOW
    return not is_flow, names.variable(one.array) is None, not one.exact


def dependence_text(
    schedule: Schedule, loop: Loop, one: Dependence, witness: Witness, names: Names
) -> str:
    """Return a dependence that a loop carries as a clause."""
    scop = schedule.scop
    first, second = scop.statement(one.source), scop.statement(one.target)
    is_write = one.kind is not DependenceKind.ANTI
    what = f"`{access_text(names, first, one.array, write=is_write)}`"
    if names.variable(one.array) is None:
        what = "a temporary value"
    when = _when(schedule, loop, witness)
    text = _VERBS[one.kind].format(what=what, here=_line(first), there=_line(second), when=when)
    if not one.exact:
        reason = f"the subscript of `{names.text(witness.because)}` is not affine"
        text += f", as far as can be told: {reason}"
    return text


def _line(statement: Statement) -> str:
    line = statement_line(statement)
    return "?" if line is None else str(line)


def _when(schedule: Schedule, loop: Loop, witness: Witness) -> str:
    """Return how many iterations of the loop later the second access happens, at the least."""
    depths = []
    for name, instance in (witness.source, witness.target):
        iters = schedule.scop.statement(name).iters
        depths.append(instance[iters.index(loop.name)] if loop.name in iters else None)
    if None in depths or depths[0] is None or depths[1] is None:
        return "in a later iteration"
    apart = abs(depths[1] - depths[0])
    return "in the next iteration" if apart == 1 else f"{apart} iterations later"


def lift(schedule: Schedule, loop: Loop, *, lanes: bool = False) -> str:
    """Return what would let the loop run in parallel, or in lanes, proven; "" where none is known.

    The steps are those of a schedule, `skew(L0[1], L0[0], 1); parallelize(L0[1])`.
    """
    step = Vectorize(loop.reference) if lanes else Parallelize(loop.reference)
    try:
        schedule.apply(step)
    except IllegalSchedule as refusal:
        repair = refusal.repair
        if isinstance(repair, Repair):
            return repair_text(repair)
    except ScheduleError:
        return ""
    return ""


def repair_text(repair: Repair) -> str:
    """Return a repair as advice."""
    if repair.kind is RepairKind.MODE:
        return f'fp="reassociate" allows {repair.text}'
    return str(repair)


def region_text(names: Names, region: Repeat) -> str:
    """Return what the iterations of a region hand on to one another, as far as can be told."""
    scops = [part for part in all_parts(region.body) if isinstance(part, Scop)]
    statements = [statement for scop in scops for statement in scop.statements]
    written = {statement.target.array: statement for statement in statements}
    fresh: set[str] = set()
    for statement in statements:
        for access in statement.reads:
            array = names.variable(access.array)
            if array is None or access.array in fresh or access.array not in written:
                continue
            last = written[access.array]
            return (
                f"`{array}` of line {_line(last)} is read in the next iteration by line "
                f"{_line(statement)}, as far as can be told"
            )
        if statement.guard is None:
            fresh.add(statement.target.array)
    return "what it runs over, or touches, is decided while it runs"
