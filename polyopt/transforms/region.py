"""Restrict statements to the instances below a loop, and insert statements there.

In: a Scop, its tree, a loop.  Out: the same program in which chosen statements have an iterator for
every loop around them; the tree with nests of new statements at the start or end of an iteration.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import islpy as isl

from polyopt.dataclass import dataclass, replace
from polyopt.ir.affine import coalesced, index_map, pw_aff, set_space
from polyopt.ir.expr import Expr, Iter
from polyopt.ir.names import fresh_name
from polyopt.ir.scop import Origin, Scop, Statement
from polyopt.never import assert_never
from polyopt.schedule.source import union_domain
from polyopt.schedule.tree import (
    Band,
    BandMember,
    Filter,
    Leaf,
    LoopRef,
    Sequence,
    Tree,
    children,
    find_band,
    fresh_label,
    path_to,
    statement_function,
    tuple_names,
    with_children,
)
from polyopt.transforms.distribute import flat


@dataclass(frozen=True, eq=False)
class Region:
    """A loop's iterations: `loops` are the loops around and the loop itself, outermost first.

    A whole nest has `position` -1, `loops` are those around it.  `values` gives, for each entered
    statement, the value of every loop in `loops` as an expression over its iterators; `same` the
    statement and instances that it stands for in the Scop before.
    """

    scop: Scop
    tree: Tree
    label: str
    position: int
    loops: tuple[str, ...]
    values: Mapping[str, tuple[Expr, ...]]
    same: Mapping[str, Origin]

    def map_loops(self, name: str) -> isl.Map:
        """Return { instance of an entered statement -> [values of the loops] }."""
        domain = self.scop.statement(name).domain.intersect_params(self.scop.context)
        return index_map(domain, "", self.values[name])


def enter(scop: Scop, tree: Tree, ref: LoopRef, chosen: Iterable[str]) -> Region:
    """Return the region of loop `ref` with the `chosen` statements' instances in it separated."""
    assert ref.position is not None
    return _entered(scop, tree, ref.label, ref.position, chosen)


def enter_nest(scop: Scop, tree: Tree, label: str, chosen: Iterable[str]) -> Region:
    """Return the region of the whole nest called `label`, as `enter` does."""
    return _entered(scop, tree, label, -1, chosen)


def _entered(scop: Scop, tree: Tree, label: str, position: int, chosen: Iterable[str]) -> Region:
    path, domain = path_to(tree, scop, label)
    members = (*path, *find_band(tree, label).members[: position + 1])
    entered = []
    for name in chosen:
        one = _Entry.of(scop, scop.statement(name), members, domain)
        if one is not None:
            entered.append(one)
    statements: list[Statement] = []
    taken = {s.name for s in scop.statements}
    by_name = {e.old.name: e for e in entered}
    moves: list[_Entry] = []
    for statement in scop.statements:
        entry = by_name.get(statement.name)
        if entry is None:
            statements.append(statement)
            continue
        if entry.rest is not None:
            statements.append(replace(statement, domain=entry.rest))
            entry = entry.named(fresh_name(f"{statement.name}_in", taken))
        taken.add(entry.name)
        statements.append(entry.statement)
        moves.append(entry)
    changed = [move for move in moves if move.changed]
    tree = _renamed_tree(tree, scop, members, changed) if changed else tree
    return Region(
        replace(scop, statements=tuple(statements)),
        tree,
        label,
        position,
        tuple(member.name for member in members),
        {m.name: m.values for m in moves},
        {m.name: m.origin for m in moves if m.changed},
    )


def levels(tree: Tree, ref: LoopRef) -> tuple[LoopRef, ...]:
    """Return the loops from the outermost to `ref`, inclusive."""
    assert ref.position is not None
    above = _above(tree, ref.label)
    assert above is not None
    own = (LoopRef(ref.label, position) for position in range(ref.position + 1))
    return (*above, *own)


