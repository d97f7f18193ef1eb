"""Compute elements where they are read, if few elements of a temporary array are read.

In: a Program.  Out: an equal Program, without temporaries of which statements with fewer loops read
single elements, as `logs[rows, label]` does of `logs = x - top - np.log(total)`: the value is
computed at the read, with the same operations: forward substitution.
Leaves alone: arrays that several statements write, or one under a condition or as a sum; reads of
elements that are not written; operands that something changes after they were read.
"""

from __future__ import annotations

import islpy as isl

from polyopt.dataclass import replace
from polyopt.ir.budget import optional
from polyopt.ir.expr import Expr, Iter, Load, substitute
from polyopt.ir.program import Program
from polyopt.ir.scop import Array, Role, Scop, Statement
from polyopt.schedule.dataflow import within


def with_forwarded_elements(program: Program) -> Program:
    """Return `program` with such elements computed where they are read."""
    match program.parts:
        case (Scop() as scop,) if any(map(_may_be_few, scop.arrays)):
            with optional("elements at their reads"):
                found = scop
                for array in scop.arrays:
                    found = _forwarded(found, array) or found
                return program if found is scop else replace(program, parts=(found,))
        case _:
            pass
    return program


def _may_be_few(array: Array) -> bool:
    return array.role is Role.TEMP and len(array.shape) > 1


def _forwarded(scop: Scop, array: Array) -> Scop | None:
    """Return the Scop with the elements of an array computed where they are read, or None."""
    name = array.name
    if not _may_be_few(array):
        return None
    writers = [s for s in scop.statements if s.target.array == name]
    readers = [s for s in scop.statements if any(a.array == name for a in s.reads)]
    if len(writers) != 1 or not readers or not _is_elementwise(writers[0]):
        return None
    writer = writers[0]
    if not all(_reads_few(one, writer) for one in readers) or _is_changed_later(scop, writer):
        return None
    written = isl.UnionSet.from_set(within(scop, writer.write).range())
    before = _after(scop, writer)
    for one in readers:
        read = next(a for a in one.reads if a.array == name)
        elements = isl.UnionSet.from_set(within(scop, read).range())
        late = isl.UnionSet.from_set(one.domain.intersect_params(scop.context))
        if not elements.is_subset(written) or not late.is_subset(before):
            return None
    new = {one.name: _with_value(one, writer) for one in readers}
    kept = tuple(new.get(s.name, s) for s in scop.statements if s is not writer)
    return replace(scop, statements=kept, arrays=tuple(a for a in scop.arrays if a is not array))


def _is_elementwise(writer: Statement) -> bool:
    """Tell whether each instance of a statement sets an element of its own, from others."""
    names = [part.name for part in writer.target.index if isinstance(part, Iter)]
    return (
        len(names) == len(writer.target.index)
        and sorted(names) == sorted(writer.iters)
        and writer.reduction is None
        and writer.guard is None
        and all(access.array != writer.target.array for access in writer.reads)
    )


def _reads_few(reader: Statement, writer: Statement) -> bool:
    """Tell whether a statement reads one element for each of fewer iterations than there are."""
    reads = [access for access in reader.reads if access.array == writer.target.array]
    return len(reader.iters) < len(writer.iters) and len(reads) == 1


def _is_changed_later(scop: Scop, writer: Statement) -> bool:
    """Tell whether something writes what the statement has read before."""
    own = writer.time(_length(scop))
    for read in writer.reads:
        for other in scop.statements:
            if other.write.array != read.array:
                continue
            pairs = within(scop, read).apply_range(within(scop, other.write).reverse())
            later = own.lex_lt_map(other.time(_length(scop)))
            if not pairs.intersect(later).is_empty():
                return True
    return False


def _after(scop: Scop, writer: Statement) -> isl.UnionSet:
    """Return the instances of all statements that run after every instance of `writer`."""
    found = isl.UnionSet.empty(scop.context.get_space())
    own = writer.time(_length(scop)).intersect_params(scop.context)
    for other in scop.statements:
        theirs = other.time(_length(scop))
        early = theirs.lex_le_map(own).domain()
        found = found.union(isl.UnionSet.from_set(other.domain.subtract(early)))
    return found


def _length(scop: Scop) -> int:
    return max(len(s.order) for s in scop.statements)


def _with_value(reader: Statement, writer: Statement) -> Statement:
    """Return the reader with the writer's value in place of the element."""
    iters = [part.name for part in writer.target.index if isinstance(part, Iter)]

    def rule(part: Expr) -> Expr | None:
        if not isinstance(part, Load) or part.array != writer.target.array:
            return None
        names = dict(zip(iters, part.index, strict=True))
        return substitute(writer.value, names)

    return reader.rewritten(rule)
