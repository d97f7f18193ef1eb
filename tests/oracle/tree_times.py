"""Where each instance stands in a schedule tree, level by level, at concrete sizes.

In: a tree.  Out: instance -> (value, kind) of every loop and sequence on its path.
isl only evaluates the tree's own functions; nothing is taken from the code that judges trees.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import islpy as isl

from polyopt.ir.interp import points
from polyopt.ir.loops import LoopKind
from polyopt.ir.scop import Scop
from polyopt.schedule.tree import Band, Filter, Leaf, Sequence, Tree

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
        mine = [
            (statement.name, point)
            for point in points(statement.domain, params)
            if only is None or (statement.name, point) in only
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
    names = {piece.get_tuple_name(): piece for piece in pieces}
    return [i for i in instances if i[0] in names and _holds(names[i[0]], i[1], params)]


def _holds(value: isl.Set, point: tuple[int, ...], params: dict[str, int]) -> bool:
    for dim, number in enumerate(point):
        value = value.fix_val(isl.dim_type.set, dim, isl.Val(number))
    for dim in range(value.dim(isl.dim_type.param)):
        name = value.get_dim_name(isl.dim_type.param, dim)
        value = value.fix_val(isl.dim_type.param, dim, isl.Val(params[str(name)]))
    return not value.is_empty()


def _values(
    function: isl.UnionPwAff, instances: list[Instance], params: dict[str, int]
) -> dict[Instance, int]:
    """Return the function's value at each instance."""
    wanted = set(instances)
    name = instances[0][0]
    pieces: list[isl.Map] = []
    isl.UnionMap.from_union_pw_aff(function).foreach_map(pieces.append)
    result: dict[Instance, int] = {}
    for piece in pieces:
        if piece.get_tuple_name(isl.dim_type.in_) != name:
            continue
        for point in instances:
            image = piece.intersect_domain(_singleton(piece, point[1]))
            for both in points(image.wrap().flatten(), params):
                result[point] = both[-1]
    assert set(result) >= wanted, f"a loop has no value at {sorted(wanted - set(result))[:3]}"
    return result


def _singleton(piece: isl.Map, point: tuple[int, ...]) -> isl.Set:
    value = isl.Set.universe(piece.domain().get_space())
    for dim, number in enumerate(point):
        value = value.fix_val(isl.dim_type.set, dim, isl.Val(number))
    return value