def _above(tree: Tree, label: str) -> tuple[LoopRef, ...] | None:
    if isinstance(tree, Band) and tree.label == label:
        return ()
    for child in children(tree):
        found = _above(child, label)
        if found is not None:
            own: tuple[LoopRef, ...] = ()
            if isinstance(tree, Band):
                own = tuple(LoopRef(tree.label, n) for n in range(len(tree.members)))
            return (*own, *found)
    return None


@dataclass(frozen=True, eq=False)
class _Entry:
    """A statement's instances inside: `fresh` are the iterators added in front of its own."""

    old: Statement
    name: str
    fresh: tuple[str, ...]
    values: tuple[Expr, ...]
    domain: isl.Set
    rest: isl.Set | None

    @staticmethod
    def of(
        scop: Scop, statement: Statement, members: tuple[BandMember, ...], domain: isl.UnionSet
    ) -> _Entry | None:
        """Return the entry of a statement, or None when none of its instances is inside."""
        inside = domain.intersect(isl.UnionSet.from_set(statement.domain))
        own = inside.intersect_params(scop.context)
        if own.is_empty():
            return None
        part = coalesced(isl.Set.from_union_set(inside))
        missing = statement.domain.intersect_params(scop.context).subtract(part)
        rest = None if missing.is_empty() else coalesced(statement.domain.subtract(part))
        functions = [
            statement_function(m, scop, statement.name).intersect_domain(part) for m in members
        ]
        taken = {*statement.iters, *scop.params}
        fresh: list[str] = []
        values: list[Expr] = []
        added: list[isl.PwAff] = []
        for member, function in zip(members, functions, strict=True):
            known = _iterator_of(statement, part, function)
            if known is None:
                known = fresh_name(member.name, taken)
                taken.add(known)
                fresh.append(known)
                added.append(function)
            values.append(Iter(known))
        if rest is None and not fresh:
            part = statement.domain
        extended = _extended(scop.params, statement, tuple(fresh), part, added)
        name, iterators = statement.name, tuple(fresh)
        return _Entry(statement, name, iterators, tuple(values), extended, rest)

    @property
    def changed(self) -> bool:
        """Whether the statement has other instances than before."""
        return bool(self.fresh) or self.rest is not None

    def named(self, name: str) -> _Entry:
        """Return the entry under another name."""
        domain = self.domain.set_tuple_name(name)
        return replace(self, name=name, domain=domain)

    @property
    def origin(self) -> Origin:
        """The instance of the Scop before that an instance stands for."""
        return Origin(self.old.name, tuple(map(Iter, self.old.iters)))

    @property
    def statement(self) -> Statement:
        """The statement with its new iterators."""
        if not self.changed:
            return self.old
        return replace(
            self.old,
            name=self.name,
            iters=(*self.fresh, *self.old.iters),
            domain=self.domain,
            origin=self.old.origin or self.origin,
            loops=(*[None] * len(self.fresh), *self.old.loops) if self.old.loops else (),
        )

    @property
    def projection(self) -> isl.UnionPwMultiAff:
        """{ new instance -> old instance }."""
        instances = index_map(self.domain, self.old.name, tuple(map(Iter, self.old.iters)))
        return isl.UnionPwMultiAff.from_pw_multi_aff(isl.PwMultiAff.from_map(instances))


def _iterator_of(statement: Statement, domain: isl.Set, function: isl.PwAff) -> str | None:
    """Return the iterator that equals a loop's value on the whole domain, if there is one."""
    for name in statement.iters:
        value = pw_aff(Iter(name), statement.domain.get_space()).intersect_domain(domain)
        if value.is_equal(function):
            return name
    return None


def _extended(
    params: tuple[str, ...],
    statement: Statement,
    fresh: tuple[str, ...],
    part: isl.Set,
    functions: list[isl.PwAff],
) -> isl.Set:
    """Return the domain with an iterator in front for each function, equal to it."""
    if not fresh:
        return part
    space = set_space(params, statement.name, (*fresh, *statement.iters))
    own = index_map(isl.Set.universe(space), statement.name, tuple(map(Iter, statement.iters)))
    projection = isl.PwMultiAff.from_map(own)
    domain = own.intersect_range(part).domain()
    for name, function in zip(fresh, functions, strict=True):
        value = function.pullback_pw_multi_aff(projection)
        domain = domain.intersect(pw_aff(Iter(name), space).eq_set(value))
    return coalesced(domain)


