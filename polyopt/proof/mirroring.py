"""Prove that a mirrored triangle holds the results of the source.

In: a program, and the one that the step `mirror` made of it.  Out: a claim.
The law: sums of the same terms in the same order are equal, and `x * y == y * x`, `x + y == y + x`.
It is the only thing that is not proven here.  Everything it is applied to is: that the exchange of
two subscripts maps the instances and the terms to themselves, that all results start from one
constant, and that the statement which copies runs between these sums and everything behind them.
Refutes: a term that changes, a start of other elements, other accesses in between, any other form.
"""

from __future__ import annotations

import islpy as isl

from polyopt.dataclass import dataclass, replace
from polyopt.ir.expr import (
    Binary,
    BinaryOp,
    Const,
    Expr,
    Iter,
    Load,
    children,
    substitute,
    with_children,
)
from polyopt.ir.names import reads
from polyopt.ir.program import Program
from polyopt.ir.scop import Access, Role, Scop, Statement
from polyopt.proof.certificate import Claim, ClaimKind, Verdict
from polyopt.proof.exponentials import is_same
from polyopt.proof.source import AccessOrders

_SET = isl.dim_type.set


class Refuted(Exception):
    """A condition of the law does not hold."""


def is_mirrored(before: Program, after: Program) -> bool:
    """Tell whether a program has one statement more, which copies elements of its own target."""
    if not (before.is_static and after.is_static):
        return False
    known = {s.name for s in before.scop.statements}
    new = [s for s in after.scop.statements if s.name not in known]
    return (
        len(new) == 1
        and isinstance(new[0].value, Load)
        and (new[0].value.array == new[0].target.array)
    )


def check_mirrored(before: Program, after: Program) -> Claim:
    """Return the claim that `after` computes what `before` does, up to the law."""
    what = "mirrored results"
    try:
        if before.signature is not after.signature and before.signature != after.signature:
            raise Refuted("the signature changes")
        _Check(before.scop, after.scop).run()
    except Refuted as error:
        return Claim(ClaimKind.LAW, what, Verdict.REFUTED, "", str(error))
    return Claim(ClaimKind.LAW, what, Verdict.PROVEN, "x * y = y * x, the terms in the same order")


@dataclass(frozen=True, eq=False)
class _Exchange:
    """The subscripts of the target that change places."""

    row: int
    column: int

    def positions(self, statement: Statement) -> tuple[int, int]:
        """Return the dimensions of the statement's instances that these subscripts are."""
        names = _names(statement)
        return statement.iters.index(names[self.row]), statement.iters.index(names[self.column])


