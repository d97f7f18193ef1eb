"""Prove that carried sums of exponentials are the sums of the source.

In: a Scop, and the one that the step `online` made of it.  Out: a claim.
The law: `f(x - new) == f(x - old) * f(old - new)` for the functions `f` of `exponentials.LAWS`;
it is the only thing that is not proven here.  Everything it is applied to is: which elements are
shifted by which maximum at which time, and that each sum is multiplied by the factor from its last
shift to its next.
Refutes: a sum that is read, or added to, under another shift than its own; a shift that is not at
least the elements below it, as terms might then overflow; statements of any other form.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial

import islpy as isl

from polyopt.dataclass import dataclass, replace
from polyopt.ir.expr import Binary, BinaryOp, Const, Load, MathFunc, rewrite
from polyopt.ir.parameters import joined, maps_of, sets_of
from polyopt.ir.program import Program
from polyopt.ir.scop import Role, Scop, Statement
from polyopt.proof.certificate import Claim, ClaimKind, Verdict
from polyopt.proof.exponentials import (
    difference,
    exponent,
    function_in,
    function_of,
    is_factor,
    is_maximum_of,
    is_same,
    renamed,
    shifted_sums,
    stored_exponentials,
)
from polyopt.proof.source import AccessOrders, producers, union_of

_DONE = "$done"
"""The name of the shift by the whole maximum, which is the source's."""


class Refuted(Exception):
    """A condition of the law does not hold."""


def check_rescaled(before: Program, after: Program) -> Claim:
    """Return the claim that `after` computes what `before` does, up to the law."""
    try:
        if not (before.is_static and after.is_static):
            raise Refuted("the program has control around its static control parts")
        if before.signature is not after.signature and before.signature != after.signature:
            raise Refuted("the signature changes")
        _Check(before.scop, after.scop).run()
    except Refuted as error:
        return Claim(ClaimKind.LAW, "carried sums", Verdict.REFUTED, "", str(error))
    return Claim(ClaimKind.LAW, "carried sums", Verdict.PROVEN, "f(x - n) = f(x - o) * f(o - n)")


@dataclass(frozen=True, eq=False)
class _Shift:
    """A factor from one shift to another: the statements of `from_` and `to` as { it -> shift }."""

    from_: isl.UnionMap
    to: isl.UnionMap


@dataclass(frozen=True, eq=False)
class _Pair:
    """A statement of the source and the one that runs in its place.

    `arrays` names arrays that it accesses instead of the source's, "" for one it does not need.
    """

    old: Statement
    new: Statement
    arrays: Mapping[str, str]


