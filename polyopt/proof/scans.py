"""Check that the terms of every recurrence that threads scan are reassociable.

In: the program, the loops.  Out: a claim for each scan.
All other claims treat the loop as sequential: only the grouping differs, of operations that are
associative, exactly or as far as the program allows.
"""

from __future__ import annotations

from collections.abc import Iterator

from polyopt.ir.loops import Assign, For, LoopFunction, LoopKind
from polyopt.ir.nodes import all_nodes
from polyopt.ir.program import Program
from polyopt.ir.scan import is_open
from polyopt.proof.certificate import Claim, ClaimKind, Verdict


def check_scans(program: Program, function: LoopFunction) -> Iterator[Claim]:
    """Yield for each scan whether its statement is reassociable."""
    allowed = {s.name for scop in program.scops for s in scop.statements if is_open(s)}
    for loop in all_nodes(function.body):
        if not isinstance(loop, For) or loop.kind is not LoopKind.SCAN:
            continue
        names = {n.statement for n in all_nodes(loop.body) if isinstance(n, Assign)}
        closed = sorted(names - allowed)
        verdict = Verdict.REFUTED if closed or not names else Verdict.PROVEN
        reason = f"the order of {closed[0] or 'a copy'} is not open" if closed else ""
        yield Claim(ClaimKind.ORDER, f"scan {loop.iter}", verdict, "", reason)
