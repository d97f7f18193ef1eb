"""Recompute: compute a temporary's values at their uses instead of storing them.

In: a temporary, a loop that reads it.  Out: in every iteration of the loop, copies of its producers
for the values that this iteration reads; the producers themselves are removed if nothing else
reads the temporary.
Refuses: a loop that does not read it or also writes it; producers under conditions on data; readers
that find elements by data; values whose operands were overwritten.
"""

from __future__ import annotations

from functools import partial

import islpy as isl

from polyopt.dataclass import dataclass, replace
from polyopt.errors import ScheduleError
from polyopt.ir.affine import coalesced
from polyopt.ir.expr import Iter
from polyopt.ir.names import fresh_name
from polyopt.ir.scop import Array, Origin, Role, Scop, Statement
from polyopt.ir.showing import show
from polyopt.never import assert_never
from polyopt.schedule.data_steps import DataStep, RewrittenProgram
from polyopt.schedule.dataflow import Dataflow, within
from polyopt.schedule.rebase import rebased
from polyopt.schedule.tree import Band, Filter, Leaf, LoopRef, Sequence, Tree
from polyopt.transforms.accesses import find_array, redirected, touching
from polyopt.transforms.local import Local, region_loop_names
from polyopt.transforms.reference import loop
from polyopt.transforms.region import NewNest, Region, enter, loop_nest, place_nests
from polyopt.transforms.written import Written


@dataclass(frozen=True, slots=True)
class Recompute(DataStep, Written):
    """Recompute the elements of `array` that an iteration of `loop` reads (overlapped tiling:
    Krishnamoorthy et al., "Effective automatic parallelization of stencil computations", 2007).

    Elements that two iterations read are computed twice.
    """

    array: str
    loop: str

    def renew(self, tree: Tree, scop: Scop) -> RewrittenProgram:
        """Return the changed program.

        Raises `ScheduleError` PO0301, PO0302, PO0331, PO0332, PO0334.
        """
        array = find_array(scop, self.array, str(self), (Role.TEMP,))
        ref = loop(tree, self.loop, str(self))
        region = enter(scop, tree, ref, touching(scop, array.name))
        needed = self._recomputed(region, array, ref)
        local = Local.around(region, array, needed.touched, f"{array.name}_again", str(self))
        inside = local.redirected()
        made = tuple(needed.statement(local, name) for name in needed.needed)
        with_copies = replace(region, scop=replace(inside, statements=(*made, *inside.statements)))
        placed = place_nests(with_copies, tuple(_nest(with_copies, s) for s in made), ())
        new = with_copies.scop
        same = dict(region.same)
        for name, statement in zip(needed.needed, made, strict=True):
            iters = scop.statement(name).iters
            same[statement.name] = Origin(name, tuple(map(Iter, iters)))
        if not _is_read(new, array.name, set(needed.needed)):
            new, placed = _without(new, placed, array.name)
        kept = {s.name for s in new.statements}
        recomputed = frozenset(s.name for s in made)
        kept_same = {name: origin for name, origin in same.items() if name in kept}
        return RewrittenProgram(new, placed, kept_same, recomputed=recomputed)

    def _recomputed(self, region: Region, array: Array, ref: LoopRef) -> _Recomputed:
        """Return the instances to recompute; raises `ScheduleError` PO0331, PO0334."""
        readers = [region.scop.statement(name) for name in region.values]
        if not readers:
            raise ScheduleError(
                "PO0331",
                f"{self}: nothing inside the loop reads {array.name}",
                hint="name a loop that reads the array",
            )
        for statement in region.scop.statements:
            if statement.target.array != array.name:
                continue
            if statement.name in region.values:
                raise self._refused(f"{ref} computes {array.name} itself", statement)
            if statement.guard is not None or not statement.write.exact:
                raise self._refused("its values depend on conditions or subscripts", statement)
        for statement in region.scop.statements:
            if any(read.array == array.name and not read.exact for read in statement.reads):
                raise self._refused("subscripts that depend on data find its elements", statement)
        return _Recomputed.of(region, array)

    def _refused(self, reason: str, statement: Statement) -> ScheduleError:
        own = (a for a in (statement.write, *statement.reads) if a.array == self.array)
        near = f"; `pack({self.array}, {self.loop})` keeps them near"
        hint = f"store the values{near if all(a.exact for a in own) else ''}"
        return ScheduleError("PO0334", f"{self}: {reason}", loc=statement.loc, hint=hint)