def _renamed_tree(
    tree: Tree, scop: Scop, members: tuple[BandMember, ...], moves: list[_Entry]
) -> Tree:
    """Return the tree over the renamed instances."""
    levels = {id(member): level for level, member in enumerate(members)}
    names = frozenset(name for move in moves for name in (move.old.name, move.name))
    return _Moving(_parts(scop, moves), levels, moves, names).walk(tree)


def _parts(scop: Scop, moves: list[_Entry]) -> isl.UnionPwMultiAff:
    """Return { renamed instance -> instance before }."""
    gone = {move.old.name for move in moves if move.rest is None}
    parts = isl.UnionPwMultiAff.empty(scop.context.get_space())
    for statement in scop.statements:
        if statement.name not in gone:
            universe = isl.Set.universe(statement.domain.get_space())
            one = isl.PwMultiAff.from_map(universe.identity())
            parts = parts.union_add(isl.UnionPwMultiAff.from_pw_multi_aff(one))
    for move in moves:
        parts = parts.union_add(move.projection)
    return parts


@dataclass(frozen=True, eq=False)
class _Moving:
    """Rebuilds a tree over renamed instances; `levels` numbers the loops around the moved ones.

    Subtrees without statements of `names` stay the same objects.
    """

    parts: isl.UnionPwMultiAff
    levels: Mapping[int, int]
    moves: list[_Entry]
    names: frozenset[str]

    def walk(self, node: Tree) -> Tree:
        """Return the rebuilt subtree."""
        match node:
            case Leaf():
                return node
            case Band():
                members = tuple(map(self._member, node.members))
                if any(new is not old for new, old in zip(members, node.members, strict=True)):
                    node = replace(node, members=members)
                return with_children(node, (self.walk(node.child),))
            case Filter():
                return self._filter(node)
            case Sequence():
                return with_children(node, tuple(map(self._filter, node.parts)))
            case _:
                assert_never(node)

    def _filter(self, part: Filter) -> Filter:
        child = self.walk(part.child)
        if self.names.isdisjoint(tuple_names(part.domain)):
            return part if child is part.child else Filter(part.domain, child)
        return Filter(coalesced(part.domain.preimage_union_pw_multi_aff(self.parts)), child)

    def _member(self, member: BandMember) -> BandMember:
        level = self.levels.get(id(member))
        if level is None and self.names.isdisjoint(tuple_names(member.schedule.domain())):
            return member
        schedule = member.schedule.pullback_union_pw_multi_aff(self.parts)
        if level is not None:
            for move in self.moves:
                schedule = _set_value(schedule, move.statement, move.values[level])
        return replace(member, schedule=schedule)


def _set_value(schedule: isl.UnionPwAff, statement: Statement, value: Expr) -> isl.UnionPwAff:
    function = pw_aff(value, statement.domain.get_space()).intersect_domain(statement.domain)
    universe = isl.UnionSet.from_set(isl.Set.universe(statement.domain.get_space()))
    kept = schedule.subtract_domain(universe)
    return kept.union_add(isl.UnionPwAff.from_pw_aff(function))


# -- new statements ---------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class NewNest:
    """New statements that run in `tree`; their first iterators are the loops around, in order."""

    statements: tuple[Statement, ...]
    tree: Tree

    @property
    def domain(self) -> isl.UnionSet:
        """All its instances."""
        return union_domain(self.statements)


def loop_nest(
    tree: Tree, label: str, statement: Statement, first: int, names: tuple[str, ...]
) -> Tree:
    """Return loops over the statement's iterators from number `first` on, called `names`."""
    if first == len(statement.iters):
        return Leaf()
    space = statement.domain.get_space()
    members = tuple(
        BandMember(
            isl.UnionPwAff.from_pw_aff(
                pw_aff(Iter(iterator), space).intersect_domain(statement.domain)
            ),
            name,
        )
        for iterator, name in zip(statement.iters[first:], names, strict=True)
    )
    return Band(fresh_label(tree, label), members, Leaf())