class _Check:
    """The two Scops, and what the statements of the second one are."""

    def __init__(self, before: Scop, after: Scop) -> None:
        self.before, self.after = before, after
        olds = {s.name: s for s in before.statements}
        self.kept = [s for s in after.statements if s.name in olds and is_same(olds[s.name], s)]
        self.sums = [s for s in after.statements if s.name in olds and s not in self.kept]
        self.new = [s for s in after.statements if s.name not in olds]
        self.olds = olds
        self.known = {a.name: a for a in before.arrays}
        self.space = after.context.get_space()
        self._union = partial(union_of, after)
        self._ordered = AccessOrders(before, after).pairs

    def run(self) -> None:
        """Raise `Refuted` where something is not as it has to be."""
        before, after = self.before, self.after
        if before.params != after.params or not before.context.is_equal(after.context):
            raise Refuted("the sizes change")
        for array in after.arrays:
            own = self.known.get(array.name)
            if array != own and (own is not None or array.role is not Role.TEMP):
                raise Refuted(f"{array.name} is another array")
        weights = stored_exponentials(before.statements, self.new, self.known)
        shifts = shifted_sums(self.sums, self.olds, self.known)
        if not weights and not shifts:
            raise Refuted("no exponentials are below a maximum so far")
        gone = set(self.olds) - {s.name for s in after.statements}
        if gone - {one.name for one, _ in weights.values()}:
            raise Refuted(f"{min(gone)} does not run")
        for old, new in weights.values():
            self._check_stored(old, new)
        for name, arrays in shifts.items():
            self._check_shifted(self.olds[name], after.statement(name), *arrays)
        self._check_order(weights, shifts)

    # -- forms --------------------------------------------------------------------------------

    def _check_shifted(self, was: Statement, total: Statement, run: str, top: str) -> None:
        """Check one maximum, and a sum whose terms compute the exponentials below it."""
        stage, factors = self._check_group(was, total, run, top)
        self._check_sum(was, total, top, run)
        self._check_chain(total, stage, factors)

    def _check_group(
        self, old: Statement, new: Statement, run: str, top: str
    ) -> tuple[isl.UnionMap, dict[str, _Shift]]:
        """Check a maximum and the exponentials below it that two statements compute.

        Return { instance of `new` -> shift } and the factors between shifts.
        """
        parts, source = exponent(new.value, run), exponent(old.value, top)
        if parts is None or source is None or parts[0].array != source[0].array:
            raise Refuted(f"{new.name} computes other exponentials")
        self._check_maximum(old, top, source[0].array)
        shifts = self._shifts(run, top)
        factors = self._factors(run, top, function_in(old.value, top), shifts)
        stage = self._stage(new, run, shifts)
        self._check_above(new, stage, run, top, old)
        return stage, factors

    def _check_stored(self, old: Statement, new: Statement) -> None:
        """Check stored exponentials and the sums of products with them."""
        parts, source = difference(new.value), difference(old.value)
        assert parts is not None
        assert source is not None
        stage, factors = self._check_group(old, new, parts[1].array, source[1].array)
        weights = new.target.array
        writers = [s for s in self.after.statements if s.target.array == weights]
        if writers != [new] or not new.write.relation.is_injective() or new.guard is not None:
            raise Refuted(f"{weights} is stored in several ways")
        sums = [s for s in self.sums if any(a.array == weights for a in s.reads)]
        for total in sums:
            was = self.olds[total.name]
            self._check_sum(was, total, old.target.array, weights)
            read = self._last_writes(total, weights)
            here = read.reverse().apply_range(stage)  # sum -> shift of its term
            self._check_chain(total, here, factors)

    def _check_sum(self, was: Statement, now: Statement, old: str, new: str) -> None:
        """Check that a sum adds the same products, of exponentials below another maximum.

        `new` is the array that the terms read in place of the source's `old`.
        """
        back = rewrite(now.value, lambda e: renamed(e, {new: old}))
        if not (is_same(was, replace(now, value=back)) and was.is_reassociable):
            raise Refuted(f"{now.name} does not add the terms of the source")
        if was.reduction is None or not was.reduction.carried:
            raise Refuted(f"the program does not allow {now.name} to be carried")
        value = now.value
        if (
            not isinstance(value, Binary)
            or value.op is not BinaryOp.ADD
            or value.left != now.target
            or not is_factor(value.right, new)
        ):
            raise Refuted(f"the terms of {now.name} are not multiples of an exponential")
        role = self.after.array(now.target.array).role
        if role is Role.INPUT or not now.write.exact or now.guard is not None:
            raise Refuted(f"{now.name} is not a plain sum")

    def _shifts(self, run: str, top: str) -> list[Statement]:
        """Return the statements that set the maximum so far: a finite number, or a larger one."""
        found = [s for s in self.after.statements if s.target.array == run]
        for one in found:
            match one.value:
                case Const(value=float() | int() as value) if math.isfinite(value):
                    pass
                case Binary(op=BinaryOp.MAX, left=Load() as left, right=right):
                    if left.array != top or right != one.target:
                        raise Refuted(f"{one.name} is not the maximum so far")
                    self._check_same_row(one, left, one.target)
                case _:
                    raise Refuted(f"{one.name} is not the maximum so far")
            self._check_new(one)
        return found

    def _check_new(self, one: Statement) -> None:
        if one.name in self.olds or one.guard is not None or not one.write.exact:
            raise Refuted(f"{one.name} is not a plain statement of the step")

    def _check_same_row(self, one: Statement, first: Load, second: Load) -> None:
        if first.index != second.index:
            raise Refuted(f"{one.name} mixes rows")

    def _factors(
        self, run: str, top: str, func: MathFunc, shifts: list[Statement]
    ) -> dict[str, _Shift]:
        """Return the factors by the statement that computes them.

        A copy of the maximum so far stands for the one that it was copied from.
        """
        copies = {
            s.target.array: s for s in self.new
            if isinstance(s.value, Load) and s.value.array == run
        }  # fmt: skip
        found: dict[str, _Shift] = {}
        for one in self.new:
            parts = difference(one.value)
            if parts is None or one.target.array in (run, *copies):
                continue
            first, second = parts
            if {first.array, second.array} - {run, top, *copies} or function_of(
                one.value
            ) is not func:
                continue
            self._check_new(one)
            self._check_same_row(one, first, one.target)
            self._check_same_row(one, second, one.target)
            sides = []
            for side in (first, second):
                if side.array == top:
                    self._check_complete(one, top)
                    sides.append(_to_cell(one, top))
                elif side.array == run:
                    sides.append(self._stage(one, run, shifts))
                else:
                    copy = copies[side.array]
                    self._check_new(copy)
                    assert isinstance(copy.value, Load)
                    self._check_same_row(copy, copy.value, copy.target)
                    writers = [s for s in self.after.statements if s.target.array == side.array]
                    if writers != [copy]:
                        raise Refuted(f"{side.array} is not a copy of {run} alone")
                    read = self._last_writes(one, side.array).reverse()
                    sides.append(read.apply_range(self._stage(copy, run, shifts)))
            found[one.name] = _Shift(*sides)
        return found

    # -- the maximum --------------------------------------------------------------------------

    def _check_maximum(self, old: Statement, top: str, elements: str) -> None:
        """Check that the source's exponentials are below the maximum of the same elements."""
        self._check_complete(old, top, self.before)
        writers = [s for s in self.before.statements if s.target.array == top]
        updates = [s for s in writers if is_maximum_of(s, elements)]
        for one in writers:
            if one.guard is not None or not one.write.exact:
                raise Refuted(f"{one.name} may leave {top} as it was")
            if one not in updates and (
                any(a.array == top for a in one.reads)
                or not self._ordered(
                    self.before, [s.write for s in updates], [one.write]
                ).is_empty()
            ):
                raise Refuted(f"{top} is not a maximum of {elements}")

    def _check_complete(self, reader: Statement, top: str, scop: Scop | None = None) -> None:
        """Check that nothing changes the maximum after `reader` has read it."""
        scop = scop or self.after
        reads = [a for a in reader.reads if a.array == top]
        for one in scop.statements:
            if one.target.array == top and not self._ordered(scop, reads, [one.write]).is_empty():
                raise Refuted(f"{reader.name} reads {top} before {one.name} is done")

    def _check_above(
        self, new: Statement, stage: isl.UnionMap, run: str, top: str, old: Statement
    ) -> None:
        """Check that each exponential is of an element that its shift is at least."""
        parts = exponent(new.value, run)
        assert parts is not None
        elements = parts[0].array
        covered = isl.UnionMap.empty(self.space)  # shift -> elements
        for raised in (s for s in self.after.statements if s.target.array == run):
            reads = [a for a in raised.reads if a.array == top]
            for one in (s for s in self.after.statements if s.target.array == top):
                earlier = self._ordered(self.after, [one.write], reads)
                below = self._below(one, elements)
                covered = covered.union(earlier.reverse().apply_range(below))
        own = (elements, parts[0].index)
        mine = self._union(a for a in new.reads if (a.array, a.index) == own)
        if not mine.is_subset(stage.apply_range(covered)):
            raise Refuted(f"{new.name} may be above the maximum so far")
        for scop, reader in ((self.before, old), (self.after, new)):
            makers = [s for s in scop.statements if s.target.array == elements]
            users = [reader, *(s for s in scop.statements if s.target.array == top)]
            reads = [a for s in users for a in s.reads if a.array == elements]
            for maker in makers:
                if not self._ordered(scop, reads, [maker.write]).is_empty():
                    raise Refuted(f"{maker.name} changes {elements} after its maximum was taken")

    def _below(self, one: Statement, elements: str, copies: int = 2) -> isl.UnionMap:
        """Return { instance -> elements that its result is at least }, through some copies."""
        none = isl.UnionMap.empty(self.space)
        is_copy = isinstance(one.value, Load)
        if one.guard is not None or not (is_copy or is_maximum_of(one, elements)):
            return none
        found = self._union(a for a in one.reads if a.array == elements)
        if isinstance(one.value, Load) and one.value.array != elements and copies:
            writers = [s for s in self.after.statements if s.target.array == one.value.array]
            below = joined(none, (self._below(s, elements, copies - 1) for s in writers))
            made = self._last_writes(one, one.value.array).reverse()
            found = found.union(made.apply_range(below))
        return found

    # -- sums ---------------------------------------------------------------------------------

    def _stage(self, reader: Statement, run: str, shifts: list[Statement]) -> isl.UnionMap:
        """Return { instance -> the write of the maximum so far that it reads }."""
        found = self._last_writes(reader, run).reverse()
        inside = isl.UnionSet.from_set(reader.domain.intersect_params(self.after.context))
        if not shifts or not inside.is_subset(found.domain()) or not found.is_single_valued():
            raise Refuted(f"{reader.name} may read {run} before it is set")
        return found

    def _check_chain(
        self, total: Statement, here: isl.UnionMap, factors: Mapping[str, _Shift]
    ) -> None:
        """Check that a sum always has the shift of the next term, and the whole one in the end."""
        array = total.target.array
        users = [s for s in self.after.statements if s.write.array == array]
        starts = [s for s in users if s in self.kept and s.value == Const(0.0, s.value.dtype)]
        scaled = [s for s in users if s in self.new]
        enters, leaves = self._scales(scaled, here, factors)
        unfinished = leaves.subtract(leaves.intersect_range(_cells(leaves))).domain()
        moving = {s.name for s in (total, *scaled)}
        writers = self._union(s.write for s in users)
        known = isl.UnionSet.empty(self.space)
        for start in starts:
            known = known.union(_instances(start))
        for one in self.after.statements:
            reads = [a for a in one.reads if a.array == array]
            if not reads:
                continue
            flow = producers(self.after, self._union(reads), writers, None)
            if one.name not in moving:
                if not flow.intersect_domain(unfinished).is_empty():
                    raise Refuted(f"{one.name} reads {array} below a maximum so far")
            elif not flow.subtract_domain(known).is_subset(leaves.apply_range(enters.reverse())):
                raise Refuted(f"{one.name} takes {array} for one below another maximum")
        if self.after.array(array).role is not Role.TEMP:
            later = self._ordered(self.after, [s.write for s in users], [s.write for s in users])
            last = writers.domain().subtract(later.domain())
            if not last.intersect(unfinished).is_empty():
                raise Refuted(f"{array} stays below a maximum so far")

    def _scales(
        self, scaled: list[Statement], here: isl.UnionMap, factors: Mapping[str, _Shift]
    ) -> tuple[isl.UnionMap, isl.UnionMap]:
        """Return { statement -> shift } of a sum before and after its updates and factors."""
        enters, leaves = here, here
        for one in scaled:
            factor = self._factor(one, factors)
            read = self._last_writes(one, factor).reverse()
            for name, shift in factors.items():
                own = read.intersect_range(_instances(self.after.statement(name)))
                enters = enters.union(own.apply_range(shift.from_))
                leaves = leaves.union(own.apply_range(shift.to))
            inside = isl.UnionSet.from_set(one.domain.intersect_params(self.after.context))
            if not inside.is_subset(leaves.domain()) or not inside.is_subset(enters.domain()):
                raise Refuted(f"{one.name} may multiply by another number")
        return enters, leaves

    def _factor(self, one: Statement, factors: Mapping[str, _Shift]) -> str:
        """Return the array of factors that a statement multiplies its target by."""
        arrays = {self.after.statement(name).target.array for name in factors}
        self._check_new(one)
        match one.value:
            case Binary(op=BinaryOp.MUL, left=left, right=Load(array=array)):
                if left == one.target and array in arrays:
                    made = [s for s in self.after.statements if s.target.array == array]
                    if all(s.name in factors for s in made):
                        return array
            case _:
                pass
        raise Refuted(f"{one.name} does not multiply {one.target.array} by a factor of the law")

    # -- order --------------------------------------------------------------------------------

    def _check_order(
        self,
        weights: Mapping[str, tuple[Statement, Statement]],
        shifts: Mapping[str, tuple[str, str]],
    ) -> None:
        """Check that accesses to one element keep their order, and that all else has its form."""
        news = {new.name: old for old, new in weights.values()}
        summed = {s.target.array for s in self.sums}
        carried = {a.name for a in self.after.arrays if a.name not in self.known}
        for one in self.new:
            if one.target.array not in summed | carried:
                raise Refuted(f"{one.name} changes {one.target.array}")
        for total in self.sums:
            if total.name not in shifts and not any(a.array in weights for a in total.reads):
                raise Refuted(f"{total.name} is another statement")
        stored = {old.target.array: new.target.array for old, new in weights.values()}
        pairs = [_Pair(self.olds[s.name], s, {}) for s in self.kept]
        for total in self.sums:
            arrays = {shifts[total.name][1]: ""} if total.name in shifts else stored
            pairs.append(_Pair(self.olds[total.name], total, arrays))
        for name, old in news.items():
            shift = difference(old.value)
            assert shift is not None
            arrays = {**stored, shift[1].array: ""}
            pairs.append(_Pair(old, self.after.statement(name), arrays))
        for first in pairs:
            for second in pairs:
                self._check_pair(first, second)

    def _check_pair(self, first: _Pair, second: _Pair) -> None:
        """Check that conflicting accesses of two statements are in the same order in both Scops.

        Sums and maxima in any order are not compared with themselves.  Exponentials that are also
        kept for others are stored twice.
        """
        if first.old is second.old and first.old.is_reassociable:
            return
        for array in sorted(first.old.arrays & second.old.arrays):
            own, other = (one.arrays.get(array, array) for one in (first, second))
            writes = array in (first.old.target.array, second.old.target.array)
            unordered = self.before.array(array).role is Role.FAULT
            if not own or own != other or not writes or unordered:
                continue
            old = self._conflicts(self.before, first.old, second.old, array)
            new = self._conflicts(self.after, first.new, second.new, own)
            if not _bare(old).is_equal(_bare(new)):
                names = f"{first.new.name} and {second.new.name}"
                raise Refuted(f"{names} access {array} in another order")

    def _conflicts(
        self, scop: Scop, first: Statement, second: Statement, array: str
    ) -> isl.UnionMap:
        """Return the pairs of instances that access an element in order, one of them writing."""
        one, two = (
            ([s.write] if s.write.array == array else [], [a for a in s.reads if a.array == array])
            for s in (first, second)
        )
        written = self._ordered(scop, one[0], (*two[0], *two[1]))
        return written.union(self._ordered(scop, one[1], two[0]))

    def _last_writes(self, reader: Statement, array: str) -> isl.UnionMap:
        """Return { last write -> reading instance } of an array, in the new Scop."""
        reads = self._union(a for a in reader.reads if a.array == array)
        writes = self._union(s.write for s in self.after.statements if s.write.array == array)
        return producers(self.after, reads, writes, None)


def _bare(pairs: isl.UnionMap) -> isl.UnionMap:
    """Return pairs of instances of two statements without the statements' names."""
    found = isl.UnionMap.empty(pairs.get_space())
    for part in maps_of(pairs):
        named = part.set_tuple_name(isl.dim_type.in_, "a").set_tuple_name(isl.dim_type.out, "b")
        found = found.union(isl.UnionMap.from_map(named))
    return found


def _instances(statement: Statement) -> isl.UnionSet:
    return isl.UnionSet.from_set(isl.Set.universe(statement.domain.get_space()))


def _to_cell(one: Statement, top: str) -> isl.UnionMap:
    """Return { instance -> the whole maximum of its row }."""
    (read,) = (a for a in one.reads if a.array == top)
    return isl.UnionMap.from_map(read.relation.set_tuple_name(isl.dim_type.out, _DONE))


def _cells(pairs: isl.UnionMap) -> isl.UnionSet:
    """Return the whole maxima among the shifts of `pairs`."""
    found = isl.UnionSet.empty(pairs.get_space())
    for part in sets_of(pairs.range()):
        if part.get_tuple_name() == _DONE:
            found = found.union(isl.UnionSet.from_set(part))
    return found
