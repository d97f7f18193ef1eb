"""Atomic: let blocks and threads of a device update one element at the same time.

In: a statement `a[…] = a[…] op x`.  Out: the same tree, the loops around it marked: those that are
mapped to a grid or to threads from here on may carry its updates.
Refuses: other statements, updates in a fixed order, operations that devices lack (PO0347).
"""

from __future__ import annotations

import islpy as isl

from polyopt.dataclass import dataclass, replace
from polyopt.errors import ScheduleError
from polyopt.ir.expr import loads
from polyopt.ir.identity import NoUpdate, is_exact, update_of
from polyopt.ir.scop import Scop, Statement
from polyopt.schedule.tree import Band, Filter, Tree, children, statements_of, with_children
from polyopt.transforms.written import Written


@dataclass(frozen=True, slots=True)
class Atomic(Written):
    """Update elements by atomic operations in the loops that run across blocks and threads.

    In which order they happen is not known: results are the same in every run where the order
    cannot be seen, as with integers; sums of floats may differ in their last bits from run to run.
    """

    statement: str

    def rewrite(self, tree: Tree, scop: Scop) -> Tree:
        """Return the tree with the loops marked; raises `ScheduleError` PO0347."""
        known = [s for s in scop.statements if s.name == self.statement]
        if not known:
            names = ", ".join(s.name for s in scop.statements)
            raise self._refused(f"there is no statement `{self.statement}`", f"statements: {names}")
        self._check(known[0])
        return self._marked(tree, scop, scop.domain)

    def _check(self, statement: Statement) -> None:
        try:
            op, _ = update_of(statement.target, statement.value)
            guard = () if statement.guard is None else loads(statement.guard)
            if any(load.array == statement.target.array for load in guard):
                raise NoUpdate(f"its condition reads {statement.target.array}")
        except NoUpdate as error:
            raise self._refused(
                f"{statement.name} is no update: {error}",
                "name a statement like `a[i] += x`, of 32 or 64 bits",
                statement,
            ) from None
        is_join = statement.origin is not None and not statement.origin.statement
        is_free = statement.is_reassociable or (is_join and statement.reduction is not None)
        if not (is_free or is_exact(op, statement.target.dtype)):
            raise self._refused(
                f"the source fixes the order of `{op.value}` of {statement.target.dtype}, and it "
                "can be seen in the last bits",
                "use fp='reassociate', or whole numbers",
                statement,
            )

    def _marked(self, tree: Tree, scop: Scop, domain: isl.UnionSet) -> Tree:
        if isinstance(tree, Filter):
            domain = domain.intersect(tree.domain)
        if self.statement not in statements_of(scop, domain):
            return tree
        parts = tuple(self._marked(part, scop, domain) for part in children(tree))
        tree = with_children(tree, parts)
        if not isinstance(tree, Band):
            return tree
        members = tuple(
            replace(member, atomic=member.atomic | {self.statement}) for member in tree.members
        )
        return replace(tree, members=members)

    def _refused(self, reason: str, hint: str, statement: Statement | None = None) -> ScheduleError:
        loc = None if statement is None else statement.loc
        return ScheduleError("PO0347", f"{self}: {reason}", loc=loc, hint=hint)
