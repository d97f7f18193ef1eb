"""Replace a loop over time steps by two alternating nests of tiles.

In: a region, the statements of each phase.  Out: the Scop and its tree: a loop over pairs of
phases, in each phase a nest of tiles: copies in, the time steps, copies out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import islpy as isl

from polyopt.dataclass import dataclass, replace
from polyopt.ir.affine import index_map, pw_aff
from polyopt.ir.expr import Expr, Iter
from polyopt.ir.scop import Scop, Statement
from polyopt.never import assert_never
from polyopt.schedule.tree import Band, BandMember, Filter, Leaf, Sequence, Tree, fresh_label
from polyopt.transforms.region import NewNest, Region, loop_nest, rebuild_path


@dataclass(frozen=True, eq=False)
class Phase:
    """One phase, called `name` in labels; `steps` are the statements of the region, in order."""

    name: str
    before: tuple[Statement, ...]
    steps: tuple[Statement, ...]
    after: tuple[Statement, ...]

    @property
    def statements(self) -> tuple[Statement, ...]:
        """All statements of the phase, in textual order."""
        return (*self.before, *self.steps, *self.after)


@dataclass(frozen=True, eq=False)
class PingPong:
    """The replacement of a region: `first` runs once, then the phases alternate.

    `values` are the loops of a phase's tiles for each of its statements: loops around the region's,
    pairs of phases, tiles; `olds` the statements that those of `steps` stand for.
    """

    first: tuple[Statement, ...]
    phases: tuple[Phase, ...]
    olds: tuple[Statement, ...]
    values: Mapping[str, tuple[Expr, ...]]
    tiles: tuple[str, ...]
    outer: int


def place_phases(region: Region, made: PingPong, scop: Scop) -> tuple[Scop, Tree]:
    """Return `scop` with the region's statements replaced, and its tree."""
    gone = {statement.name for statement in made.olds}
    statements: list[Statement] = []
    done = False
    for statement in region.scop.statements:
        if statement.name not in gone:
            statements.append(statement)
        elif not done:
            done = True
            statements += made.first
            statements += (s for phase in made.phases for s in phase.statements)
    new = replace(scop, statements=tuple(statements))
    return new, _Rebuilding(region, made).tree()


