"""Where each instance stands in a schedule tree, level by level, at concrete sizes.

In: a tree.  Out: instance -> (value, kind) of every loop and sequence on its path.
Only coefficients are read from isl; nothing is taken from the code that judges trees.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import islpy as isl

from polyopt.ir.loops import LoopKind
from polyopt.ir.scop import Scop
from polyopt.schedule.tree import Band, Filter, Leaf, Sequence, Tree
from tests.oracle.domains import holds, pieces_of, set_points
from tests.oracle.functions import functions_of

Instance: TypeAlias = tuple[str, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class Place:
    """One level of an instance's path; a sequence counts as a SEQUENTIAL loop over its parts."""

    value: int
    kind: LoopKind


def tree_places(
    tree: Tree, scop: Scop, params: Mapping[str, int], only: set[Instance] | None = None
) -> dict[Instance, tuple[Place, ...]]:
    """Return every instance's path (or that of those in `only`)."""
    found: dict[Instance, tuple[Place, ...]] = {}
    for statement in scop.statements:
        pieces = pieces_of(statement.domain)
        if only is None:
            mine = [(statement.name, point) for point in set_points(pieces, params)]
        else:
            mine = [
                i for i in sorted(only) if i[0] == statement.name and holds(pieces, i[1], params)
            ]
        _walk(tree, mine, (), dict(params), found, {})
    return found


def _walk(
    tree: Tree,
    instances: list[Instance],
    above: tuple[Any, ...],
    params: dict[str, int],
    found: dict[Instance, tuple[Place, ...]],
    path: dict[Instance, tuple[Place, ...]],
) -> None:
    if not instances:
        return
    match tree:
        case Leaf():
            for instance in instances:
                assert instance not in found, f"{instance} runs twice"
                found[instance] = path.get(instance, ())
        case Filter():
            _walk(tree.child, _inside(tree.domain, instances, params), above, params, found, path)
        case Sequence():
            for number, part in enumerate(tree.parts):
                own = _inside(part.domain, instances, params)
                place = Place(number, LoopKind.SEQUENTIAL)
                longer = {i: (*path.get(i, ()), place) for i in own}
                _walk(part.child, own, above, params, found, longer)
        case Band():
            for member in tree.members:
                values = _values(member.schedule, instances, params)
                path = {i: (*path.get(i, ()), Place(values[i], member.kind)) for i in instances}
            _walk(tree.child, instances, above, params, found, path)


def _inside(domain: isl.UnionSet, instances: list[Instance], params: dict[str, int]) -> Any:
    pieces: list[isl.Set] = []
    domain.foreach_set(pieces.append)
    known = {str(piece.get_tuple_name()): pieces_of(piece) for piece in pieces}
    return [i for i in instances if i[0] in known and holds(known[i[0]], i[1], params)]


def _values(
    function: isl.UnionPwAff, instances: list[Instance], params: dict[str, int]
) -> dict[Instance, int]:
    """Return the function's value at each instance of one statement."""
    name = instances[0][0]
    known = functions_of(function)
    assert name in known, f"a loop has no value at {instances[0]}"
    return {instance: known[name].at(instance[1], params) for instance in instances}
