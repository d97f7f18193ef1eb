"""How far inside the loops a temporary's values stay.

In: a schedule tree.  Out: for each temporary the innermost loop of which every iteration computes
all the values it uses: there one iteration's cells are enough storage (array contraction: Gao,
Olsen, Sarkar, Thekkath, "Collective loop fusion for array contraction", 1992).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import islpy as isl
from typing_extensions import assert_never

from polyopt.ir.scop import Array, Role, Scop
from polyopt.schedule.dependences import last_writers
from polyopt.schedule.legality import multi
from polyopt.schedule.tree import Band, Filter, Leaf, Sequence, Tree


def contraction_loops(
    scop: Scop, tree: Tree, wanted: Callable[[Array], bool] = lambda _: True
) -> dict[str, str]:
    """Return temporary -> the loop (`L0[1]`) inside whose iterations its values live and die.

    A temporary whose values cross iterations of every loop, that several nests use, or that is not
    `wanted` is absent.
    """
    return {array: loops[-1] for array, loops in contraction_nests(scop, tree, wanted).items()}


def contraction_nests(
    scop: Scop, tree: Tree, wanted: Callable[[Array], bool] = lambda _: True
) -> dict[str, tuple[str, ...]]:
    """Return temporary -> the loops inside whose iterations its values stay, outermost first."""
    found = {}
    for array in scop.arrays:
        if array.role is Role.TEMP and wanted(array):
            loops = _homes(scop, tree, array.name)
            if loops:
                found[array.name] = loops
    return found


def _homes(scop: Scop, tree: Tree, array: str) -> tuple[str, ...]:
    found = scop.known.get((_homes, array))
    if not isinstance(found, _Life):
        found = scop.known[_homes, array] = _life(scop, array)
    if not found.is_initialised:
        return ()
    return _descend(tree, found.flow, found.touching, ())


@dataclass(frozen=True, eq=False)
class _Life:
    """What the Scop does with a temporary: `flow` is last write -> read.

    `is_initialised`: every read gets what the Scop has written.
    """

    flow: isl.UnionMap
    touching: isl.UnionSet
    is_initialised: bool


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


def _descend(
    tree: Tree, flow: isl.UnionMap, touching: isl.UnionSet, found: tuple[str, ...]
) -> tuple[str, ...]:
    match tree:
        case Leaf():
            return found
        case Filter():
            return _descend(tree.child, flow, touching, found)
        case Sequence():
            for part in tree.parts:
                if touching.is_subset(part.domain):
                    return _descend(part, flow, touching, found)
            return found
        case Band():
            for position, member in enumerate(tree.members):
                if not flow.is_subset(flow.eq_at_multi_union_pw_aff(multi(member))):
                    return found
                found = (*found, f"{tree.label}[{position}]")
            return _descend(tree.child, flow, touching, found)
        case _:
            assert_never(tree)
