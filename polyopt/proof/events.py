"""List the events of the source: accesses of its instances, and the values at its ends.

In: the source's statements.  Out: `Event`s, named after their statements.
A write that may keep its element's value also reads it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence

import islpy as isl

from polyopt.dataclass import dataclass
from polyopt.ir.expr import BinaryOp, Expr, integer
from polyopt.ir.names import depends_on_data
from polyopt.ir.scop import Access, Statement
from polyopt.ir.types import DType, Kind
from polyopt.proof.affine import Frame, NotAffine
from polyopt.proof.flows import Effect, Event
from polyopt.proof.paths import conjuncts
from polyopt.proof.source import SourcePart

_IN, _OUT = isl.dim_type.in_, isl.dim_type.out
OLD = "old"
"""The read of what a conditional write may leave."""


@dataclass(frozen=True, eq=False)
class UnorderedSums:
    """The statements whose order within one element is free, by name."""

    operators: dict[str, BinaryOp]

    @classmethod
    def of(cls, part: SourcePart, apart: Collection[str] = ()) -> UnorderedSums:
        """Return those that alone reduce into their array, or alone of those in `apart`.

        `apart` names statements that the loops run in other storage, as with partial results; other
        reductions into the same array keep their order.
        """
        free = [s for s in part.statements if _is_free(s)]
        count = Counter(s.target.array for s in free)
        moved = Counter(s.target.array for s in free if s.name in apart)
        return cls(
            {
                s.name: s.reduction.op
                for s in free
                if s.reduction is not None
                and (count[s.target.array] == 1 or (s.name in apart and moved[s.target.array] == 1))
            }
        )


def _is_free(statement: Statement) -> bool:
    if statement.is_reassociable:
        return True
    reduction = statement.reduction
    if reduction is None or not _is_exact(reduction.op, statement.target.dtype):
        return False
    return len([a for a in statement.reads if is_accumulator(statement, a)]) == 1


def _is_exact(op: BinaryOp, dtype: DType) -> bool:
    bits = (BinaryOp.AND, BinaryOp.OR, BinaryOp.XOR)
    if dtype.kind in (Kind.SIGNED, Kind.UNSIGNED):
        return op in (*bits, BinaryOp.ADD, BinaryOp.MUL, BinaryOp.MIN, BinaryOp.MAX)
    return dtype.kind is Kind.BOOL and op in bits


def is_accumulator(statement: Statement, access: Access) -> bool:
    """Tell whether an access is to its statement's target."""
    return (access.array, access.index) == (statement.target.array, statement.target.index)


def instances(part: SourcePart, statement: Statement) -> isl.Set:
    """Return the instances whose conditions on sizes and iterators hold."""
    frame = Frame(part.scop.params, statement.iters)
    domain = part.domain(statement)
    for condition in () if statement.guard is None else conjuncts(statement.guard):
        if not depends_on_data(condition):
            try:
                here = frame.condition(condition)
            except NotAffine:
                continue
            domain = domain.intersect(here.set_tuple_name(statement.name))
    return domain


def may_leave(statement: Statement) -> bool:
    """Tell whether an instance may keep its target's value."""
    has_data = statement.guard is not None and any(map(depends_on_data, conjuncts(statement.guard)))
    return has_data or not statement.write.exact


def source_events(part: SourcePart, sums: UnorderedSums, watched: frozenset[str]) -> list[Event]:
    """Return the source's events: `S` writes, `S:k` is its read number k, `S:old` see `OLD`.

    Reads of arrays that are not `watched` are left out.
    """
    length = max((len(s.order) for s in part.statements), default=1)
    found: list[Event] = []
    for statement in part.statements:
        write = statement.write
        name = statement.name
        if write.array not in part.unordered:
            is_sum = name in sums.operators
            effect = Effect.ACCUMULATE if is_sum else Effect.WRITE
            found.append(_of_source(part, statement, write, name, effect, length))
            if not is_sum and may_leave(statement):
                found.append(_read(part, statement, write, f"{name}:{OLD}", length))
        for number, access in enumerate(statement.reads):
            if access.array in watched:
                found.append(_read(part, statement, access, f"{name}:{number}", length))
    return found


def _read(part: SourcePart, statement: Statement, access: Access, name: str, length: int) -> Event:
    event = _of_source(part, statement, access, name, Effect.READ, length)
    return event if access.exact else event.each_element()


def _of_source(
    part: SourcePart, statement: Statement, access: Access, name: str, effect: Effect, length: int
) -> Event:
    domain = instances(part, statement)
    padded = (*statement.order, *[integer(0)] * (length - len(statement.order)))
    time = at_time(Frame(part.scop.params, statement.iters), padded, effect)
    time = time.set_tuple_name(_IN, statement.name).intersect_domain(domain)
    relation = access.relation.intersect_domain(domain)
    return Event(relation.set_tuple_name(_IN, name), time.set_tuple_name(_IN, name), effect)


def at_time(frame: Frame, order: Sequence[Expr], effect: Effect) -> isl.Map:
    """Return `{ [dims] -> time }`: reads of an iteration come before its writes."""
    phase = 0 if effect is Effect.READ else 1
    return frame.map_to("", (integer(1), *order, integer(phase))).reset_tuple_id(_OUT)


def ends(arrays: dict[str, isl.Set], length: int) -> list[Event]:
    """Return the events around a part: every element is set before it, `arrays` are read after.

    `arrays` has the elements of each array visible outside; `length` is that of all times.
    """
    found = []
    for name, elements in arrays.items():
        everything = isl.Set.universe(elements.get_space())
        found.append(_end(f"init:{name}", everything, 0, Effect.WRITE, length))
        found.append(_end(f"exit:{name}", elements, 2, Effect.READ, length))
    return found


def _end(name: str, elements: isl.Set, when: int, effect: Effect, length: int) -> Event:
    access = elements.identity().set_tuple_name(_IN, name)
    zero = [isl.Aff.zero_on_domain(isl.LocalSpace.from_space(elements.get_space()))] * length
    time = isl.Map.from_domain(elements)
    for aff in (zero[0].set_constant_val(isl.Val(when)), *zero[1:]):
        time = time.flat_range_product(isl.Map.from_aff(aff))
    time = time.intersect_domain(elements).reset_tuple_id(_OUT)
    return Event(access, time.set_tuple_name(_IN, name), effect)
