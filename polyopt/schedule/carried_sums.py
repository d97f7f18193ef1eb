"""Mark the sums of exponentials that a nest may carry along with a maximum.

In: a Program that allows other orders of sums.  Out: the same with the marks, and with maxima and
sums of rows that the source keeps in scalars in one cell for each row, if these make them rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from polyopt.dataclass import replace
from polyopt.ir.budget import optional
from polyopt.ir.expr import Call, walk
from polyopt.ir.program import Program
from polyopt.ir.scop import Scop, Statement
from polyopt.schedule.data_steps import changed_arrays
from polyopt.schedule.dataflow import first_difference
from polyopt.schedule.privatize import with_cells
from polyopt.schedule.running_sums import (
    LAWS,
    NotRunning,
    RunningSums,
    find_running_sums,
    maxima,
)


def with_carried_sums(program: Program) -> Program:
    """Return `program` with the sums marked that may be carried along with a maximum."""
    match program.parts:
        case (Scop() as scop,) if any(maxima(scop)) and any(map(_has_exponential, scop.statements)):
            with optional("carried sums"):
                found = _marked(scop) or _marked(_with_rows(scop)) or scop
                return program if found is scop else replace(program, parts=(found,))
        case _:
            pass
    return program


def _has_exponential(statement: Statement) -> bool:
    return any(isinstance(part, Call) and part.func in LAWS for part in walk(statement.value))


def _marked(scop: Scop) -> Scop | None:
    """Return the Scop with all such sums marked, or None without any."""
    names = {one.statement.name for group in _groups(scop) for one in group.sums}
    marked = (_carried(s) if s.name in names else s for s in scop.statements)
    return replace(scop, statements=tuple(marked)) if names else None


def _groups(scop: Scop) -> Iterator[RunningSums]:
    for top in maxima(scop):
        with suppress(NotRunning):
            yield find_running_sums(scop, top.name)


def _carried(statement: Statement) -> Statement:
    assert statement.reduction is not None
    return replace(statement, reduction=replace(statement.reduction, carried=True))


def _with_rows(scop: Scop) -> Scop:
    """Return the Scop with a cell of each scalar per iteration of the loops around it.

    Every read still gets the value of the same instance: that is proven here.
    """
    found = with_cells(scop)
    changed = changed_arrays(scop, found, {}, frozenset())
    touched = frozenset(s.name for s in scop.statements if s.arrays & changed)
    difference = first_difference(scop, found, {}, frozenset(), changed, touched)
    return scop if difference is not None else found
