"""Loops that may run: what was proven to be the program, the fastest form first.

In: a program, loops in several forms.  Out: the first form whose certificate is complete.
Refuses (PO0705): a program none of whose forms can be proven within the budget.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from polyopt.dataclass import dataclass, replace
from polyopt.emit.fault_exits import exit_on_faults
from polyopt.emit.lanes import is_contiguous, row_arrays
from polyopt.emit.passes.ratios import settle_ratios
from polyopt.errors import BudgetError
from polyopt.ir.budget import note_dropped, query
from polyopt.ir.expr import Load, VectorLoad
from polyopt.ir.loops import Body, Declare, For, LoopFunction, LoopKind, Node
from polyopt.ir.nodes import all_nodes, map_bodies
from polyopt.ir.program import Program
from polyopt.proof import Certificate, certify


@dataclass(frozen=True, eq=False)
class Form:
    """One way to run the program; `name` says in a few words what it has and others have not."""

    name: str
    make: Callable[[], LoopFunction]


@dataclass(frozen=True, eq=False)
class Proven:
    """Loops and their complete certificate; `position` of the form that was taken."""

    loops: LoopFunction
    certificate: Certificate
    position: int


def first_proven(program: Program, forms: Sequence[Form]) -> Proven:
    """Return the first of `forms` that is proven; those before it are noted as dropped."""
    reason, is_late = "no form was tried", False
    for position, form in enumerate(forms):
        try:
            with query(f"proof of {form.name}", part=0.5):
                loops = form.make()
                certificate = certify(program, loops)
        except BudgetError as error:
            note_dropped(form.name, error)
            reason, is_late = error.message, True
            continue
        if certificate.is_proven:
            return Proven(loops, certificate, position)
        reason, is_late = first_fault(certificate), False
        note_dropped(form.name, unproven(program.name, reason, is_late))
    raise unproven(program.name, reason, is_late)


def first_fault(certificate: Certificate) -> str:
    """Return the first claim that is not proven, for people."""
    fault = certificate.faults[0]
    why = f" ({fault.reason})" if fault.reason else ""
    return f"{fault.kind.value} of {fault.subject}{why}"


def unproven(name: str, reason: str, is_late: bool) -> BudgetError:
    """Return the error that says what could not be proven; `is_late`: within the budget."""
    hint = "give the proof more time with `budget=`, or compile a smaller part of the function"
    if not is_late:
        hint = "polyopt is wrong here, whatever the budget: write it otherwise, and report it"
    message = f"`{name}`: the loops could not be proven to be the program: {reason}"
    return BudgetError("PO0705", message, hint=hint)


def holds_elements(function: LoopFunction) -> bool:
    """Tell whether loops keep elements in locals while they run."""
    locals_ = (n for n in all_nodes(function.body) if isinstance(n, Declare) and not n.statement)
    return any(isinstance(local.value, Load | VectorLoad) for local in locals_)


def plain_loops(function: LoopFunction) -> LoopFunction:
    """Return loops as they were lowered, without lanes and copies; threads stay."""
    function = settle_ratios(function)
    return exit_on_faults(replace(function, body=_plain(function.body)))


def _plain(body: Body) -> Body:
    return tuple(map(_plain_node, body))


def _plain_node(node: Node) -> Node:
    if isinstance(node, For) and node.kind in (LoopKind.VECTOR, LoopKind.UNROLL):
        node = replace(node, kind=LoopKind.SEQUENTIAL)
    return map_bodies(node, _plain)


def sequential(function: LoopFunction) -> LoopFunction:
    """Return `function` with its parallel loops run by one thread, single elements in lanes."""
    return replace(function, body=_sequential(function.body, row_arrays(function)))


def _sequential(body: Body, rows: frozenset[str]) -> Body:
    nodes: list[Node] = []
    for node in body:
        match node:
            case For(kind=LoopKind.PARALLEL, reductions=()) if is_contiguous(node, rows):
                nodes.append(replace(node, kind=LoopKind.VECTOR))
            case For(kind=LoopKind.PARALLEL):
                inner = _sequential(node.body, rows)
                in_order = replace(node, kind=LoopKind.SEQUENTIAL, body=inner)
                nodes.append(in_order.annotated(reductions=()))
            case _:
                nodes.append(map_bodies(node, _sequential, rows))
    return tuple(nodes)
