"""Group statements that compute one element after another, to be scheduled as one.

In: a Scop, the pairs of instances whose order counts.  Out: groups of statements of one domain that
hand elements of temporaries to each other within an iteration, where all of an iteration may run
before the next one; a tree for the first statement of each as a tree for all.
Grouping keeps isl's scheduler from giving each of them a shift of its own (Verdoolaege and
Janssens, "Scheduling for PPCG", 2017).
Leaves: temporaries that no loop around fills again, whose nests are fused later; strided accesses.
"""

from __future__ import annotations

import islpy as isl

from polyopt.dataclass import dataclass, replace
from polyopt.ir.expr import Expr, Iter, substitute
from polyopt.ir.linear import linear
from polyopt.ir.scop import Role, Scop, Statement
from polyopt.never import assert_never
from polyopt.schedule.tree import Band, Filter, Leaf, Sequence, Tree

Groups = tuple[tuple[Statement, ...], ...]


def groups_of(scop: Scop, order: isl.UnionMap) -> Groups:
    """Return the groups of at least two statements; `order` is { instance -> later instance }."""
    groups: list[tuple[Statement, ...]] = []
    handed = _handed_on(scop)
    for statement in scop.statements if handed else ():
        linked = [group for group in groups if _is_linked(group, statement, handed)]
        for some in (linked, linked[:1]):
            joint = tuple(s for s in scop.statements if any(s in group for group in some))
            if some and _is_legal((*joint, statement), order):
                groups = [group for group in groups if group not in some]
                groups.append((*joint, statement))
                break
        else:
            groups.append((statement,))
    return tuple(group for group in groups if len(group) > 1)


def _handed_on(scop: Scop) -> frozenset[str]:
    """Return the temporaries whose elements belong to one iteration inside of a loop around."""
    found = set()
    for array in scop.arrays:
        users = [s for s in scop.statements if _indices(s, array.name)]
        if array.role is Role.TEMP and len(users) > 1 and array.shape:
            indices = {index for s in users for index in _indices(s, array.name)}
            inner = _positions(len(users[0].iters))[-len(array.shape) :]
            is_around = len(users[0].iters) > len(array.shape)
            is_plain = len(indices) == 1 and set(next(iter(indices))) == set(inner)
            if is_around and is_plain and _are_alike(users) and not any(map(_strides, users)):
                found.add(array.name)
    return frozenset(found)


def _indices(statement: Statement, array: str) -> list[tuple[Expr, ...]]:
    """Return the subscripts with which a statement accesses an array, iterators by position."""
    names = dict(zip(statement.iters, _positions(len(statement.iters)), strict=True))
    accesses = (statement.write, *statement.reads)
    own = (access.index for access in accesses if access.array == array)
    return [tuple(substitute(part, dict(names)) for part in index) for index in own]


def _strides(statement: Statement) -> bool:
    """Tell whether a statement skips elements: it has no lanes, which others keep by themselves."""
    accesses = (statement.write, *statement.reads)
    parts = (part for access in accesses for part in access.index)
    return any(abs(factor) > 1 for part in parts for _, factor in linear(part).terms)


def _positions(count: int) -> tuple[Iter, ...]:
    return tuple(Iter(f"?{position}") for position in range(count))


def _are_alike(statements: list[Statement]) -> bool:
    """Tell whether plain statements have the same instances."""
    first = statements[0]
    return all(
        s.guard is None
        and len(s.iters) == len(first.iters)
        and s.domain.set_tuple_name(first.name).is_equal(first.domain)
        for s in statements
    )


def _is_linked(group: tuple[Statement, ...], statement: Statement, handed: frozenset[str]) -> bool:
    """Tell whether a statement uses a temporary of the group."""
    mine = statement.arrays & handed
    return any(mine & one.arrays for one in group) and _are_alike([*group, statement])


