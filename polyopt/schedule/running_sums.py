"""Find maxima of rows with the sums of exponentials below them, by the dataflow of statements.

In: a Scop, the statement of a maximum.  Out: the sums of products with exponentials
`f(x[r, j] - m[r])`, which are stored in an array or are part of the terms; the statements that make
`x` block by block.
Refuses: maxima in a fixed order (PO0348), without exponentials of one form (PO0349), or without
sums whose order is open and that begin at zero (PO0350).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

from polyopt.dataclass import dataclass, replace
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
    substitute,
    walk,
)
from polyopt.ir.extremum import Update, update_by
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
    """A sum of products with exponentials; `free`: its loops besides the row and the column.

    `is_inline`: its terms compute the exponentials, which are not read from an array.
    """

    statement: Statement
    start: Statement
    rows: tuple[str, ...]
    column: str
    free: tuple[str, ...]
    is_inline: bool


@dataclass(frozen=True, eq=False)
class RunningSums:
    """A maximum and what is computed from it.

    `start` sets the maximum before `top` updates it.  `exponential` stores exponentials for sums
    that read them.  `producers` make the elements of the rows and are read by nothing else, in
    order; `finals` change the sums after they are complete.
    `is_consumed`: nothing but the sums reads the stored exponentials.
    """

    top: Statement
    start: Statement | None
    exponential: Statement | None
    func: MathFunc
    sums: tuple[Summed, ...]
    producers: tuple[Statement, ...]
    finals: tuple[Statement, ...]
    is_consumed: bool
    rows: tuple[str, ...]
    top_column: str
    places: Mapping[str, RowPosition]

    @property
    def has_products(self) -> bool:
        """Whether a product makes the rows, and products alone use their exponentials."""
        makes = any(statement.reduction is not None for statement in self.producers)
        return self.is_consumed and makes and any(one.free for one in self.sums)

    @property
    def statements(self) -> tuple[Statement, ...]:
        """The statements that run in the blocks, or whose work runs there instead."""
        found = [self.top, *self.producers, *self.finals]
        found += () if self.start is None else (self.start,)
        if self.exponential is not None and self.is_consumed:
            found.append(self.exponential)
        found += (s for one in self.sums for s in (one.start, one.statement))
        return tuple(found)

    @property
    def carriers(self) -> tuple[Statement, ...]:
        """The statements that compute exponentials."""
        found = () if self.exponential is None else (self.exponential,)
        return (*found, *(one.statement for one in self.sums if one.is_inline))


def maxima(scop: Scop) -> Iterator[Statement]:
    """Yield the statements that take a maximum over a row in any order."""
    for statement in scop.statements:
        if _is_maximum(statement):
            yield statement


def _is_maximum(statement: Statement) -> bool:
    rule = statement.reduction
    return (
        rule is not None
        and rule.op is BinaryOp.MAX
        and statement.is_reassociable
        and statement.guard is None
        and element_of(statement) is not None
        and statement.target.dtype.is_float
    )


def element_of(top: Statement) -> Load | None:
    """Return the element that a maximum is updated by, as `max(m, x)` or `x if x > m else m`."""
    match update_by(top.value, top.target):
        case Update(op=BinaryOp.MAX, fresh=Load() as element):
            return element
        case _:
            return None


def sums_of_products(scop: Scop, name: str) -> RunningSums | None:
    """Return the sums below the maximum called `name` where products make its rows and use them.

    Such rows need not be kept; None where the sums are others, or cannot go with the maximum.
    """
    try:
        group = find_running_sums(scop, name)
    except NotRunning:
        return None
    return group if group.has_products else None


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
class _Exponential:
    """An expression `func(x - m)` and its iterators of row and column."""

    expr: Expr
    func: MathFunc
    rows: tuple[str, ...]
    column: str


@dataclass(frozen=True, eq=False)
class _Stored:
    """A statement that stores exponentials."""

    statement: Statement
    place_of: _Exponential

    @property
    def place(self) -> RowPosition:
        """Its iterators of row and column."""
        return RowPosition(self.place_of.rows, Iter(self.place_of.column))


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
        place = self.scop.statements.index(top)
        is_started = not writers or self.scop.statements.index(writers[0]) < place
        if len(writers) > 1 or not is_started or self.scop.array(array).role is not Role.TEMP:
            raise NotRunning(
                "PO0348", f"other statements than {top.name} change {array}", top,
                "keep the maximum in an array of its own",
            )  # fmt: skip
        start = writers[0] if writers else None
        places = {top.name: RowPosition(rows, Iter(columns[0]))}
        if start is not None:
            places[start.name] = self._place_of_start(start, columns[0])
        exponential = self._exponential(rows, columns[0])
        if exponential is not None:
            places[exponential.statement.name] = exponential.place
        func, sums = self._sums(exponential, rows, columns[0])
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
        stored = None if exponential is None else exponential.statement
        names = {one.statement.name for one in sums}
        is_consumed = stored is not None and self._is_temporary_of(stored.target.array, names)
        group = RunningSums(
            top, start, stored, func, sums, (), tuple(finals), is_consumed, rows, columns[0], places
        )
        inside = {s.name for s in group.carriers if s is not stored or is_consumed} | {top.name}
        inside |= set() if start is None else {start.name}
        return replace(group, producers=self._producers(group.carriers, inside, places))

    def _is_temporary_of(self, array: str, names: Collection[str]) -> bool:
        """Tell whether nothing but the statements `names` reads an array."""
        readers = {s.name for s in self.scop.statements if any(a.array == array for a in s.reads)}
        return readers <= set(names) and self.scop.array(array).role is Role.TEMP

    def _below(
        self, expr: Expr, iters: tuple[str, ...], rows: tuple[str, ...], column: str
    ) -> _Exponential | None:
        """Return an exponential of an element less the maximum of its row, or None.

        `rows` and `column` are the iterators of the maximum, `iters` those around `expr`.
        """
        match expr:
            case Call(func=func, args=(Binary(op=BinaryOp.SUB, left=left, right=Load() as m),)):
                own = _iterators(m)
            case _:
                return None
        if func not in LAWS or m.array != self.top.target.array or own is None:
            return None
        element = element_of(self.top)
        assert element is not None
        for name in iters:
            names = dict(zip((*rows, column), map(Iter, (*own, name)), strict=True))
            if name not in own and substitute(element, names) == left:
                return _Exponential(expr, func, own, name)
        return None

    def _exponential(self, rows: tuple[str, ...], column: str) -> _Stored | None:
        """Return the statement `w = f(x - m)`, if there is one that a sum may read."""
        for statement in self.scop.statements:
            found = self._below(statement.value, statement.iters, rows, column)
            target = _iterators(statement.target)
            if found is None or target is None or statement.guard is not None:
                continue
            if set(target) == set(statement.iters) == {*found.rows, found.column}:
                return _Stored(statement, found)
        return None

    def _sums(
        self, stored: _Stored | None, rows: tuple[str, ...], column: str
    ) -> tuple[MathFunc, tuple[Summed, ...]]:
        """Return the function and the sums; raises `NotRunning`."""
        name = self.top.target.array
        func = None if stored is None else stored.place_of.func
        reason, where = "nothing sums its exponentials", self.top
        found: list[Summed] = []
        is_below = stored is not None
        for statement in self.scop.statements:
            terms = [
                one for part in walk(statement.value)
                if (one := self._below(part, statement.iters, rows, column)) is not None
            ]  # fmt: skip
            is_stored = stored is not None and statement is stored.statement
            reads = {a.array for a in statement.reads}
            if len(terms) == 1 and not is_stored and func in (None, terms[0].func):
                is_below = True
                own, column_of = terms[0].rows, terms[0].column
                total = self._sum(statement, terms[0].expr, name, own, column_of, True)
                func = terms[0].func if isinstance(total, Summed) else func
            elif stored is not None and stored.statement.target.array in reads and not is_stored:
                total = self._sum_of(statement, stored)
            else:
                continue
            if isinstance(total, Summed):
                found.append(total)
            else:
                reason, where = total, statement
        if not is_below:
            raise NotRunning(
                "PO0349", f"no statement computes exp(x - {name}) of the elements x of {name}",
                self.top, f"write it as `np.exp(x - {name})`, of the very array whose maximum "
                f"{name} is",
            )  # fmt: skip
        if not found or func is None:
            raise NotRunning(
                "PO0350", f"{self.top.name}: {reason}", where,
                "write the sum as `np.sum(w, axis=...)` or `w @ v`",
            )  # fmt: skip
        return func, tuple(found)

    def _sum_of(self, statement: Statement, stored: _Stored) -> Summed | str:
        """Return a statement as a sum of products with stored exponentials, or why it is none."""
        target, place = stored.statement.target, stored.place_of
        value = statement.value
        if not isinstance(value, Binary):
            return f"{statement.name} is not a sum whose order is open"
        inside = [p for p in walk(value.right) if isinstance(p, Load) and p.array == target.array]
        if len(inside) != 1:
            return f"the terms of {statement.name} are not products with one exponential"
        names = _unified(target, inside[0])
        if names is None:
            return f"{statement.name} reads its exponentials in another way than they are stored"
        rows, column = tuple(names[row] for row in place.rows), names[place.column]
        return self._sum(statement, inside[0], target.array, rows, column, False)

    def _sum(
        self, statement: Statement, part: Expr, array: str, rows: tuple[str, ...], column: str,
        is_inline: bool,
    ) -> Summed | str:  # fmt: skip
        """Return a statement as a sum of products with exponentials, or why it is none.

        `part` is what its terms have of `array`, which they read nowhere else.
        """
        name, rule, value = statement.name, statement.reduction, statement.value
        if rule is None or rule.op is not BinaryOp.ADD or not statement.is_reassociable:
            return f"{name} is not a sum whose order is open"
        if not isinstance(value, Binary) or value.left != statement.target or statement.guard:
            return f"{name} is not a plain sum"
        if value.op is not BinaryOp.ADD:
            return f"{name} subtracts"
        inside = [load for load in loads(value.right) if load.array == array]
        if len(inside) != 1 or not is_multiple(value.right, part):
            return f"the terms of {name} are not products with one exponential"
        target = _iterators(statement.target)
        if target is None or column in target or not set(rows) <= set(target):
            return f"{name} does not sum over the elements of a row"
        free = tuple(n for n in statement.iters if n not in (*rows, column))
        if set(target) != {*rows, *free}:
            return f"{name} sums over more than one loop"
        changed = statement.target.array
        writers = [s for s in self.scop.statements if s.target.array == changed]
        place = self.scop.statements.index(statement)
        starts = [s for s in self.scop.statements[:place] if s in writers]
        match starts:
            case [Statement(value=Const(value=zero), guard=None) as start] if zero == 0:
                pass
            case _:
                return f"{changed} does not start at zero before {name}"
        later = [s for s in self.scop.statements[place + 1 :] if s in writers]
        return (
            Summed(statement, start, rows, column, free, is_inline)
            if all(_iterators(s.target) is not None for s in later)
            else f"{changed} is changed in another way after {name}"
        )

    def _place_of_start(self, start: Statement, column: str) -> RowPosition:
        rows = _iterators(start.target)
        first: Expr = Const(0, self.top.target.index[0].dtype)
        element = element_of(self.top)
        if rows is None or len(rows) != len(start.iters):
            raise NotRunning(
                "PO0348", f"{start.name} starts {start.target.array} in another way", start,
                "take the maximum with `np.max`",
            )  # fmt: skip
        if element is not None and isinstance(start.value, Load) and (
            start.value.array == element.array
        ):  # fmt: skip
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
        self, users: Iterable[Statement], inside: set[str], places: dict[str, RowPosition]
    ) -> tuple[Statement, ...]:
        """Return the statements that make the elements of rows for the group alone, in order.

        `users` read the elements; all statements whose names are `inside` run in the blocks.
        """
        scop = self.scop
        found: set[str] = set()
        left = []
        for user in users:
            place = places[user.name]
            if isinstance(place.column, Iter):
                left += [(load, place.rows, place.column.name) for load in loads(user.value)]
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
    return inside[0] if is_multiple(expr, inside[0]) else None


def is_multiple(expr: Expr, part: Expr) -> bool:
    """Tell whether a term is the product of its part `part` with other factors."""
    while expr is not part:
        match expr:
            case Binary(op=BinaryOp.MUL, left=left, right=right):
                expr = left if any(one is part for one in walk(left)) else right
            case _:
                return False
    return True


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
