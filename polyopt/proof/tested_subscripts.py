"""Use what tests said of subscripts: none that was found outside counts further on.

In: the conditions at which faults were noted, those on data around an access.  Out: whether a
subscript is inside of an extent there, so that the source keeps it as it is.
A program that noted a fault has no results, whatever it does afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from polyopt.dataclass import dataclass
from polyopt.ir.expr import (
    Binary,
    BinaryOp,
    Compare,
    CompareOp,
    Const,
    Expr,
    Select,
    Symbol,
    add,
    integer,
    operands,
    sub,
    walk,
)
from polyopt.ir.linear import linear, normalize
from polyopt.ir.types import DType
from polyopt.proof.paths import Path

if TYPE_CHECKING:
    from polyopt.proof.values import MovedAccess


@dataclass(frozen=True)
class Tests:
    """What holds at `path`; `is_same` compares with the loops' expressions and notes in `moved`
    what these read from other storage.
    """

    path: Path
    is_same: Callable[[Expr, Expr], bool]
    moved: list[MovedAccess]

    def tell(self, part: Expr, found: Expr | None = None) -> bool:
        """Tell whether a limit of a subscript, in `found`, holds since no fault was noted."""
        match part:
            case Compare(op=CompareOp.GE, left=index, right=Const(value=0)):
                return self._has_limit(index, None, found)
            case Compare(op=CompareOp.LT, left=index, right=extent):
                return self._has_limit(index, extent, found)
            case _:
                return False

    def inside(self, want: Expr, found: Expr) -> Expr:
        """Return the subscript that the source keeps inside, if a test found that `found` is."""
        match want:
            case Binary(op=BinaryOp.MAX, left=index, right=Const(value=0)):
                return index if self._has_limit(index, None, found) else want
            case Binary(op=BinaryOp.MIN, left=kept, right=last):
                index = self.inside(kept, found)
                return index if self._has_limit(index, add(last, integer(1)), found) else want
            case Select(condition=Compare(op=CompareOp.LT, left=index, right=Const(value=0))):
                return want.otherwise if self._has_limit(index, None, found) else want
            case Select(condition=condition) if self.tell(condition, found):
                return self.inside(want.then, found)
            case _:
                return want

    def _has_limit(self, index: Expr, extent: Expr | None, used: Expr | None = None) -> bool:
        """Tell whether a subscript is below an extent, or not negative, since no fault was noted.

        The tested one has the same value, whatever storage it was read from; it is in `used`.
        """
        tested = [pair for test in self.path.excluded for pair in self._limits(test)]
        tested += filter(None, map(_limit, self.path.data))
        ends = {(subscript, limit is None) for subscript, limit in tested}
        found = []
        parts = (
            None if used is None else {normalize(p) for p in walk(used) if p.dtype is DType.INT64}
        )
        for subscript, limit in tested if index.dtype is DType.INT64 else ():
            far = linear(index).constant - linear(subscript).constant
            # a sum with a number that has no limit at the other end may wrap around
            is_held = far == 0 or (subscript, extent is not None) in ends
            moved = add(subscript, integer(far))
            is_used = parts is None or normalize(moved) in parts
            if is_used and is_held and self._reaches(limit, extent, far):
                found.append(moved)
        if self._is_one_of(index, found):
            return True
        match index:
            case Select(condition=Compare(op=CompareOp.LT, left=raw, right=Const(value=0))):
                if index.otherwise != raw:
                    return False
                if extent is None:  # counted from the end where it is negative
                    return self._has_limit(index.then, None, used)
                wraps = self.is_same(extent, sub(index.then, raw))
                return wraps and self._has_limit(raw, extent, used)
            case _:
                return False

    def _reaches(self, limit: Expr | None, extent: Expr | None, far: int) -> bool:
        """Tell whether what has a limit has another one, too, `far` ahead."""
        if limit is None or extent is None:
            return limit is extent and far >= 0
        gap = linear(sub(limit, extent))
        if not gap.terms:
            return gap.constant + far <= 0
        return far == 0 and self.is_same(extent, limit)

    def _is_one_of(self, want: Expr, found: list[Expr]) -> bool:
        """Tell whether an expression is computed by one of `found`, of the same elements.

        Or of an array of another rank, or in registers: others may stand for any element.
        """
        for most in (0, len(self.moved) + len(list(walk(want)))):
            for candidate in found:
                before = len(self.moved)
                if self.is_same(want, candidate):
                    moved = self.moved[before:]
                    known = {m.load: m.place for m in self.moved[:before]}
                    same = all(known.get(m.load, m.place) == m.place for m in moved)
                    if same and len(moved) <= most and all(map(_keeps_name, moved)):
                        return True
                    del self.moved[before:]
        return False

    def _limits(self, test: Expr) -> Iterator[tuple[Expr, Expr | None]]:
        """Yield the subscripts that a test found not to be negative, or below an extent."""
        parts = operands(test, BinaryOp.AND)
        for number, part in enumerate(parts):
            guards = (*parts[:number], *parts[number + 1 :])
            if all(map(self.path.implies, guards)):
                for one in operands(part, BinaryOp.OR):
                    yield from _left(one)


def two_sided(part: Expr) -> Expr | None:
    """Return two comparisons in place of one with what is kept inside.

    Both say the same of any dimension that has elements, and the source's access needs one.
    """
    match _left(part):
        case ((index, None), (_, extent)) if extent is not None:
            low = Compare(CompareOp.LT, index, integer(0))
            return either(low, Compare(CompareOp.GE, index, extent))
        case _:
            return None


def is_two_sided(test: Expr) -> bool:
    """Tell whether a test has one comparison with each end of a dimension."""
    return any(
        isinstance(part, Binary) and part.op is BinaryOp.OR and _left(part.left)
        for part in walk(test)
    )


def either(one: Expr, two: Expr) -> Expr:
    """Return the disjunction of two conditions."""
    return Binary(BinaryOp.OR, one, two, DType.BOOL)


def _left(test: Expr) -> tuple[tuple[Expr, Expr | None], ...]:
    """Return the subscript that a test finds negative, or not below an extent."""
    match test:
        case Compare(op=CompareOp.LT, left=index, right=Const(value=0)):
            return ((index, None),)
        case Compare(op=CompareOp.GE, left=index, right=extent):
            return ((index, extent),)
        case Compare(
            op=CompareOp.NE,
            left=Binary(
                op=BinaryOp.MIN,
                left=Binary(op=BinaryOp.MAX, left=index, right=Const(value=0)),
                right=last,
            ),
            right=same,
        ) if index == same:
            return (index, None), (index, add(last, integer(1)))
        case _:
            return ()


def _limit(condition: Expr) -> tuple[Expr, Expr | None] | None:
    """Return the subscript that a condition says is not negative, or below an extent."""
    match condition:
        case Compare(op=CompareOp.GE, left=index, right=Const(value=0)):
            return index, None
        case Compare(op=CompareOp.LE, left=Const(value=0), right=index):
            return index, None
        case Compare(op=CompareOp.LT, left=index, right=extent):
            return index, extent
        case _:
            return None


def _keeps_name(moved: MovedAccess) -> bool:
    place = moved.place
    return isinstance(place, Symbol) or place.array == moved.load.array