def _is_legal(group: tuple[Statement, ...], order: isl.UnionMap) -> bool:
    """Tell whether all statements of a group may run in one iteration, and then in the next."""
    one = _Merged.of((group,))
    inside = one.domain(isl.UnionSet.from_set(group[0].domain))
    pairs = one.order(order.intersect_domain(inside).intersect_range(inside))
    space = group[0].domain.get_space()
    return bool(pairs.is_subset(isl.UnionMap.from_map(isl.Map.lex_lt(space))))


@dataclass(frozen=True, eq=False)
class _Merged:
    """`first` maps the instances of all but the first statements of groups to those of the first.

    Others are not in it.
    """

    first: isl.UnionMap
    groups: Groups

    @staticmethod
    def of(groups: Groups) -> _Merged:
        pairs = (
            isl.Map.identity(s.domain.get_space().map_from_set())
            .set_tuple_name(isl.dim_type.out, group[0].name)
            .intersect_domain(s.domain)
            for group in groups
            for s in group
        )
        found: isl.UnionMap | None = None
        for pair in pairs:
            part = isl.UnionMap.from_map(pair)
            found = part if found is None else found.union(part)
        assert found is not None
        return _Merged(found, groups)

    def domain(self, first: isl.UnionSet) -> isl.UnionSet:
        """Return the instances of all statements from those of the first ones and of others."""
        return first.apply(self.first.reverse()).union(first.subtract(self.first.range()))

    def merged(self, domain: isl.UnionSet) -> isl.UnionSet:
        """Return the instances of first statements and others."""
        return domain.apply(self.first).union(domain.subtract(self.first.domain()))

    def order(self, order: isl.UnionMap) -> isl.UnionMap:
        """Return the pairs of instances between iterations, as those of first statements."""
        every = order.domain().union(order.range())
        other = every.subtract(self.first.domain()).identity()
        to_first = self.first.union(other)
        pairs = order.apply_domain(to_first).apply_range(to_first)
        return pairs.subtract(self.first.range().identity())


def merged(
    domain: isl.UnionSet, order: isl.UnionMap, groups: Groups
) -> tuple[isl.UnionSet, isl.UnionMap]:
    """Return instances and pairs with the first statement of each group in place of the group."""
    found = _Merged.of(groups)
    return found.merged(domain).coalesce(), found.order(order).coalesce()


def expanded(tree: Tree, groups: Groups) -> Tree:
    """Return a tree that runs the first statements of groups as one that runs all of them."""
    found = _Merged.of(groups)
    return _expanded(tree, found, found.merged(found.first.domain()))


def _expanded(tree: Tree, found: _Merged, domain: isl.UnionSet) -> Tree:
    match tree:
        case Band():
            members = tuple(replace(m, schedule=_of_all(m.schedule, found)) for m in tree.members)
            return replace(tree, members=members, child=_expanded(tree.child, found, domain))
        case Filter():
            own = tree.domain
            return Filter(found.domain(own), _expanded(tree.child, found, own))
        case Sequence():
            parts = (_expanded(part, found, domain) for part in tree.parts)
            return Sequence(tuple(part for part in parts if isinstance(part, Filter)))
        case Leaf():
            return _in_turn(found, domain)
        case _:
            assert_never(tree)


def _of_all(schedule: isl.UnionPwAff, found: _Merged) -> isl.UnionPwAff:
    """Return a loop's value for the instances of all statements."""
    first = isl.UnionPwMultiAff.from_union_map(found.first)
    others = schedule.domain().subtract(found.first.range())
    return schedule.pullback_union_pw_multi_aff(first).union_add(schedule.intersect_domain(others))


def _in_turn(found: _Merged, domain: isl.UnionSet) -> Tree:
    """Return the statements of the group whose first one has instances in `domain`."""
    for group in found.groups:
        own = isl.UnionSet.from_set(group[0].domain)
        if not own.intersect(domain).is_empty():
            parts = (found.domain(own).intersect(isl.UnionSet.from_set(s.domain)) for s in group)
            return Sequence(tuple(Filter(part, Leaf()) for part in parts))
    return Leaf()