def place_nests(region: Region, before: tuple[NewNest, ...], after: tuple[NewNest, ...]) -> Tree:
    """Return the region's tree with nests at the start and the end of every iteration."""
    nests = (*before, *after)
    if not nests:
        return region.tree
    label, position = region.label, region.position
    inner = fresh_label(region.tree, f"{label}.inner")

    def change(band: Band) -> Tree:
        rest: Tree = band.child
        if position + 1 < len(band.members):
            rest = Band(inner, band.members[position + 1 :], band.child)
        if isinstance(rest, Sequence):
            middle = rest.parts
        else:
            middle = (Filter(_below(region, label), rest),)
        parts = (
            *(Filter(n.domain, n.tree) for n in before),
            *middle,
            *(Filter(n.domain, n.tree) for n in after),
        )
        return Band(band.label, band.members[: position + 1], Sequence(parts))

    return _Opening(label, nests, len(region.loops), change).open(region.tree)


def place_nests_around(
    region: Region, before: tuple[NewNest, ...], after: tuple[NewNest, ...]
) -> Tree:
    """Return the region's tree with nests before and after the region's loop or nest.

    The loops around a loop are all of the region's but the last.
    """
    nests = (*before, *after)
    if not nests:
        return region.tree
    label, position = region.label, max(region.position, 0)
    depth = len(region.loops) - (region.position >= 0)
    inner = fresh_label(region.tree, f"{label}.inner") if position else label

    def change(band: Band) -> Tree:
        rest = Band(inner, band.members[position:], band.child)
        parts = (
            *(Filter(n.domain, n.tree) for n in before),
            Filter(_below(region, label), rest),
            *(Filter(n.domain, n.tree) for n in after),
        )
        body = Sequence(parts)
        return Band(band.label, band.members[:position], body) if position else body

    return flat(_Opening(label, nests, depth, change).open(region.tree))


def _below(region: Region, label: str) -> isl.UnionSet:
    return path_to(region.tree, region.scop, label)[1]


def rebuild_path(
    tree: Tree,
    label: str,
    domain: Callable[[isl.UnionSet], isl.UnionSet],
    loops: Callable[[Band, int], Band],
    change: Callable[[Band, int], Tree],
) -> Tree:
    """Return `tree` rebuilt from its root to band `label`, which becomes what `change` makes of it.

    Domains of filters and loops of bands above become what `domain` and `loops` make of them; these
    and `change` get a band and the number of the loops around it.
    """

    def walk(part: Tree, level: int) -> Tree:
        match part:
            case Band(label=own) if own == label:
                return change(part, level)
            case Band():
                inner = walk(part.child, level + len(part.members))
                return replace(loops(part, level), child=inner)
            case Filter():
                return Filter(domain(part.domain), walk(part.child, level))
            case _:
                below = children(part)
                renewed = (walk(c, level) if label in c.by_label else c for c in below)
                return with_children(part, tuple(renewed))

    return walk(tree, 0)


@dataclass(frozen=True, eq=False)
class _Opening:
    """Extends the loops and filters above band `label` to new instances, and changes the band.

    The first `depth` iterators of the new statements are the values of the loops.
    """

    label: str
    nests: tuple[NewNest, ...]
    depth: int
    change: Callable[[Band], Tree]

    def open(self, tree: Tree) -> Tree:
        """Return the tree with the loops extended and the band changed."""

        def changed(band: Band, level: int) -> Tree:
            return self.change(self._band(band, level))

        return rebuild_path(tree, self.label, self._domain, self._band, changed)

    def _domain(self, domain: isl.UnionSet) -> isl.UnionSet:
        for nest in self.nests:
            domain = domain.union(nest.domain)
        return domain

    def _band(self, band: Band, level: int) -> Band:
        members = []
        for number, member in enumerate(band.members, start=level):
            schedule = member.schedule
            for statement in (s for nest in self.nests for s in nest.statements):
                if number < self.depth:
                    schedule = _set_value(schedule, statement, Iter(statement.iters[number]))
            members.append(replace(member, schedule=schedule))
        return replace(band, members=tuple(members))
