"""Check that only the source's own accesses are trusted to be guarded by the front end.

In: the loops as they are printed, and read back; arrays whose bounds could not be proven.
Out: one of these arrays if something else accesses it at unproven places: a copy that the source
does not have; a local that nothing uses.
"""

from __future__ import annotations

from collections.abc import Callable

from polyopt.ir.expr import (
    Binary,
    BinaryOp,
    Compare,
    CompareOp,
    Expr,
)
from polyopt.ir.loops import Assign, Body, Declare, Node, SetLocal
from polyopt.ir.names import depends_on_data, reads, symbols
from polyopt.ir.nodes import all_nodes, own_expressions
from polyopt.ir.program import Program
from polyopt.proof.nodes import own_accesses, set_locals
from polyopt.proof.paths import conjuncts


def untrusted_array(
    printed: Body,
    plain: Body,
    trusted: frozenset[str],
    bound: frozenset[str],
    proven: Callable[[Callable[[Node], bool]], frozenset[str]],
) -> str | None:
    """Return an array in `trusted` with accesses beyond the source's statements and control.

    `plain` is `printed` read back; the locals in `bound` are sizes computed at run time.  `proven`
    returns the arrays all of whose accesses by the given nodes are in bounds.
    """
    extra = [node for node in all_nodes(plain) if _is_extra(node, bound)]
    found = trusted.intersection(a.array for node in extra for a in own_accesses(node))
    found = found and found - proven(lambda node: _is_extra(node, bound))
    if found:
        return min(found)
    for local in _unused(printed):
        found = trusted & reads(local.value)
        if found:
            return min(found)
    return None


def used_untested(program: Program, printed: Body, name: str) -> bool:
    """Tell whether loops use subscripts of an array as they are that the source keeps inside.

    Nothing is left to trust in then: that these are inside has to be proven.
    """
    accesses = (
        load for node in all_nodes(printed) for load in own_accesses(node) if load.array == name
    )
    as_they_are = any(
        (reads(index) or symbols(index)) and not _is_minimum(index)
        for load in accesses
        for index in load.index
    )
    return as_they_are and all(
        _is_kept([index for index in load.index if depends_on_data(index)], statement.guard)
        for scop in program.scops
        for statement in scop.statements
        for load in (*statement.loads, statement.target)
        if load.array == name
    )


def _is_kept(subscripts: list[Expr], guard: Expr | None) -> bool:
    told = [] if guard is None else list(conjuncts(guard))
    for index in subscripts:
        ends = {part.op for part in told if isinstance(part, Compare) and part.left == index}
        if not _is_minimum(index) and not {CompareOp.GE, CompareOp.LT} <= ends:
            return False
    return bool(subscripts)


def _is_minimum(index: Expr) -> bool:
    return isinstance(index, Binary) and index.op is BinaryOp.MIN


def _is_extra(node: Node, bound: frozenset[str]) -> bool:
    match node:
        case Assign() | SetLocal():
            return not node.statement
        case Declare():
            return not node.statement and node.name not in bound
        case _:
            return False


def _unused(body: Body) -> list[Declare]:
    """Return the locals that nothing uses, apart from each other."""
    nodes = list(all_nodes(body))
    sets = set_locals(body)
    locals_ = [n for n in nodes if isinstance(n, Declare) and not n.statement]
    waiting = [n for n in locals_ if n.name not in sets]
    rest = [n for n in nodes if not any(n is local for local in waiting)]
    used = {name for node in rest for expr in own_expressions(node) for name in symbols(expr)}
    while True:
        more = {name for n in waiting if n.name in used for name in symbols(n.value)} - used
        if not more:
            return [n for n in waiting if n.name not in used]
        used |= more
