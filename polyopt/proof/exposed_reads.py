"""Find upward-exposed reads: elements that parts of the program may read before writing them.

In: parts of the program, one array, the elements known to be written.  Out: whether others may be
read, and which elements are surely written afterwards.
Conservative: sizes computed at run time may be anything, loops around parts may run no iteration.
"""

from __future__ import annotations

import islpy as isl

from polyopt.dataclass import dataclass
from polyopt.ir.affine import index_box
from polyopt.ir.expr import Expr
from polyopt.ir.names import params, reads
from polyopt.ir.program import Allocate, Bind, Invoke, Part, Parts, Repeat, Require
from polyopt.ir.scop import AccessKind, Array, Scop
from polyopt.never import assert_never
from polyopt.proof.source import producers, union_of


@dataclass(frozen=True, eq=False)
class WrittenElements:
    """The elements of one array that are surely written; `exposed`: others may be read."""

    elements: isl.Set
    exposed: bool = False


def nothing_written(array: Array) -> WrittenElements:
    """Return the state in which no element is written."""
    space = isl.Space.set_alloc(isl.DEFAULT_CONTEXT, 0, len(array.shape))
    return WrittenElements(isl.Set.empty(space.set_tuple_name(isl.dim_type.set, array.name)))


def written_after(parts: Parts, array: Array, before: WrittenElements) -> WrittenElements:
    """Return the elements written after `parts`, and whether any others were read."""
    state = before
    for part in parts:
        if state.exposed:
            return state
        state = _part(part, array, state)
    return state


def _part(part: Part, array: Array, state: WrittenElements) -> WrittenElements:
    match part:
        case Scop():
            return _scop(part, array, state)
        case Bind():
            return _value(part.value, array, state)
        case Require():
            return _value(part.condition, array, state)
        case Allocate():
            return nothing_written(array) if part.array == array.name else state
        case Invoke():
            if array.name in part.inputs and not _is_whole(array, state):
                return WrittenElements(state.elements, True)
            return WrittenElements(_whole(array)) if array.name in part.outputs else state
        case Repeat():
            bounds = [part.lower, *(() if part.upper is None else (part.upper,))]
            for expr in (*bounds, *(() if part.going is None else (part.going,))):
                state = _value(expr, array, state)
            inside = written_after(part.body, array, state)
            return WrittenElements(state.elements, inside.exposed or state.exposed)
        case _:
            assert_never(part)


def _value(expr: Expr, array: Array, state: WrittenElements) -> WrittenElements:
    """Return the state after the evaluation of an expression outside static parts."""
    if array.name not in reads(expr):
        return state
    return state if _is_whole(array, state) else WrittenElements(state.elements, True)


def _whole(array: Array) -> isl.Set:
    return index_box(array.name, array.shape, sorted(params(*array.shape)))


def _is_whole(array: Array, state: WrittenElements) -> bool:
    return bool(_whole(array).is_subset(state.elements))


def _scop(scop: Scop, array: Array, state: WrittenElements) -> WrittenElements:
    reading = [s for s in scop.statements if any(a.array == array.name for a in s.reads)]
    writing = [s for s in scop.statements if s.target.array == array.name]
    if not reading and not writing:
        return state
    certain = [s for s in writing if s.write.kind is AccessKind.MUST_WRITE]
    reads = union_of(scop, [a for s in reading for a in s.reads if a.array == array.name])
    must = union_of(scop, [s.write for s in certain])
    if not reads.is_empty():
        served = producers(scop, reads, must, None).range()
        open_ = reads.subtract_domain(served).range()
        known = isl.UnionSet.from_set(state.elements)
        if not open_.is_subset(known):
            return WrittenElements(state.elements, True)
    done = state.elements
    for statement in certain:
        # what is known of the sizes here stays true as long as they have these values
        here = statement.write.relation.intersect_params(scop.context).range()
        done = done.union(here.gist_params(scop.context))
    return WrittenElements(done)