class _Check:
    """The two Scops, and what the statements of the second one are."""

    def __init__(self, before: Scop, after: Scop) -> None:
        self.before, self.after = before, after
        olds = {s.name: s for s in before.statements}
        new = [s for s in after.statements if s.name not in olds]
        changed = [s for s in after.statements if s.name in olds and not is_same(olds[s.name], s)]
        if len(new) != 1 or len(changed) != 2 or len(after.statements) != len(olds) + 1:
            raise Refuted("other statements change")
        self.copy, self.olds = new[0], olds
        starts = [s for s in changed if isinstance(s.value, Const)]
        sums = [s for s in changed if s not in starts]
        if len(starts) != 1 or len(sums) != 1:
            raise Refuted("a constant and its sums do not change together")
        self.start, self.sums = starts[0], sums[0]
        self.array = self.copy.target.array
        self._ordered = AccessOrders(before, after).pairs

    def run(self) -> None:
        """Raise `Refuted` where something is not as it has to be."""
        before, after = self.before, self.after
        if before.params != after.params or not before.context.is_equal(after.context):
            raise Refuted("the sizes change")
        if before.arrays != after.arrays:
            raise Refuted("the arrays change")
        if before.array(self.array).role is Role.INPUT:
            raise Refuted(f"{self.array} is not a result")
        exchange = self._exchange()
        self._check_terms(exchange)
        self._check_instances(exchange)
        self._check_values()
        self._check_order()

    # -- forms --------------------------------------------------------------------------------

    def _exchange(self) -> _Exchange:
        """Return the subscripts that the copy exchanges."""
        copy = self.copy
        written, read = copy.target, copy.value
        assert isinstance(read, Load)
        if copy.guard is not None or copy.reduction is not None or copy.regroups:
            raise Refuted(f"{copy.name} is not a plain copy")
        for one in (copy, self.start, self.sums):
            if one.target.array != self.array or one.guard is not None or not one.write.exact:
                raise Refuted(f"{one.name} is not a plain statement of {self.array}")
        _names(copy)
        moved = [n for n, own in enumerate(written.index) if own != read.index[n]]
        if len(moved) != 2:
            raise Refuted(f"{copy.name} does not exchange two subscripts")
        row, column = moved
        if written.index[row] != read.index[column] or written.index[column] != read.index[row]:
            raise Refuted(f"{copy.name} does not exchange two subscripts")
        return _Exchange(row, column)

    def _check_terms(self, exchange: _Exchange) -> None:
        """Check that the exchange leaves the terms as they are, up to commutative operations."""
        old = self.olds[self.sums.name]
        value = old.value
        if not (isinstance(value, Binary) and value.op is BinaryOp.ADD):
            raise Refuted(f"{old.name} is not a sum")
        if value.left != old.target or value.dtype.is_complex:
            raise Refuted(f"{old.name} is not a sum")
        if self.array in reads(value.right):
            raise Refuted(f"the terms of {old.name} are results")
        names = _names(old)
        one, two = names[exchange.row], names[exchange.column]
        own = {one: Iter(two), two: Iter(one)}
        if not _equal(substitute(value.right, own), value.right):
            raise Refuted(f"the terms of {old.name} change with the exchange")
        if not all(isinstance(part, Const | Iter) for part in old.order):
            raise Refuted(f"{old.name} may add its terms in another order")

    def _check_instances(self, exchange: _Exchange) -> None:
        """Check that each result is computed as in the source, or copied from one that is."""
        context = self.before.context
        copied = _cells(self.copy, self.before)
        start = self.olds[self.start.name]
        if any(len(s.iters) != len(_names(s)) for s in (self.copy, start)):
            raise Refuted(f"{self.copy.name} or {start.name} does not set each element once")
        if not _swapped(copied, exchange.row, exchange.column).is_disjoint(copied):
            raise Refuted(f"{self.copy.name} copies what it has copied")
        for new in (self.start, self.sums):
            old = self.olds[new.name]
            if not is_same(old, replace(new, domain=old.domain)) or old.fuses != new.fuses:
                raise Refuted(f"{new.name} changes")
            inside = old.domain.intersect_params(context)
            if not _swapped(inside, *exchange.positions(old)).is_equal(inside):
                raise Refuted(f"the instances of {old.name} are not symmetric")
            gone = old.write.relation.intersect_params(context).intersect_range(copied).domain()
            if not new.domain.intersect_params(context).is_equal(inside.subtract(gone)):
                raise Refuted(f"{new.name} does not run for all results that are not copied")
        cells = _cells(start, self.before)
        if not _cells(self.olds[self.sums.name], self.before).is_subset(cells):
            raise Refuted(f"{start.name} does not start all results")
        if not copied.is_subset(cells):
            raise Refuted(f"{self.copy.name} copies more than results")

    # -- order --------------------------------------------------------------------------------

    def _check_values(self) -> None:
        """Check that in the source both sums of two results add the same values, from one start."""
        before = self.before
        start, sums = (self.olds[s.name] for s in (self.start, self.sums))
        if not self._ordered(before, [sums.write], [start.write]).is_empty():
            raise Refuted(f"{sums.name} runs before {start.name}")
        terms = [a for a in sums.reads if a.array != self.array]
        for other in before.statements:
            if not self._ordered(before, terms, [other.write]).is_empty():
                raise Refuted(f"{other.name} changes a term between two sums")

    def _check_order(self) -> None:
        """Check that accesses to one element keep their order, and where the copy runs."""
        olds = [s for s in self.after.statements if s is not self.copy]
        for first in olds:
            for second in olds:
                self._check_pair(first, second)
        copies = [self.copy.write, *self.copy.reads]
        for other in olds:
            uses = self._uses(other)
            is_early = other in (self.start, self.sums) or self._is_early(other.name)
            one, two = (copies, uses) if is_early else (uses, copies)
            if not self._ordered(self.after, one, two).is_empty():
                raise Refuted(f"{self.copy.name} runs at another time than {self.array} is ready")

    def _is_early(self, name: str) -> bool:
        """Tell whether a statement accesses results before they are started, not when they are
        complete.
        """
        before = self.before
        own = [self.olds[s.name].write for s in (self.start, self.sums)]
        uses = self._uses(before.statement(name))
        if self._ordered(before, uses, own).is_empty():
            return False
        if self._ordered(before, own, uses).is_empty():
            return True
        raise Refuted(f"{name} accesses {self.array} between the sums and their start")

    def _uses(self, statement: Statement) -> list[Access]:
        return [a for a in (statement.write, *statement.reads) if a.array == self.array]

    def _check_pair(self, first: Statement, second: Statement) -> None:
        """Check that conflicting accesses of two statements are in the same order in both Scops.

        Sums in any order are not compared with themselves.
        """
        if first is second and first.is_reassociable:
            return
        kept = isl.UnionSet.from_set(first.domain), isl.UnionSet.from_set(second.domain)
        for array in sorted(first.arrays & second.arrays):
            if array not in (first.target.array, second.target.array):
                continue
            if self.before.array(array).role is Role.FAULT:
                continue
            old = self._conflicts(self.before, first.name, second.name, array)
            new = self._conflicts(self.after, first.name, second.name, array)
            if not old.intersect_domain(kept[0]).intersect_range(kept[1]).is_equal(new):
                names = f"{first.name} and {second.name}"
                raise Refuted(f"{names} access {array} in another order")

    def _conflicts(self, scop: Scop, first: str, second: str, array: str) -> isl.UnionMap:
        """Return the pairs of instances that access an element in order, one of them writing."""
        one, two = scop.statement(first), scop.statement(second)
        writes = [[s.write] if s.write.array == array else [] for s in (one, two)]
        reads = [[a for a in s.reads if a.array == array] for s in (one, two)]
        found = self._ordered(scop, writes[0], [*writes[1], *reads[1]])
        return found.union(self._ordered(scop, reads[0], writes[1]))


