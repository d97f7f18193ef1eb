"""Scans: loops that compute `a[i] = a[i - 1] op x`, which threads can make together.

In: a loop.  Out: its operation, its term, the element it starts from.
Refuses (`NoScan`): loops that do more, that read elsewhere what they write, or operations whose
grouping is not free.  Emitters and the proof read the same form.
"""

from __future__ import annotations

from itertools import pairwise

from polyopt.dataclass import dataclass
from polyopt.ir.expr import (
    Binary,
    BinaryOp,
    Const,
    Expr,
    Iter,
    Load,
    integer,
    loads,
    sub,
    substitute,
    walk,
)
from polyopt.ir.identity import identity, is_exact
from polyopt.ir.linear import linear, normalize, slope_of
from polyopt.ir.loops import Assign, For
from polyopt.ir.names import reads
from polyopt.ir.scop import Statement
from polyopt.ir.types import DType, Kind

COMBINING = frozenset(
    (
        BinaryOp.ADD,
        BinaryOp.MUL,
        BinaryOp.MIN,
        BinaryOp.MAX,
        BinaryOp.AND,
        BinaryOp.OR,
        BinaryOp.XOR,
    )
)
"""Operations whose terms may be grouped and swapped, if their last bits do not count."""
PASSED = (4, 8)
"""Bytes of what a thread passes on."""


class NoScan(Exception):
    """A loop is no scan; the text says why."""


@dataclass(frozen=True, slots=True)
class Scan:
    """`target = before op term` in each iteration of `loop`; `before` is the target of the last."""

    loop: For
    target: Load
    before: Load
    op: BinaryOp
    term: Expr
    neutral: Const
    statement: str

    @property
    def dtype(self) -> DType:
        """The type of what is scanned."""
        return self.target.dtype

    @property
    def start(self) -> Load:
        """The element before the first iteration's."""
        found = substitute(self.before, {self.loop.iter: self.loop.lower})
        assert isinstance(found, Load)
        return found


def scan_of(loop: For) -> Scan:
    """Return the scan that a loop is; raises `NoScan`."""
    match loop.body:
        case (Assign(target=Load() as target, value=Binary() as value, is_async=False) as node,):
            pass
        case _:
            raise NoScan("it is no assignment of an operation")
    before, term = parted(target, value)
    if loop.step != 1 or loads(loop.lower) or loads(loop.upper):
        raise NoScan("its iterations are not counted one by one")
    if not _follows(target, before, loop.iter):
        raise NoScan(f"it does not go on from what the iteration before has made of {target.array}")
    neutral = identity(value.op, target.dtype)
    if value.op not in COMBINING or neutral is None or target.dtype.size not in PASSED:
        raise NoScan("threads cannot pass such values on")
    if target.dtype.kind in (Kind.COMPLEX, Kind.BOOL):
        raise NoScan("threads cannot pass such values on")
    if not (target.dtype is before.dtype is term.dtype is value.dtype):
        raise NoScan("it converts what it makes")
    return Scan(loop, target, before, value.op, term, neutral, node.statement)


def parted(target: Load, value: Binary) -> tuple[Load, Expr]:
    """Return the element of `target`'s array in `target = element op term`, and the term."""
    for one, other in pairwise((value.left, value.right, value.left)):
        if isinstance(one, Load) and one.array == target.array:
            if any(target.array in reads(p) for p in (other, *one.index, *target.index)):
                raise NoScan(f"it reads {target.array} elsewhere, too")
            return one, other
    raise NoScan(f"it does not go on from {target.array}")


def _follows(target: Load, before: Load, name: str, by: int = 1) -> bool:
    """Tell whether each iteration has an element of its own, and `before` is that `by` earlier."""
    if any(loads(part) for part in (*target.index, *before.index)):
        return False
    last = {name: normalize(sub(Iter(name), integer(by)))}
    moves = [slope_of(part, name) for part in target.index]
    atoms = (atom for part in target.index for atom, _ in linear(part).terms)
    inside = any(atom != Iter(name) and Iter(name) in walk(atom) for atom in atoms)
    if not any(moves) or inside or len(before.index) != len(target.index):
        return False
    pairs = zip(before.index, target.index, strict=True)
    return all(_is_same(one, substitute(two, last)) for one, two in pairs)


def _is_same(one: Expr, two: Expr) -> bool:
    distance = linear(sub(one, two))
    return not distance.terms and distance.constant == 0


def is_recurrence(statement: Statement) -> bool:
    """Tell whether a statement goes on, in one of its loops, from its last iteration's element."""
    return loop_of(statement) is not None


def loop_of(statement: Statement) -> str | None:
    """Return the iterator of the loop in which a statement goes on from its last element."""
    target, value = statement.target, statement.value
    if statement.guard is not None or not isinstance(value, Binary) or value.op not in COMBINING:
        return None
    is_passed = target.dtype.size in PASSED and target.dtype.kind not in (Kind.COMPLEX, Kind.BOOL)
    if not is_passed or identity(value.op, target.dtype) is None:
        return None
    try:
        before, _ = parted(target, value)
    except NoScan:
        return None
    each = ((name, by) for name in statement.iters for by in (1, -1))
    return next((name for name, by in each if _follows(target, before, name, by)), None)


def is_open(statement: Statement) -> bool:
    """Tell whether the terms of a recurrence may be grouped in any way."""
    value = statement.value
    if not isinstance(value, Binary) or value.op not in COMBINING:
        return False
    return statement.regroups or is_exact(value.op, statement.target.dtype)
