"""Find maxima of rows with the sums of exponentials below them, by the dataflow of statements.

In: a Scop, the statement of a maximum.  Out: the exponentials `f(x[r, j] - m[r])`, the sums of
products with them, the statements that make `x` block by block.
Refuses: maxima in a fixed order (PO0348), without exponentials of one form (PO0349), or without
sums whose order is open and that begin at zero (PO0350).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress

from polyopt.dataclass import dataclass, replace
from polyopt.ir.budget import optional
from polyopt.ir.expr import (
    Binary,
    BinaryOp,
    Call,
    Const,
    Expr,
    Iter,
    Load,
    MathFunc,
    loads,
    rewrite,
    walk,
)
from polyopt.ir.program import Program
from polyopt.ir.scop import Role, Scop, Statement

LAWS = (MathFunc.EXP, MathFunc.EXP2)
"""Functions `f` with `f(x - new) == f(x - old) * f(old - new)`."""


class NotRunning(Exception):
    """A maximum has no sums that can be carried along; `code` tells why."""

    def __init__(self, code: str, reason: str, statement: Statement | None, hint: str) -> None:
        super().__init__(reason)
        self.code, self.statement, self.hint = code, statement, hint


@dataclass(frozen=True, slots=True)
class RowPosition:
    """Which iterators of a statement are the row, and what its column is."""

    rows: tuple[str, ...]
    column: Expr


@dataclass(frozen=True, eq=False)
class Summed:
    """A sum of products with the exponentials; `free`: its loops besides the row and the column."""

    statement: Statement
    start: Statement
    rows: tuple[str, ...]
    column: str
    free: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class RunningSums:
    """A maximum and what is computed from it.

    `start` sets the maximum before `top` updates it.  `producers` make the elements of the rows and
    are read by nothing else, in order; `finals` change the sums after they are complete.
    `is_consumed`: nothing but the sums reads the exponentials.  `places` has all statements but the
    exponential.
    """

    top: Statement
    start: Statement | None
    exponential: Statement
    func: MathFunc
    sums: tuple[Summed, ...]
    producers: tuple[Statement, ...]
    finals: tuple[Statement, ...]
    is_consumed: bool
    rows: tuple[str, ...]
    top_column: str
    exponential_rows: tuple[str, ...]
    column: str
    places: Mapping[str, RowPosition]

    @property
    def statements(self) -> tuple[Statement, ...]:
        """The statements that run in the blocks, or whose work runs there instead."""
        found = [self.top, *self.producers, *self.finals]
        found += () if self.start is None else (self.start,)
        found += (self.exponential,) if self.is_consumed else ()
        found += (s for one in self.sums for s in (one.start, one.statement))
        return tuple(found)


def with_carried_sums(program: Program) -> Program:
    """Return `program` with the sums marked that may be carried along with a maximum."""
    match program.parts:
        case (Scop() as scop,):
            with optional("carried sums"):
                names = {one.statement.name for group in _groups(scop) for one in group.sums}
                if names:
                    marked = (_carried(s) if s.name in names else s for s in scop.statements)
                    scop = replace(scop, statements=tuple(marked))
                    return replace(program, parts=(scop,))
        case _:
            pass
    return program


def _groups(scop: Scop) -> Iterator[RunningSums]:
    for top in maxima(scop):
        with suppress(NotRunning):
            yield find_running_sums(scop, top.name)


def _carried(statement: Statement) -> Statement:
    assert statement.reduction is not None
    return replace(statement, reduction=replace(statement.reduction, carried=True))


def maxima(scop: Scop) -> Iterator[Statement]:
    """Yield the statements that take a maximum over a row in any order."""
    for statement in scop.statements:
        if _is_maximum(statement):
            yield statement


def _is_maximum(statement: Statement) -> bool:
    value, rule = statement.value, statement.reduction
    return (
        rule is not None
        and rule.op is BinaryOp.MAX
        and statement.is_reassociable
        and statement.guard is None
        and isinstance(value, Binary)
        and value.left == statement.target
        and isinstance(value.right, Load)
        and statement.target.dtype.is_float
    )


def find_running_sums(scop: Scop, name: str) -> RunningSums:
    """Return the sums that go with the maximum called `name`; raises `NotRunning`."""
    top = next((s for s in scop.statements if s.name == name), None)
    if top is None:
        known = ", ".join(s.name for s in maxima(scop))
        raise NotRunning(
            "PO0348", f"there is no statement `{name}`", None, f"maxima: {known or 'none'}"
        )
    if not _is_maximum(top):
        raise NotRunning(
            "PO0348",
            f"{name} is not a maximum whose order is open",
            top,
            'write the maximum as `np.max(x, axis=...)`, and compile it with fp="reassociate"',
        )
    return _Search(scop, top).found()


@dataclass(frozen=True, eq=False)
class _Search:
    scop: Scop
    top: Statement

    def found(self) -> RunningSums:
        top = self.top
        rows = _iterators(top.target)
        columns = [name for name in top.iters if rows is None or name not in rows]
        if not rows or len(columns) != 1:
            raise NotRunning(
                "PO0348", f"{top.name} is not a maximum over one loop of each row", top,
                "take the maximum over one axis of an array with at least two",
            )  # fmt: skip
        array = top.target.array
        writers = [s for s in self.scop.statements if s.target.array == array and s is not top]
        if len(writers) > 1 or self.scop.array(array).role is not Role.TEMP:
            raise NotRunning(
                "PO0348", f"other statements than {top.name} change {array}", top,
                "keep the maximum in an array of its own",
            )  # fmt: skip
        exponential, func, own, column = self._exponential(rows, columns[0])
        places = {top.name: RowPosition(rows, Iter(columns[0]))}
        start = writers[0] if writers else None
        if start is not None:
            places[start.name] = self._place_of_start(start, columns[0])
        sums = self._sums(exponential, own, column)
        finals: list[Statement] = []
        for one in sums:
            places[one.statement.name] = RowPosition(one.rows, Iter(one.column))
            places[one.start.name] = self._place_of_element(one, one.start)
            for other in self.scop.statements:
                if other.target.array == one.statement.target.array and other not in (
                    one.statement, one.start,
                ):  # fmt: skip
                    places[other.name] = self._place_of_element(one, other)
                    finals.append(other)
        names = {one.statement.name for one in sums}
        readers = [
            s for s in self.scop.statements
            if s.name not in names and any(a.array == exponential.target.array for a in s.reads)
        ]  # fmt: skip
        role = self.scop.array(exponential.target.array).role
        is_consumed = not readers and role is Role.TEMP
        inside = {top.name, exponential.name} if is_consumed else {top.name}
        if start is not None:
            inside.add(start.name)
        producers = self._producers(exponential, own, column, inside, places)
        return RunningSums(
            top, start, exponential, func, sums, producers, tuple(finals), is_consumed, rows,
            columns[0], own, column, places,
        )  # fmt: skip

    def _exponential(
        self, rows: tuple[str, ...], column: str
    ) -> tuple[Statement, MathFunc, tuple[str, ...], str]:
        """Return the statement `w = f(x - m)`, its function, its iterators of row and column."""
        top = self.top
        assert isinstance(top.value, Binary)
        element = top.value.right
        found = [
            s for s in self.scop.statements
            if s not in (top,) and any(a.array == top.target.array for a in s.reads)
            and isinstance(s.value, Call) and s.value.func in LAWS
        ]  # fmt: skip
        for statement in found:
            value = statement.value
            assert isinstance(value, Call)
            match value.args[0]:
                case Binary(op=BinaryOp.SUB, left=Load() as left, right=Load() as right):
                    pass
                case _:
                    continue
            own = _iterators(right)
            target = _iterators(statement.target)
            rest = [name for name in statement.iters if own is None or name not in own]
            if own is None or target is None or len(rest) != 1 or right.array != top.target.array:
                continue
            if len(own) != len(rows) or set(target) != set(statement.iters):
                continue
            names = dict(zip((*rows, column), map(Iter, (*own, rest[0])), strict=True))
            if statement.guard is None and _with(element, names) == left:
                return statement, value.func, own, rest[0]
        name = top.target.array
        raise NotRunning(
            "PO0349", f"no statement computes exp(x - {name}) of the elements x of {name}", top,
            f"write it as `np.exp(x - {name})`, of the very array whose maximum {name} is",
        )  # fmt: skip

    def _sums(
        self, exponential: Statement, rows: tuple[str, ...], column: str
    ) -> tuple[Summed, ...]:
        weights = exponential.target.array
        found, reason, where = [], "nothing sums its exponentials", exponential
        for statement in self.scop.statements:
            if not any(a.array == weights for a in statement.reads):
                continue
            one = self._sum(statement, exponential, rows, column)
            if isinstance(one, Summed):
                found.append(one)
            else:
                reason, where = one, statement
        if not found:
            raise NotRunning(
                "PO0350", f"{self.top.name}: {reason}", where,
                "write the sum as `np.sum(w, axis=...)` or `w @ v`",
            )  # fmt: skip
        return tuple(found)

    def _sum(
        self, statement: Statement, exponential: Statement, rows: tuple[str, ...], column: str
    ) -> Summed | str:
        """Return a statement as a sum of products with the exponentials, or why it is none."""
        name, rule, value = statement.name, statement.reduction, statement.value
        if rule is None or rule.op is not BinaryOp.ADD or not statement.is_reassociable:
            return f"{name} is not a sum whose order is open"
        if not isinstance(value, Binary) or value.left != statement.target or statement.guard:
            return f"{name} is not a plain sum"
        if value.op is not BinaryOp.ADD:
            return f"{name} subtracts"
        factor = factor_of(value.right, exponential.target.array)
        if factor is None:
            return f"the terms of {name} are not products with one exponential"
        names = _unified(exponential.target, factor)
        target = _iterators(statement.target)
        if names is None or target is None:
            return f"{name} reads its exponentials in another way than they are stored"
        own, here = tuple(names[row] for row in rows), names[column]
        if here in target or not set(own) <= set(target):
            return f"{name} does not sum over the elements of a row"
        free = tuple(n for n in statement.iters if n not in (*own, here))
        if set(target) != {*own, *free}:
            return f"{name} sums over more than one loop"
        array = statement.target.array
        writers = [s for s in self.scop.statements if s.target.array == array]
        place = self.scop.statements.index(statement)
        starts = [s for s in self.scop.statements[:place] if s in writers]
        match starts:
            case [Statement(value=Const(value=zero), guard=None) as start] if zero == 0:
                pass
            case _:
                return f"{array} does not start at zero before {name}"
        later = [s for s in self.scop.statements[place + 1 :] if s in writers]
        return (
            Summed(statement, start, own, here, free)
            if all(_iterators(s.target) is not None for s in later)
            else f"{array} is changed in another way after {name}"
        )

    def _place_of_start(self, start: Statement, column: str) -> RowPosition:
        rows = _iterators(start.target)
        first: Expr = Const(0, self.top.target.index[0].dtype)
        element = self.top.value.right if isinstance(self.top.value, Binary) else None
        if rows is None or len(rows) != len(start.iters):
            raise NotRunning(
                "PO0348", f"{start.name} starts {start.target.array} in another way", start,
                "take the maximum with `np.max`",
            )  # fmt: skip
        if isinstance(start.value, Load) and isinstance(element, Load):
            pairs = zip(element.index, start.value.index, strict=True)
            found = [there for here, there in pairs if here == Iter(column)]
            first = found[0] if len(found) == 1 else first
        return RowPosition(rows, first)

    def _place_of_element(self, one: Summed, other: Statement) -> RowPosition:
        """Return the row of a statement that writes elements of a sum."""
        names = _unified(one.statement.target, other.target)
        if names is None:
            raise NotRunning(
                "PO0350", f"{other.name} stores {other.target.array} in another way", other,
                "keep the sum in an array of its own",
            )  # fmt: skip
        return RowPosition(
            tuple(names[row] for row in one.rows), Const(0, other.target.index[0].dtype)
        )

    def _producers(
        self,
        exponential: Statement,
        rows: tuple[str, ...],
        column: str,
        inside: set[str],
        places: dict[str, RowPosition],
    ) -> tuple[Statement, ...]:
        """Return the statements that make the elements of rows for the group alone, in order."""
        scop = self.scop
        found: set[str] = set()
        left = [(load, rows, column) for load in loads(exponential.value)]
        while left:
            load, own_rows, own_column = left.pop()
            array = scop.array(load.array)
            if array.role is not Role.TEMP or Iter(own_column) not in load.index:
                continue
            makers = [s for s in scop.statements if s.target.array == load.array]
            readers = {
                s.name for s in scop.statements if any(a.array == load.array for a in s.reads)
            }
            named = [_unified(load, s.target) for s in makers]
            wanted = (*own_rows, own_column)
            if not makers or any(n is None or not set(wanted) <= set(n) for n in named):
                continue
            if not readers <= inside | found | {s.name for s in makers}:
                continue
            for maker, names in zip(makers, named, strict=True):
                assert names is not None
                if maker.name in found:
                    continue
                here = tuple(names[row] for row in own_rows)
                places[maker.name] = RowPosition(here, Iter(names[own_column]))
                found.add(maker.name)
                more = [one for one in loads(maker.value) if one.array != load.array]
                left += [(one, here, names[own_column]) for one in more]
        return tuple(s for s in scop.statements if s.name in found)


def factor_of(expr: Expr, array: str) -> Load | None:
    """Return the element of `array` that a term is the product of with other factors."""
    inside = [part for part in walk(expr) if isinstance(part, Load) and part.array == array]
    if len(inside) != 1:
        return None
    while not isinstance(expr, Load):
        match expr:
            case Binary(op=BinaryOp.MUL, left=left, right=right):
                expr = left if any(part is inside[0] for part in walk(left)) else right
            case _:
                return None
    return expr if expr is inside[0] else None


def _iterators(load: Load) -> tuple[str, ...] | None:
    """Return the iterators that are the subscripts of an element, if each is one of its own."""
    names = [part.name for part in load.index if isinstance(part, Iter)]
    if len(names) != len(load.index) or len(set(names)) != len(names):
        return None
    return tuple(names)


def _unified(one: Load, other: Load) -> dict[str, str] | None:
    """Return { iterator of `one` -> iterator of `other` } for equal elements."""
    names, others = _iterators(one), _iterators(other)
    if names is None or others is None or one.array != other.array:
        return None
    return dict(zip(names, others, strict=True))


def _with(expr: Expr, names: Mapping[str, Expr]) -> Expr:
    return rewrite(expr, lambda p: names.get(p.name) if isinstance(p, Iter) else None)
