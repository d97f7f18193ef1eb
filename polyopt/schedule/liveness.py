"""Compute live-in and live-out elements, and the arrays that a loop could privatize.

In: a Scop, or a Schedule's tree and dependences.  Out: live-in and live-out elements per array;
arrays that iterations of a loop could privatize, and whether the last copy is live afterwards.
Arguments that are overwritten before they are read need no copy to a device.
"""

from __future__ import annotations

from collections.abc import Iterator

import islpy as isl

from polyopt.dataclass import dataclass
from polyopt.ir.affine import coalesced, index_box
from polyopt.ir.budget import optional
from polyopt.ir.parameters import param_names
from polyopt.ir.program import Program
from polyopt.ir.scop import AccessKind, Array, Role, Scop
from polyopt.ir.source import ArrayArg
from polyopt.schedule.dependences import (
    Dependence,
    DependenceKind,
    Dependences,
    exposed_reads,
    last_writers,
    unordered,
)
from polyopt.schedule.legality import pairs_reaching
from polyopt.schedule.tree import Band, Tree, bands, path_to, tuple_names

_VISIBLE = (Role.INPUT, Role.INOUT, Role.OUTPUT)


@dataclass(frozen=True, eq=False)
class Live:
    """The upward-exposed elements of an array, and those that the Scop may write.

    `certain`: every element of `left` is written, whatever the data.
    """

    array: str
    needed: isl.Set
    left: isl.Set
    certain: bool


def live(scop: Scop) -> tuple[Live, ...]:
    """Return the live-in and live-out elements of every visible array."""
    arrays = (a for a in scop.arrays if a.role in _VISIBLE and a.name not in unordered(scop))
    found = (_live(scop, array.name) for array in arrays)
    return tuple(one for one in found if not (one.needed.is_empty() and one.left.is_empty()))


def _live(scop: Scop, array: str) -> Live:
    rank = len(scop.array(array).shape)
    space = isl.Space.set_alloc(isl.DEFAULT_CONTEXT, 0, rank)
    space = space.set_tuple_name(isl.dim_type.set, array).align_params(scop.context.get_space())
    needed, may, must = (isl.Set.empty(space) for _ in range(3))
    exposed = exposed_reads(scop, array)
    for statement in scop.statements:
        for access in (statement.write, *statement.reads):
            if access.array != array:
                continue
            relation = access.relation.intersect_params(scop.context)
            if access.kind is AccessKind.READ:
                inside = isl.UnionMap.from_map(relation).intersect_domain(exposed).range()
                needed = needed.union(inside.extract_set(space.align_params(inside.get_space())))
                continue
            may = may.union(relation.range())
            if access.kind is AccessKind.MUST_WRITE:
                must = must.union(relation.range())
    return Live(array, coalesced(needed), coalesced(may), bool(may.is_subset(must)))


@dataclass(frozen=True, slots=True)
class Private:
    """`array` could be private to each iteration of `loop` (`L0[1]`).

    `last`: the values of the last iteration are read after the loop.
    """

    array: str
    loop: str
    last: bool


def privatisable(dependences: Dependences, tree: Tree) -> tuple[Private, ...]:
    """Return the arrays that make a loop sequential only by reusing memory."""
    return tuple(_privatisable(dependences, tree))


def _privatisable(dependences: Dependences, tree: Tree) -> Iterator[Private]:
    scop = dependences.scop
    reused: dict[str, list[Dependence]] = {
        d.array: []
        for d in dependences.memory
        if d.kind is not DependenceKind.FLOW and not d.reduction
    }
    for d in dependences.memory:
        if d.array in reused and d.kind is not DependenceKind.FLOW:
            reused[d.array].append(d)
    flows = {array: last_writers(scop, array) for array in reused}
    for band in bands(tree):
        names = frozenset(tuple_names(path_to(tree, scop, band.label)[1]))
        for array, found in reused.items():
            pairs = [d for d in found if d.source in names and d.target in names]
            if not pairs:
                continue
            here = pairs_reaching(dependences.union(pairs), tree, band.label)
            flow = pairs_reaching(flows[array], tree, band.label)
            for position, member in enumerate(band.members):
                stays = flow.eq_at_multi_union_pw_aff(member.function)
                same = here.eq_at_multi_union_pw_aff(member.function)
                if not here.is_subset(same) and flow.is_subset(stays):
                    last = _read_later(scop, tree, band, array, flows[array])
                    yield Private(array, f"{band.label}[{position}]", last)
                here, flow = same, stays


def _read_later(scop: Scop, tree: Tree, band: Band, array: str, flow: isl.UnionMap) -> bool:
    """Tell whether writes of the band's loops to the array are read after them."""
    if scop.array(array).role is not Role.TEMP:
        return True
    _, inside = path_to(tree, scop, band.label)
    outside = scop.domain.subtract(inside)
    return not flow.intersect_domain(inside).intersect_range(outside).is_empty()


BUDGET = 2_000_000  # isl operations


def overwritten(program: Program) -> frozenset[str]:
    """Return the arguments whose initial values a call never uses nor returns.

    None for a program that may fault midway: elements not yet written must keep their values.
    """
    if not program.is_static or program.signature.faults:
        return frozenset()
    scop = program.scop
    whole = {
        argument.array
        for argument in program.signature.arguments
        if isinstance(argument, ArrayArg) and argument.part is None and not argument.before
    }
    found: set[str] = set()
    with optional("what need not be copied to the device", BUDGET, part=0.1):
        for one in live(scop):
            array = scop.array(one.array)
            if (
                array.role is Role.INOUT
                and array.name in whole
                and _is_overwritten(scop, array, one)
            ):
                found.add(array.name)
    return frozenset(found)


def _is_overwritten(scop: Scop, array: Array, found: Live) -> bool:
    if not (found.certain and found.needed.is_empty()):
        return False
    box = index_box(array.name, array.shape, param_names(scop.context))
    return bool(box.intersect_params(scop.context).is_subset(found.left))