@dataclass(frozen=True, eq=False)
class _Recomputed:
    """Instances to recompute: `needed` is, by producer, { values of the loops -> instance }.

    `touched` is { values of the loops -> element } of all their accesses.
    """

    region: Region
    needed: dict[str, isl.Map]
    touched: isl.Map

    @staticmethod
    def of(region: Region, array: Array) -> _Recomputed:
        wanted = _wanted(region, array.name)
        needed: dict[str, isl.Map] = {}
        touched: list[isl.Map] = []
        for statement in region.scop.statements:
            own = wanted.intersect_range(isl.UnionSet.from_set(statement.domain))
            if not own.is_empty():
                needed[statement.name] = isl.Map.from_union_map(own)
                touched += _elements(region.scop, statement, array.name, needed[statement.name])
        for name in region.values:
            loops = region.map_loops(name).reverse()
            touched += _elements(region.scop, region.scop.statement(name), array.name, loops)
        whole = touched[0]
        for part in touched[1:]:
            whole = whole.union(part)
        return _Recomputed(region, needed, coalesced(whole))

    def statement(self, local: Local, name: str) -> Statement:
        """Return the copy of a producer; its first iterators are the loops."""
        scop = self.region.scop
        old = scop.statement(name)
        loops: tuple[str, ...] = ()
        for wish in region_loop_names(self.region):
            loops += (fresh_name(wish, (*loops, *old.iters, *scop.params)),)
        made = redirected(old, local.source.name, partial(local.cell, tuple(map(Iter, loops))))
        own = fresh_name(f"{name}_again", (s.name for s in scop.statements))
        runs = self.needed[name]
        count = runs.dim(isl.dim_type.in_)
        domain = runs.reset_tuple_id(isl.dim_type.in_).wrap().flatten().set_tuple_name(own)
        iters = (*loops, *old.iters)
        for position, iterator in enumerate(iters):
            domain = domain.set_dim_name(isl.dim_type.set, position, iterator)
        assert len(iters) == count + len(old.iters)
        origin = old.origin or Origin(name, tuple(map(Iter, old.iters)))
        text = f"{old.text}  # again: up to {_cells(local)} elements in an iteration"
        places = (*[None] * len(loops), *old.loops) if old.loops else ()
        made = replace(made, text=text, origin=origin, loops=places)
        return replace(made, name=own, iters=iters, domain=domain)


def _wanted(region: Region, array: str) -> isl.UnionMap:
    """Return { values of the loops -> instances that produce what the iteration reads }."""
    flow = Dataflow(rebased(region.scop, region.tree), touching(region.scop, array))
    wanted, chain = flow.empty, flow.empty
    for statement in region.scop.statements:
        inside = statement.name in region.values
        for number, read in enumerate(statement.reads):
            if read.array != array:
                continue
            producers = flow.of_read(statement, number).writers.reverse()
            if inside:
                loops = isl.UnionMap.from_map(region.map_loops(statement.name)).reverse()
                wanted = wanted.union(loops.apply_range(producers))
            else:
                chain = chain.union(producers)
    if not chain.is_empty():
        earlier, _ = chain.transitive_closure()
        wanted = wanted.union(wanted.apply_range(earlier))
    return coalesced(wanted)


def _elements(scop: Scop, statement: Statement, array: str, runs: isl.Map) -> list[isl.Map]:
    """Return { values of the loops -> elements of the array that the instances access }."""
    accesses = (a for a in (statement.write, *statement.reads) if a.array == array)
    return [runs.apply_range(within(scop, access)) for access in accesses]


def _cells(local: Local) -> str:
    return " x ".join(show(side.extent) for side in local.sides) or "1"


def _nest(region: Region, statement: Statement) -> NewNest:
    loops = len(region.loops)
    names = tuple(f"{name}_again" for name in statement.iters[loops:])
    return NewNest((statement,), loop_nest(region.tree, statement.name, statement, loops, names))


def _is_read(scop: Scop, array: str, producers: set[str]) -> bool:
    """Tell whether other statements than the producers read the array."""
    return any(
        access.array == array
        for statement in scop.statements
        if statement.name not in producers
        for access in statement.reads
    )


def _without(scop: Scop, tree: Tree, array: str) -> tuple[Scop, Tree]:
    """Return the program without an array that nothing reads, and without its producers."""
    statements = tuple(s for s in scop.statements if s.target.array != array)
    arrays = tuple(a for a in scop.arrays if a.name != array)
    left = replace(scop, statements=statements, arrays=arrays)
    return left, pruned(tree, left.domain)


# -- remove the loops and parts of a tree that run no instances ----------------------------------


def pruned(tree: Tree, domain: isl.UnionSet) -> Tree:
    """Return `tree` without the parts of sequences that contain no instance of `domain`."""
    match tree:
        case Leaf():
            return tree
        case Band():
            members = tuple(
                replace(m, schedule=m.schedule.intersect_domain(domain)) for m in tree.members
            )
            return replace(tree, members=members, child=pruned(tree.child, domain))
        case Filter():
            inside = domain.intersect(tree.domain)
            return Filter(inside, pruned(tree.child, inside))
        case Sequence():
            parts = []
            for part in tree.parts:
                inside = domain.intersect(part.domain)
                if not inside.is_empty():
                    parts.append(Filter(inside, pruned(part.child, inside)))
            if len(parts) == 1:
                return parts[0].child
            return Sequence(tuple(parts)) if parts else Leaf()
        case _:
            assert_never(tree)
