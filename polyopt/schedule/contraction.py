"""Find the loops inside whose iterations the values of temporaries live.

In: a schedule tree.  Out: for each temporary the innermost loop every iteration of which computes
all the values that it uses: one iteration's cells suffice as storage there (array contraction: Gao,
Olsen, Sarkar, Thekkath, "Collective loop fusion for array contraction", 1992).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import islpy as isl

from polyopt.dataclass import dataclass, replace
from polyopt.ir.budget import optional
from polyopt.ir.scop import Array, Role, Scop
from polyopt.never import assert_never
from polyopt.schedule.dependences import last_writers
from polyopt.schedule.tree import Band, BandMember, Filter, Leaf, Sequence, Tree

PART = 0.2
"""Of the time that is left, so much may the live ranges of one temporary take."""


def contraction_loops(
    scop: Scop, tree: Tree, wanted: Callable[[Array], bool] = lambda _: True
) -> dict[str, str]:
    """Return temporary -> the innermost loop (`L0[1]`) whose iterations contain its live ranges.

    A temporary whose values cross iterations of every loop, that several nests use, or that is not
    `wanted` is absent.
    """
    return {array: loops[-1] for array, loops in contraction_nests(scop, tree, wanted).items()}


def contraction_nests(
    scop: Scop, tree: Tree, wanted: Callable[[Array], bool] = lambda _: True
) -> dict[str, tuple[str, ...]]:
    """Return temporary -> all loops whose iterations contain its live ranges, outermost first."""
    found = {}
    for array in scop.arrays:
        if array.role is Role.TEMP and wanted(array):
            loops = _homes(scop, tree, array.name)
            if loops:
                found[array.name] = loops
    return found


def contraction_chains(scop: Scop, tree: Tree) -> dict[str, tuple[tuple[str, ...], ...]]:
    """Return temporary -> the loops of each part of a sequence that values never leave.

    Where values pass between the parts of a sequence, or one part has them all, there is one chain:
    that of `contraction_nests`.  Otherwise each part may have storage of its own, as full tiles and
    what they leave over.
    """
    found = {}
    for array in scop.arrays:
        life = _known_life(scop, array.name) if array.role is Role.TEMP else None
        if life is not None and life.is_initialised:
            chains = _chains(tree, life, ())
            if all(chains):
                found[array.name] = chains
    return found


def _homes(scop: Scop, tree: Tree, array: str) -> tuple[str, ...]:
    found = _known_life(scop, array)
    if not found.is_initialised:
        return ()
    return _descend(tree, found, ())[0]


def _chains(tree: Tree, life: _Life, around: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    """Return the loops of every part that is on its own, each with those `around`."""
    found, rest = _descend(tree, life, around)
    if not isinstance(rest, Sequence):
        return (found,)
    flow = life.flow
    parts = [(part, life.touching.intersect(part.domain)) for part in rest.parts]
    used = [(part, own) for part, own in parts if not own.is_empty()]
    flows = [flow.intersect_domain(own).intersect_range(own) for _, own in used]
    within = isl.UnionMap.empty(flow.get_space())
    for one in flows:
        within = within.union(one)
    if not flow.is_subset(within):
        return (found,)
    chains = [
        chain
        for (part, own), one in zip(used, flows, strict=True)
        for chain in _chains(part, replace(life, flow=one, touching=own), found)
    ]
    return (found,) if found in chains else tuple(chains)


def _known_life(scop: Scop, array: str) -> _Life:
    found = scop.known.get((_known_life, array))
    if not isinstance(found, _Life):
        same = scop.known.get(_Same)
        if isinstance(same, _Same) and array in same.arrays:
            found = _known_life(same.scop, array)
        else:
            found = _life_in_time(scop, array)
        scop.known[_known_life, array] = found
    return found


def _life_in_time(scop: Scop, array: str) -> _Life:
    """Return the dataflow of a temporary; one that takes too long to compute is kept in memory."""
    with optional("live ranges of temporaries", part=PART):
        return _life(scop, array)
    space = scop.context.get_space()
    return _Life(isl.UnionMap.empty(space), isl.UnionSet.empty(space), is_initialised=False)


@dataclass(frozen=True, eq=False)
class _Same:
    """Another order of a Scop in which the live ranges of `arrays` are the same."""

    scop: Scop
    arrays: frozenset[str]


def keep_lives(old: Scop, new: Scop, changed: frozenset[str]) -> None:
    """Record in `new` the temporaries with the live ranges of `old`, except those in `changed`.

    `new` keeps the dependences of `old` and may reorder only the updates of one reduction.  These
    are in one iteration of a loop, with the write before and the read after them, in both orders or
    in neither.  Temporaries with new instances are left out.
    """
    if old.params != new.params or not old.context.plain_is_equal(new.context):
        return
    left = {s.name: s for s in old.statements}
    moved = set(changed)
    for statement in new.statements:
        was = left.pop(statement.name, None)
        if was is None or was.domain is not statement.domain or was.iters != statement.iters:
            moved |= statement.arrays
            moved |= set() if was is None else was.arrays
    for statement in left.values():
        moved |= statement.arrays
    kept = {array.name for array in new.arrays if array.role is Role.TEMP} - moved
    new.known[_Same] = _Same(old, frozenset(kept))


@dataclass(frozen=True, eq=False)
class _Life:
    """The dataflow of a temporary: `flow` is last write -> read.

    `is_initialised`: every read gets a value that the Scop has written.
    """

    flow: isl.UnionMap
    touching: isl.UnionSet
    is_initialised: bool

    def stays_in(self, loop: BandMember) -> bool:
        """Tell whether no value leaves an iteration of a loop."""
        key = id(loop.schedule)
        if key not in self._known:
            same = self.flow.eq_at_multi_union_pw_aff(loop.function)
            self._known[key] = bool(self.flow.is_subset(same)), loop.schedule
        return self._known[key][0]

    @cached_property
    def _known(self) -> dict[int, tuple[bool, object]]:
        """What `stays_in` found, by identities of objects that are kept with the answers."""
        return {}


def _life(scop: Scop, array: str) -> _Life:
    flow = last_writers(scop, array)
    touching = isl.UnionSet.empty(scop.context.get_space())
    uninitialised = isl.UnionSet.empty(scop.context.get_space())
    produced = flow.range()
    for statement in scop.statements:
        for access in (statement.write, *statement.reads):
            if access.array == array:
                inside = access.relation.domain().intersect_params(scop.context)
                own = isl.UnionSet.from_set(inside)
                touching = touching.union(own)
                if access is not statement.write:
                    uninitialised = uninitialised.union(own.subtract(produced))
    return _Life(flow, touching, bool(uninitialised.is_empty()))


def _descend(tree: Tree, life: _Life, found: tuple[str, ...]) -> tuple[tuple[str, ...], Tree]:
    """Return `found` with the loops inside `tree` that hold all values, and where they end."""
    match tree:
        case Leaf():
            return found, tree
        case Filter():
            return _descend(tree.child, life, found)
        case Sequence():
            for part in tree.parts:
                if life.touching.is_subset(part.domain):
                    return _descend(part, life, found)
            return found, tree
        case Band():
            for position, member in enumerate(tree.members):
                if not life.stays_in(member):
                    return found, tree
                found = (*found, f"{tree.label}[{position}]")
            return _descend(tree.child, life, found)
        case _:
            assert_never(tree)
