"""Leave out terms that affine masks make neutral, as `fp="reassociate"` allows.

In: a Program with reassociable reductions.  Out: sums without the terms that a mask makes zero,
maxima without those it makes minus infinity, and temporaries without the elements that only such
terms read: causal attention computes half of its scores, `(a * mask) @ b` half of its products.
A term counts as zero where finite operands make it so: zero times anything, zero divided by
anything, and `exp(-inf - top)` with `top` the maximum of a row in which the mask leaves an element.
Rows that are masked as a whole keep their terms.
Leaves alone: masks that depend on data, finite constants in place of minus infinity, domains that
would be left in several pieces, nests of more than one statement, programs of several parts.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable

import islpy as isl

from polyopt.dataclass import dataclass, field, replace
from polyopt.ir.affine import NotAffine, condition_set, in_one_piece, index_map, is_box
from polyopt.ir.budget import optional
from polyopt.ir.expr import (
    Binary,
    BinaryOp,
    Call,
    Cast,
    Compare,
    Const,
    Expr,
    Iter,
    Load,
    MathFunc,
    Select,
    Unary,
    UnaryOp,
    loads,
    rewrite,
    substitute,
    walk,
)
from polyopt.ir.program import Program
from polyopt.ir.scop import Role, Scop, Statement
from polyopt.ir.types import DType

_SET = isl.dim_type.set
_NEUTRAL = {BinaryOp.ADD: 0.0, BinaryOp.MAX: -math.inf}
_EXPONENTIALS = (MathFunc.EXP, MathFunc.EXP2)


def with_masked_terms_left_out(program: Program) -> Program:
    """Return `program` without the terms that affine masks make neutral."""
    match program.parts:
        case (Scop() as scop,) if any(map(_has_mask, scop.statements)):
            with optional("terms that masks make neutral"):
                return replace(program, parts=(_changed(scop),))
        case _:
            pass
    return program


def _has_mask(statement: Statement) -> bool:
    """Tell whether a statement may store elements that a mask makes neutral."""
    if isinstance(statement.value, Const):
        return statement.value.value == 0 and not is_box(statement.domain)
    return any(isinstance(part, Select | Compare) for part in walk(statement.value))


def _changed(scop: Scop) -> Scop:
    shorter = _Reading(scop).statements()
    if all(new is old for new, old in zip(shorter, scop.statements, strict=True)):
        return scop
    decided = _Reading(replace(scop, statements=tuple(_live(scop, shorter)))).decided()
    kept = tuple(_used(scop, _live(scop, decided)))
    used = {name for statement in kept for name in statement.arrays}
    arrays = tuple(a for a in scop.arrays if a.role is not Role.TEMP or a.name in used)
    return replace(scop, statements=kept, arrays=arrays)


@dataclass(frozen=True, slots=True)
class _Top:
    """An array of maxima: of which array, and { maximum -> the elements it is not below }."""

    array: str
    covers: isl.Map


@dataclass(slots=True)
class _Reading:
    """The program's nests in their order, and what is known of the elements in between.

    `constant`: the elements of an array that are zero, and those that are minus infinity.
    `indices`: what the elements of integer and boolean arrays are that depend on subscripts alone.
    """

    scop: Scop
    constant: dict[tuple[str, float], isl.Set] = field(default_factory=dict)
    tops: dict[str, _Top] = field(default_factory=dict)
    indices: dict[str, Statement] = field(default_factory=dict)

    def statements(self) -> list[Statement]:
        """Return the statements in order, reductions without neutral terms."""
        heads = Counter(s.order[0] for s in self.scop.statements)
        found: list[Statement] = []
        for statement in self.scop.statements:
            if heads[statement.order[0]] > 1 or not isinstance(statement.order[0], Const):
                self._forget(statement.target.array)
                found.append(statement)
                continue
            found.append(_shorter(statement, self._neutral(statement)))
            self._note(statement)
        return found

    def decided(self) -> list[Statement]:
        """Return the statements with choices that one side is taken of everywhere decided."""
        found: list[Statement] = []
        for statement in self.scop.statements:

            def rule(part: Expr, statement: Statement = statement) -> Expr | None:
                if not isinstance(part, Select):
                    return None
                holds = self._holds(statement, part.condition)
                if holds is not None and statement.domain.is_subset(holds):
                    return rewrite(part.then, rule)
                return None

            value = rewrite(statement.value, rule)
            found.append(statement if value is statement.value else replace(statement, value=value))
            self._note(statement)
        return found

    def _neutral(self, statement: Statement) -> isl.Set | None:
        """Return the instances of a reduction whose terms are neutral, or None."""
        reduction, value = statement.reduction, statement.value
        if reduction is None or not statement.is_reassociable or statement.guard is not None:
            return None
        neutral = _NEUTRAL.get(reduction.op)
        if neutral is None or not isinstance(value, Binary) or value.left != statement.target:
            return None
        return self._where(statement, value.right, neutral)

    def _note(self, statement: Statement) -> None:
        """Note what a nest stores."""
        target, value = statement.target, statement.value
        array = target.array
        known = {number: self._stored(statement, number) for number in _NEUTRAL.values()}
        top = self._top(statement)
        index = _of_subscripts(statement) and array not in self._written_before(statement)
        written = statement.write.relation.range()
        before = {number: self.constant.get((array, number)) for number in known}
        self._forget(array)
        for number, cells in known.items():
            kept = before[number]
            kept = None if kept is None else kept.subtract(written)
            cells = kept if cells is None else cells if kept is None else cells.union(kept)
            if cells is not None and not cells.is_empty():
                self.constant[array, number] = cells
        if top is not None:
            self.tops[array] = top
        if index and value.dtype in (DType.INT64, DType.INT32, DType.BOOL):
            self.indices[array] = statement

    def _written_before(self, statement: Statement) -> set[str]:
        place = self.scop.statements.index(statement)
        return {s.target.array for s in self.scop.statements[:place]}

    def _stored(self, statement: Statement, number: float) -> isl.Set | None:
        """Return the elements that a statement makes `number`."""
        if statement.guard is not None or not statement.write.exact or statement.reduction:
            return None
        if isinstance(statement.value, Const) and not _has_mask(statement):
            return None
        if not statement.write.relation.is_injective():
            return None
        if self.scop.array(statement.target.array).role not in (Role.TEMP, Role.OUTPUT):
            return None
        where = self._where(statement, statement.value, number)
        return None if where is None else statement.write.relation.intersect_domain(where).range()

    def _forget(self, array: str) -> None:
        """Forget what depends on the elements of an array."""
        for number in _NEUTRAL.values():
            self.constant.pop((array, number), None)
        self.indices.pop(array, None)
        for name in [n for n, top in self.tops.items() if array in (n, top.array)]:
            del self.tops[name]

    def _top(self, statement: Statement) -> _Top | None:
        """Return what the array is that a statement stores elements or their maxima in."""
        array, value = statement.target.array, statement.value
        old = None
        match value, statement.reduction:
            case Load() as term, None:
                pass
            case Binary(op=BinaryOp.MAX, left=left, right=Load() as term), _:
                old = self.tops.get(array)
                if left != statement.target or old is None or old.array != term.array:
                    return None
            case _:
                return None
        if statement.guard is not None or not statement.write.exact or term.array == array:
            return None
        read = self._relation(statement, term)
        if read is None:
            return None
        covers = statement.write.relation.reverse().apply_range(read)
        return _Top(term.array, covers if old is None else old.covers.union(covers))

    def _where(self, statement: Statement, expr: Expr, number: float) -> isl.Set | None:
        """Return the instances at which `expr` is `number`: zero or minus infinity."""
        match expr:
            case Const(value=value):
                return statement.domain if value == number else None
            case Load():
                cells, read = self.constant.get((expr.array, number)), None
                if cells is not None:
                    read = self._relation(statement, expr)
                if cells is None or read is None:
                    return None
                return read.intersect_range(cells).domain()
            case Select():
                yes = self._where(statement, expr.then, number)
                no = self._where(statement, expr.otherwise, number)
                holds = self._holds(statement, expr.condition)
                if holds is None:
                    return None if yes is None or no is None else yes.intersect(no)
                yes = None if yes is None else yes.intersect(holds)
                no = None if no is None else no.subtract(holds)
                return _union(yes, no)
            case Binary():
                return self._where_binary(statement, expr, number)
            case Unary(op=UnaryOp.NEG) if number == 0:
                return self._where(statement, expr.operand, number)
            case Cast() | Call():
                return self._where_converted(statement, expr, number)
            case _:
                return None

    def _where_binary(self, statement: Statement, expr: Binary, number: float) -> isl.Set | None:
        match expr:
            case Binary(op=BinaryOp.MUL) if number == 0:
                left = self._where(statement, expr.left, number)
                return _union(left, self._where(statement, expr.right, number))
            case Binary(op=BinaryOp.DIV | BinaryOp.RATIO) if number == 0:
                return self._where(statement, expr.left, number)
            case Binary(
                op=BinaryOp.MUL, left=factor, right=Const(value=int() | float() as scale)
            ) if scale > 0:
                return self._where(statement, factor, number)
            case _:
                return None

    def _where_converted(
        self, statement: Statement, expr: Cast | Call, number: float
    ) -> isl.Set | None:
        match expr:
            case Cast(operand=operand) if operand.dtype is DType.BOOL and number == 0:
                holds = self._holds(statement, operand)
                return None if holds is None else statement.domain.subtract(holds)
            case Cast(operand=operand) if expr.dtype.is_float and operand.dtype.is_float:
                return self._where(statement, operand, number)
            case Call(func=func, args=(operand,)) if func in _EXPONENTIALS and number == 0:
                lowest = self._where(statement, operand, -math.inf)
                return _union(lowest, self._below_top(statement, operand))
            case _:
                return None

    def _below_top(self, statement: Statement, operand: Expr) -> isl.Set | None:
        """Return where `a[i] - top[r]` is minus infinity less a maximum of unmasked elements."""
        match operand:
            case Binary(op=BinaryOp.SUB, left=Load() as left, right=Load() as right):
                pass
            case _:
                return None
        top, masked = self.tops.get(right.array), self._where(statement, left, -math.inf)
        row, cell = self._relation(statement, right), self._relation(statement, left)
        if top is None or masked is None or row is None or cell is None:
            return None
        if top.array != left.array:
            return None
        seen = self.constant[left.array, -math.inf]
        rows = top.covers.subtract_range(seen).domain()
        unmasked = row.reverse().apply_range(cell).subtract_range(seen)
        if not unmasked.is_subset(top.covers):
            return None
        return masked.intersect(row.intersect_range(rows).domain())

    def _relation(self, statement: Statement, load: Load) -> isl.Map | None:
        """Return { instance -> element read }, or None where it may be written in the nest."""
        own = load.array == statement.target.array
        if own and (load != statement.target or not statement.write.relation.is_injective()):
            return None
        try:
            return index_map(statement.domain, load.array, load.index)
        except NotAffine:
            return None

    def _holds(self, statement: Statement, condition: Expr) -> isl.Set | None:
        """Return the instances at which a condition holds, or None where data decides."""
        affine = _plain(rewrite(condition, self._resolved))
        try:
            found = condition_set(affine, isl.Set.universe(statement.domain.space).space)
        except NotAffine:
            return None
        return found.intersect(statement.domain)

    def _resolved(self, part: Expr) -> Expr | None:
        """Return the value of an element that depends on subscripts alone."""
        maker = self.indices.get(part.array) if isinstance(part, Load) else None
        if maker is None or not isinstance(part, Load):
            return None
        pairs = zip(maker.target.index, part.index, strict=True)
        values = {own.name: given for own, given in pairs if isinstance(own, Iter)}
        put = substitute(maker.value, values)
        return rewrite(put, self._resolved) if loads(put) else put


def _of_subscripts(statement: Statement) -> bool:
    """Tell whether each element that a statement stores is a function of its subscripts."""
    names = [part.name for part in statement.target.index if isinstance(part, Iter)]
    rest = all(isinstance(part, Iter | Const) for part in statement.target.index)
    return rest and sorted(names) == sorted(statement.iters) and statement.guard is None


def _plain(condition: Expr) -> Expr:
    """Return a condition without choices between True and False."""

    def rule(part: Expr) -> Expr | None:
        match part:
            case Select(then=Const(value=True), otherwise=Const(value=False)):
                return _plain(part.condition)
            case _:
                return None

    return rewrite(condition, rule)


def _union(one: isl.Set | None, two: isl.Set | None) -> isl.Set | None:
    if one is None or two is None:
        return two if one is None else one
    return one.union(two)


def _shorter(statement: Statement, neutral: isl.Set | None) -> Statement:
    """Return a statement without some instances, if the others are one piece."""
    if neutral is None or neutral.is_empty():
        return statement
    kept = in_one_piece(statement.domain.subtract(neutral))
    return statement if kept.n_basic_set() > 1 else replace(statement, domain=kept)


def _live(scop: Scop, statements: list[Statement]) -> list[Statement]:
    """Return the statements without instances whose element only left out terms read."""
    hidden = {a.name for a in scop.arrays if a.role is Role.TEMP}
    live = list(statements)
    for place in reversed(range(len(live))):
        statement = live[place]
        array = statement.target.array
        if array not in hidden or not statement.write.exact:
            continue
        before, now = _read_by_others(scop.statements, array), _read_by_others(live, array)
        if before is None or now is None or before.is_subset(now):
            continue
        read = statement.write.relation.intersect_range(now).domain()
        # What sizes alone say is left out: a product without columns reads nothing.
        read = read.drop_constraints_not_involving_dims(_SET, 0, len(statement.iters))
        live[place] = _shorter(statement, statement.domain.subtract(read))
    return live


def _used(scop: Scop, statements: list[Statement]) -> list[Statement]:
    """Return the statements without those that store temporaries nothing reads any more."""
    hidden = {a.name for a in scop.arrays if a.role is Role.TEMP}
    read = {array for array in hidden if _read_by_others(statements, array) is not None}
    was_read = {array for array in hidden if _read_by_others(scop.statements, array) is not None}
    return [s for s in statements if s.target.array not in was_read - read]


def _read_by_others(statements: Iterable[Statement], array: str) -> isl.Set | None:
    """Return the elements of an array that are read, but for updates of what they store.

    None if there are none: an update alone does not make its own result needed.
    """
    found: isl.Set | None = None
    for statement in statements:
        own = (statement.target.array, statement.target.index)
        for access in statement.reads:
            if access.array == array and (access.array, access.index) != own:
                found = _union(found, access.relation.range())
    return found