def _names(statement: Statement) -> tuple[str, ...]:
    """Return the iterators that are the target's subscripts."""
    names = tuple(part.name for part in statement.target.index if isinstance(part, Iter))
    if len(names) != len(statement.target.index) or len(set(names)) != len(names):
        raise Refuted(f"the subscripts of {statement.name} are not iterators")
    return names


def _equal(one: Expr, two: Expr) -> bool:
    """Tell whether two expressions are the same, but for the sides of sums and products."""
    if one == two:
        return True
    parts, others = children(one), children(two)
    if not parts or len(parts) != len(others) or with_children(two, parts) != one:
        return False
    if all(map(_equal, parts, others)):
        return True
    commutes = isinstance(one, Binary) and one.op in (BinaryOp.ADD, BinaryOp.MUL)
    return commutes and all(map(_equal, parts, reversed(others)))


def _cells(statement: Statement, scop: Scop) -> isl.Set:
    """Return the elements that a statement writes."""
    return statement.write.relation.intersect_params(scop.context).range()


def _swapped(domain: isl.Set, one: int, two: int) -> isl.Set:
    """Return the points of which two coordinates are exchanged."""
    pairs = isl.Map.from_domain_and_range(domain, isl.Set.universe(domain.get_space()))
    for n in range(domain.dim(_SET)):
        other = two if n == one else one if n == two else n
        pairs = pairs.equate(isl.dim_type.in_, n, isl.dim_type.out, other)
    return pairs.range()
