"""Convert schedule trees from and to isl's.

In: an `isl.Schedule` (its scheduler's answer) or a `Tree`.  Out: the other.
For lowering every band gets a mark above it that names it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import islpy as isl

from polyopt.dataclass import dataclass, replace
from polyopt.ir.affine import param_space, pieces_of
from polyopt.ir.loops import LoopKind
from polyopt.ir.parameters import bare, param_names
from polyopt.ir.scop import Scop
from polyopt.never import assert_never
from polyopt.schedule.tree import (
    Band,
    BandMember,
    Filter,
    Leaf,
    Sequence,
    Tree,
    statement_function,
    statements_of,
)

MOST_PARTS = 16
"""Statements of an innermost loop that isl separates by iterations."""
_SEPARATED = (LoopKind.SEQUENTIAL, LoopKind.PARALLEL)


def from_isl(schedule: isl.Schedule, scop: Scop, domain: isl.UnionSet | None = None) -> Tree:
    """Return isl's schedule of `domain`, or all instances, with unnamed bands.

    Sets become sequences in textual order.
    """
    return _convert(schedule.get_root(), scop, scop.domain if domain is None else domain)


def _convert(node: isl.ScheduleNode, scop: Scop, domain: isl.UnionSet) -> Tree:
    kind: object = node.get_type()
    kinds = isl.schedule_node_type
    if kind == kinds.leaf:
        return Leaf()
    if kind == kinds.domain:
        return _convert(node.child(0), scop, domain)
    if kind == kinds.filter:
        own = node.filter_get_filter().intersect(domain)
        return Filter(own, _convert(node.child(0), scop, own))
    if kind in (kinds.sequence, kinds.set):
        parts = [_convert(node.child(n), scop, domain) for n in range(node.n_children())]
        filters = [part for part in parts if isinstance(part, Filter)]
        if kind == kinds.set:
            names = [s.name for s in scop.statements]
            filters.sort(key=lambda f: names.index(statements_of(scop, f.domain)[0]))
        return Sequence(tuple(filters))
    if kind == kinds.band:
        partial = node.band_get_partial_schedule()
        schedules = [partial.get_union_pw_aff(n) for n in range(node.band_n_member())]
        names = loop_names(schedules, scop, domain)
        members = tuple(
            BandMember(function, name) for function, name in zip(schedules, names, strict=True)
        )
        child = _convert(node.child(0), scop, domain)
        return Band("", members, child) if members else child
    raise AssertionError(f"isl schedule node {kind}")


def loop_names(schedules: list[isl.UnionPwAff], scop: Scop, domain: isl.UnionSet) -> list[str]:
    """Return a name for each loop: the source iterator that it adds to the loops before it."""
    used: set[str] = set()
    names = []
    for number, schedule in enumerate(schedules):
        name = f"c{number}"
        for statement in statements_of(scop, domain):
            rule = coefficients(BandMember(schedule, ""), scop, statement)
            fresh = [it for it, c in rule.items() if c != 0 and it not in used]
            if fresh:
                name = fresh[0]
                break
        used.add(name)
        names.append(name)
    return names


def coefficients(member: BandMember, scop: Scop, name: str) -> dict[str, int]:
    """Return each iterator's coefficient in a loop's value for statement `name` (first piece).

    Floors (tile loops) contribute nothing.
    """
    function = statement_function(member, scop, name)
    iters = scop.statement(name).iters
    result = dict.fromkeys(iters, 0)
    for aff in pieces_of(function)[:1]:
        for position, iterator in enumerate(iters):
            value = aff.get_coefficient_val(isl.dim_type.in_, position)
            result[iterator] = int(value.to_python()) if value.is_int() else 0
    return result


@dataclass(frozen=True, eq=False)
class Marked:
    """An isl schedule for code generation and the meaning of its marks.

    `bands` maps a mark's name to the band below it and the number of loops above that band.
    `context` holds the constraints on the schedule's sizes.
    """

    schedule: isl.Schedule
    bands: dict[str, tuple[Band, int]]
    context: isl.Set


def to_isl(tree: Tree, scop: Scop) -> Marked:
    """Return the tree as an isl schedule in which mark `m3` stands above the band `bands["m3"]`.

    A band stays one isl band: isl takes seconds to generate the same loops from a band each.
    """
    return _marked(Filter(scop.domain, tree), scop, scop.context)


def nest_to_isl(part: Filter, scop: Scop) -> Marked:
    """Return a part of the outermost sequence as an isl schedule over the sizes it needs.

    isl's time grows with the square of the number of sizes, used or not.
    """
    nest = Filter(part.domain.intersect(scop.domain), part.child)
    if not scop.sizes.is_many:
        return _marked(nest, scop, scop.context)
    used: set[str] = set()

    def without_others(value: Any) -> Any:  # noqa: ANN401
        left = bare(value)
        used.update(param_names(left.get_space()))
        return left

    nest = _with_values(nest, without_others)
    sizes = scop.sizes.linked(used)
    space = param_space(sizes)
    nest = _with_values(nest, lambda value: value.align_params(space))
    return _marked(nest, scop, scop.sizes.alone(sizes))


_Part = TypeVar("_Part", Filter, Tree)


def _with_values(tree: _Part, change: Callable[[Any], Any]) -> _Part:
    """Return a tree with replaced sets of instances and functions of them."""
    match tree:
        case Filter():
            return Filter(change(tree.domain), _with_values(tree.child, change))
        case Band():
            members = tuple(replace(m, schedule=change(m.schedule)) for m in tree.members)
            return replace(tree, members=members, child=_with_values(tree.child, change))
        case Sequence():
            return Sequence(tuple(_with_values(part, change) for part in tree.parts))
        case Leaf():
            return tree
        case _:
            assert_never(tree)


def _marked(nest: Filter, scop: Scop, context: isl.Set) -> Marked:
    marks: dict[str, tuple[Band, int]] = {}
    schedule = isl.Schedule.from_domain(nest.domain)
    node = _insert(schedule.get_root().child(0), nest.child, scop, marks, 0)
    return Marked(node.get_schedule(), marks, context)


def _insert(
    node: isl.ScheduleNode, tree: Tree, scop: Scop, marks: dict[str, tuple[Band, int]], above: int
) -> isl.ScheduleNode:
    """Return the node at the place of `node` after `tree` was inserted there."""
    match tree:
        case Leaf():
            return node
        case Filter():
            return _insert(node, tree.child, scop, marks, above)
        case Band():
            name = f"m{len(marks)}"
            marks[name] = (tree, above)
            node = node.insert_partial_schedule(partial_schedule(tree))
            if _is_split(tree.child, scop) or _is_grid(tree):
                node = _in_one(node)
            elif _has_edges(tree):
                last, kind = len(tree.members) - 1, isl.ast_loop_type.separate
                node = node.band_member_set_ast_loop_type(last, kind)
            inner = node.insert_mark(isl.Id(name)).child(0).child(0)
            inner = _insert(inner, tree.child, scop, marks, above + len(tree.members))
            return inner.parent().parent()
        case Sequence():
            filters = isl.UnionSetList.alloc(isl.DEFAULT_CONTEXT, len(tree.parts))
            for part in tree.parts:
                filters = filters.add(part.domain)
            node = node.insert_sequence(filters)
            for position, part in enumerate(tree.parts):
                below = _insert(node.child(position).child(0), part.child, scop, marks, above)
                node = below.parent().parent()
            return node
        case _:
            assert_never(tree)


def _is_split(tree: Tree, scop: Scop) -> bool:
    """Tell whether a statement has instances in several parts of a sequence.

    isl separates the loops above by the domains of the parts, which takes most of its time; one
    loop with a condition before each part runs the same.
    """
    if not isinstance(tree, Sequence):
        return False
    names = [name for part in tree.parts for name in statements_of(scop, part.domain)]
    return len(names) > len(set(names))


def _is_grid(band: Band) -> bool:
    """Tell whether a sequence is in a grid: separated loops would be a kernel each."""
    return isinstance(band.child, Sequence) and any(m.kind is LoopKind.BLOCK for m in band.members)


def _has_edges(band: Band) -> bool:
    """Tell whether an innermost loop runs other statements in some iterations than in others.

    isl generates a loop for the iterations with the same statements, without conditions inside.
    """
    if not isinstance(band.child, Sequence) or band.members[-1].kind not in _SEPARATED:
        return False
    parts = band.child.parts
    return len(parts) <= MOST_PARTS and all(isinstance(part.child, Leaf) for part in parts)


def _in_one(band: isl.ScheduleNode) -> isl.ScheduleNode:
    """Return a band of which isl generates one loop per member, with conditions inside."""
    for position in range(band.band_n_member()):
        band = band.band_member_set_ast_loop_type(position, isl.ast_loop_type.atomic)
    return band


def unseparated(schedule: isl.Schedule, *, innermost: bool = True) -> isl.Schedule:
    """Return an isl schedule with one loop per statement and level, not several.

    Conditions inside replace loops that isl would separate; without `innermost`, innermost loops
    are still separated.
    """
    return _unseparated(schedule.get_root(), innermost)[0].get_schedule()


def _unseparated(node: isl.ScheduleNode, innermost: bool) -> tuple[isl.ScheduleNode, bool]:
    """Return the node unseparated, and whether it contains loops."""
    has_loops = False
    for number in range(node.n_children()):
        child, is_loop = _unseparated(node.child(number), innermost)
        node, has_loops = child.parent(), has_loops or is_loop
    kind: object = node.get_type()
    if kind == isl.schedule_node_type.band:
        return (_in_one(node) if innermost or has_loops else node), True
    return node, has_loops


def partial_schedule(band: Band) -> isl.MultiUnionPwAff:
    """Return the values of a band's loops as one function."""
    first, *others = (isl.MultiUnionPwAff.from_union_pw_aff(m.schedule) for m in band.members)
    for other in others:
        first = first.flat_range_product(other)
    return first
