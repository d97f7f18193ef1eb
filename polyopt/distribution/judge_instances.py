"""The judge's claim on instances: each runs where the rule says, once where results are combined.

In: a plan.  Out: what does not hold.
"""

from __future__ import annotations

from collections.abc import Iterator

import islpy as isl

from polyopt.distribution.exchange import Combination
from polyopt.distribution.execution import Plan
from polyopt.distribution.forms import Form
from polyopt.distribution.ownership import Cut
from polyopt.distribution.phases import Phase
from polyopt.distribution.placement import Rule, axis_of_scan, is_complete, named, reads_sums
from polyopt.ir.affine import pw_aff
from polyopt.ir.expr import Binary, BinaryOp, Expr, Param, add, integer
from polyopt.ir.scop import Access, Statement
from polyopt.schedule.dependences import dependences_of


class InstanceJudge:
    """Each method yields what does not hold."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.phases = plan.exchanges.phases
        self.placement = self.phases.placement
        self.own = plan.exchanges.own
        self.scop = self.own.scop
        self.space = self.own.context.get_space()
        self.phase_of = {name: phase for phase in self.phases.phases for name in phase.statements}
        self.length = max(len(s.order) for s in self.scop.statements) + 1

    def instances(self) -> Iterator[str]:
        """Each instance runs where it has to, and once where its result is added or owned."""
        for statement in self.scop.statements:
            mine = self.placement.domains[statement.name].intersect_params(self.own.checked)
            rule = self.placement.rules[statement.name]
            array = statement.target.array
            match rule:
                case Rule.OWNER | Rule.WIDENED:
                    yield from self._is_owned(statement, mine, rule)
                case Rule.PARTIAL:
                    yield from self._is_partial(statement, mine)
                case Rule.EVERYWHERE:
                    if not mine.is_equal(self._all(statement)):
                        yield f"{statement.name} does not run on every rank"
                case Rule.NEEDED:
                    yield from self._is_there(statement, mine)
                case Rule.SCAN:
                    yield from self._is_scan(statement, mine)
            if rule in (Rule.NEEDED, Rule.EVERYWHERE) and array in self.own.cuts:
                yield f"{statement.name} writes elements of `{array}` that others own"

    def _is_owned(self, statement: Statement, mine: isl.Set, rule: Rule) -> Iterator[str]:
        """A rank runs what writes its elements; for some iterations, more of the program."""
        wanted = self._where_owned(statement, statement.write)
        if wanted is None or not wanted.is_subset(mine):
            yield f"{statement.name} does not run where `{statement.target.array}` is owned"
        elif rule is not Rule.WIDENED and not mine.is_equal(wanted):
            yield f"{statement.name} writes elements of `{statement.target.array}` that others own"
        elif not mine.is_subset(self._all(statement)):
            yield f"{statement.name} has other instances than the program"

    def _all(self, statement: Statement) -> isl.Set:
        domain = isl.Set.align_params(statement.domain, self.space)
        return domain.intersect_params(self.own.checked)

    def _where_owned(self, statement: Statement, access: Access) -> isl.Set | None:
        """Return the instances whose element this rank owns; None if one has no owner, or several.

        Elements of an array that is cut along every axis of the mesh have one owner.
        """
        cuts = self.own.cuts.get(access.array, ())
        domain = self._all(statement)
        if not cuts or not access.exact:
            return None
        if access is not statement.write and len(cuts) < self.own.mesh_axes:
            return None
        found = domain
        for cut in cuts:
            place = self._place(domain, access, cut)
            top = self._limit(domain, cut.blocks.extent)
            inside = place.ge_set(self._limit(domain, integer(0))).intersect(place.lt_set(top))
            if not domain.is_subset(inside):
                return None
            mine = place.ge_set(self._limit(domain, Param(cut.blocks.low)))
            mine = mine.intersect(place.lt_set(self._limit(domain, Param(cut.blocks.high))))
            found = found.intersect(mine)
        return found

    def _place(self, domain: isl.Set, access: Access, cut: Cut) -> isl.PwAff:
        return pw_aff(add(access.index[cut.axis], integer(cut.shift)), domain.get_space())

    def _limit(self, domain: isl.Set, expr: Expr) -> isl.PwAff:
        return pw_aff(expr, domain.get_space())

    def _is_partial(self, statement: Statement, mine: isl.Set) -> Iterator[str]:
        """Each term of a sum whose order is open is added by the owner of an operand."""
        operands = [self._where_owned(statement, read) for read in statement.reads]
        if not any(one is not None and mine.is_equal(one) for one in operands):
            yield f"{statement.name} does not add each term once"
        if not statement.is_reassociable:
            yield f"{statement.name} adds in an order that is part of the program"
        form, array = Form.ALL_REDUCE, statement.target.array
        if reads_sums(statement):
            yield f"{statement.name} reads `{array}` before its partial results are combined"
        if array in self.own.cuts:
            form = Form.REDUCE_SCATTER
            if self._where_owned(statement, statement.write) is None:
                yield f"nobody gets some sums of `{array}`"
            if not all(window.whole for window in self.plan.storage.windows[array]):
                yield f"a rank has no place for partial results of `{array}`"
        op = None if statement.reduction is None else statement.reduction.op
        yield from self._is_combined(statement, op, form)

    def _is_scan(self, statement: Statement, mine: isl.Set) -> Iterator[str]:
        """A rank's part begins with the neutral element where ranks before it write; else as is."""
        yield from self._is_owned(statement, mine, Rule.SCAN)
        phase, array = self.phase_of[statement.name], statement.target.array
        axis, value = axis_of_scan(self.own, statement), statement.value
        if axis is None or not isinstance(value, Binary):
            yield f"{statement.name} is no recurrence along the blocks of `{array}`"
            return
        if not is_complete(self.own, statement, axis, phase.depth):
            yield f"{statement.name} does not write each element of a box once in a phase"
        wanted = self.plan.exchanges.scanned(phase, statement)
        for one in self._combinations(phase, array):
            scan = one.scan
            same = scan is not None and (
                scan.axis == axis
                and scan.written.is_equal(wanted.written)
                and scan.mine.is_equal(wanted.mine)
                and scan.begun.keys() == wanted.begun.keys()
                and all(scan.begun[sign].is_equal(wanted.begun[sign]) for sign in scan.begun)
            )
            if not same:
                yield f"a scan of `{array}` begins with, or completes, other elements"
        yield from self._is_combined(statement, value.op, Form.SCAN)

    def _combinations(self, phase: Phase, array: str) -> list[Combination]:
        listed = [e for e in self.plan.listed if e.phase == phase]
        return [c for e in listed for c in e.combinations if c.array == array]

    def _is_combined(self, statement: Statement, op: BinaryOp | None, form: Form) -> Iterator[str]:
        """Partial results are combined after their phase, in which nothing else touches them."""
        phase, array = self.phase_of[statement.name], statement.target.array
        found = [(c.op, c.form) for c in self._combinations(phase, array)]
        if found != [(op, form)]:
            yield f"partial results of `{array}` are not combined once by {form.value}"
        for name in phase.statements:
            other = self.scop.statement(name)
            if other is not statement and array in other.arrays:
                yield f"{name} touches `{array}` before its partial results are combined"

    def _is_there(self, statement: Statement, mine: isl.Set) -> Iterator[str]:
        """What this rank reads of a temporary, it has computed."""
        for source, reader, pairs in named(dependences_of(self.scop).direct_flow):
            if source != statement.name:
                continue
            pairs = isl.Map.align_params(pairs, self.space)
            readers = self.placement.domains[reader]
            if not pairs.intersect_range(readers).domain().is_subset(mine):
                yield f"{reader} reads a value of {source} that its rank has not computed"