@dataclass(frozen=True, eq=False)
class _Rebuilding:
    """Rebuilds the tree of a region along the path to its loop."""

    region: Region
    made: PingPong

    @property
    def every(self) -> tuple[Statement, ...]:
        return (*self.made.first, *(s for phase in self.made.phases for s in phase.statements))

    def tree(self) -> Tree:
        """Return the region's tree with the new statements in place of the old ones."""
        return rebuild_path(self.region.tree, self.region.label, self.domain, self.loops, self.at)

    def domain(self, domain: isl.UnionSet) -> isl.UnionSet:
        """Return the instances of a filter above the loop."""
        return _without(domain, self.made.olds).union(_domain(self.every))

    def loops(self, band: Band, level: int) -> Band:
        """Return a band around the region's, extended to the new statements."""
        members = tuple(self.outer(m, level + n) for n, m in enumerate(band.members))
        return replace(band, members=members)

    def outer(self, member: BandMember, level: int) -> BandMember:
        """Return a loop around the region's, extended to the new statements."""
        schedule = member.schedule
        for statement in self.made.olds:
            universe = isl.UnionSet.from_set(isl.Set.universe(statement.domain.get_space()))
            schedule = schedule.subtract_domain(universe)
        return replace(member, schedule=schedule.union_add(self.value(self.every, level)))

    def value(self, statements: Iterable[Statement], number: int) -> isl.UnionPwAff:
        """Return the value of loop `number` of a phase's tiles."""
        result = isl.UnionPwAff.empty(self.region.scop.context.get_space())
        for s in statements:
            function = pw_aff(self.made.values[s.name][number], s.domain.get_space())
            own = isl.UnionPwAff.from_pw_aff(function.intersect_domain(s.domain))
            result = result.union_add(own)
        return result

    def at(self, band: Band, level: int) -> Tree:
        """Return the replacement of the region's band."""
        position = self.region.position
        turns = tuple(s for phase in self.made.phases for s in phase.statements)
        time = BandMember(self.value(turns, self.made.outer), self.made.tiles[self.made.outer])
        parts = tuple(
            Filter(_domain(phase.statements), self.phase(band, phase)) for phase in self.made.phases
        )
        label = fresh_label(self.region.tree, f"{band.label}.tile")
        pairs = Band(label, (time,), Sequence(parts))
        first = tuple(self.alone(s, self.made.outer) for s in self.made.first)
        below: Tree = pairs
        if first:
            rest = Filter(_domain(turns), pairs)
            below = Sequence((*(Filter(n.domain, n.tree) for n in first), rest))
        if not position:
            return below
        members = tuple(self.outer(m, level + n) for n, m in enumerate(band.members[:position]))
        return Band(band.label, members, below)

    def alone(self, statement: Statement, loops: int) -> NewNest:
        names = statement.iters[loops:]
        return NewNest(
            (statement,), loop_nest(self.region.tree, statement.name, statement, loops, names)
        )

    def phase(self, band: Band, phase: Phase) -> Tree:
        """Return the tiles of a phase."""
        made, position = self.made, self.region.position
        tree = self.region.tree
        tiles = tuple(
            BandMember(self.value(phase.statements, number), made.tiles[number])
            for number in range(made.outer + 1, len(made.tiles))
        )
        parts = self.parts(phase)
        inside: Tree = _pulled_tree(band.child, parts, f".{phase.name}", tree)
        if position + 1 < len(band.members):
            label = fresh_label(tree, f"{band.label}.inner.{phase.name}")
            rest = tuple(_pulled_member(member, parts) for member in band.members[position + 1 :])
            inside = Band(label, rest, inside)
        steps = fresh_label(tree, f"{band.label}.{phase.name}.steps")
        run = Band(steps, (_pulled_member(band.members[position], parts),), inside)
        around = [self.alone(s, len(made.tiles)) for s in (*phase.before, *phase.after)]
        filters = [Filter(nest.domain, nest.tree) for nest in around]
        count = len(phase.before)
        body = (*filters[:count], Filter(_domain(phase.steps), run), *filters[count:])
        label = fresh_label(tree, f"{band.label}.{phase.name}")
        return Band(label, tiles, Sequence(body) if len(body) > 1 else run)

    def parts(self, phase: Phase) -> isl.UnionPwMultiAff:
        """Return { instance of a phase -> instance before }."""
        result = isl.UnionPwMultiAff.empty(self.region.scop.context.get_space())
        for new, old in zip(phase.steps, self.made.olds, strict=True):
            one = index_map(new.domain, old.name, tuple(map(Iter, old.iters)))
            function = isl.PwMultiAff.from_map(one)
            result = result.union_add(isl.UnionPwMultiAff.from_pw_multi_aff(function))
        return result


def _domain(statements: Iterable[Statement]) -> isl.UnionSet:
    found = [isl.UnionSet.from_set(statement.domain) for statement in statements]
    result = found[0]
    for one in found[1:]:
        result = result.union(one)
    return result


def _without(domain: isl.UnionSet, statements: Iterable[Statement]) -> isl.UnionSet:
    for statement in statements:
        universe = isl.Set.universe(statement.domain.get_space())
        domain = domain.subtract(isl.UnionSet.from_set(universe))
    return domain


def _pulled_member(member: BandMember, parts: isl.UnionPwMultiAff) -> BandMember:
    return replace(member, schedule=member.schedule.pullback_union_pw_multi_aff(parts))


def _pulled_tree(tree: Tree, parts: isl.UnionPwMultiAff, suffix: str, whole: Tree) -> Tree:
    """Return a subtree over the instances of a phase, its bands named after it."""
    match tree:
        case Leaf():
            return tree
        case Filter():
            return _filter(tree, parts, suffix, whole)
        case Sequence():
            return Sequence(tuple(_filter(part, parts, suffix, whole) for part in tree.parts))
        case Band():
            members = tuple(_pulled_member(member, parts) for member in tree.members)
            label = fresh_label(whole, f"{tree.label}{suffix}")
            child = _pulled_tree(tree.child, parts, suffix, whole)
            return replace(tree, label=label, members=members, child=child)
        case _:
            assert_never(tree)


def _filter(part: Filter, parts: isl.UnionPwMultiAff, suffix: str, whole: Tree) -> Filter:
    domain = part.domain.preimage_union_pw_multi_aff(parts)
    return Filter(domain, _pulled_tree(part.child, parts, suffix, whole))
