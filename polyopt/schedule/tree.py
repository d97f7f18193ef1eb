"""Represent schedule trees: bands of loops, sequences of filtered parts, leaves.

In: band members as isl functions of the instances.  Out: immutable trees, rebuilt by label.
The root's domain is the Scop's; a tree defines the order in which its instances run.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import TypeAlias

import islpy as isl

from polyopt.dataclass import dataclass, replace
from polyopt.errors import ScheduleError
from polyopt.ir.annotations import Pipeline
from polyopt.ir.loops import LoopKind
from polyopt.ir.names import fresh_name
from polyopt.ir.parameters import sets_of
from polyopt.ir.scop import Scop, Statement
from polyopt.never import assert_never
from polyopt.schedule.monotone import FloorTerm, floor_terms
from polyopt.schedulefile import nearest


@dataclass(frozen=True, eq=False)
class BandMember:
    """One loop: `schedule` maps every instance below it to the loop's value.

    `name` is the loop's name in text and code.  `coincident`: it carries no dependence.
    """

    schedule: isl.UnionPwAff
    name: str
    coincident: bool = False
    kind: LoopKind = LoopKind.SEQUENTIAL
    pipeline: Pipeline | None = None
    group: int = 1
    finishes: bool = False
    atomic: frozenset[str] = frozenset()

    @cached_property
    def function(self) -> isl.MultiUnionPwAff:
        """The loop's value in the form that isl's `…_at` queries take."""
        return isl.MultiUnionPwAff.from_union_pw_aff(self.schedule)

    @cached_property
    def pieces(self) -> dict[str, isl.PwAff]:
        """The loop's value for the instances of each statement, by name."""
        found: list[isl.PwAff] = []
        self.schedule.foreach_pw_aff(found.append)
        return {f.get_domain_space().get_tuple_name(isl.dim_type.set): f for f in found}

    @cached_property
    def parts(self) -> tuple[FloorTerm, ...] | None:
        """The floor terms of the loop's value, if it is a sum of floors."""
        return floor_terms(self.pieces.values())

    @property
    def is_tile(self) -> bool:
        """Whether the loop's value is a sum of floors, like the number of a tile."""
        return self.parts is not None and any(part.size for part in self.parts)


class _Part:
    """Memoized properties of trees; trees are immutable and share subtrees."""

    @cached_property
    def bands(self) -> tuple[Band, ...]:
        """Every band, outermost and textually first ones first."""
        assert isinstance(self, Band | Filter | Sequence | Leaf)
        own = (self,) if isinstance(self, Band) else ()
        return sum((child.bands for child in children(self)), own)

    @cached_property
    def by_label(self) -> dict[str, Band]:
        """The bands by their labels, the first one of each label."""
        return {band.label: band for band in reversed(self.bands)}


@dataclass(frozen=True, eq=False)
class Band(_Part):
    """Nested loops, outermost first.  `permutable`: no dependence has a negative distance."""

    label: str
    members: tuple[BandMember, ...]
    child: Tree
    permutable: bool = False


@dataclass(frozen=True, eq=False)
class Filter(_Part):
    """One part of a sequence: the instances in `domain`."""

    domain: isl.UnionSet
    child: Tree

    @cached_property
    def pieces(self) -> dict[str, isl.Set]:
        """The instances of each statement, by name."""
        return {one.get_tuple_name(): one for one in sets_of(self.domain)}


@dataclass(frozen=True, eq=False)
class Sequence(_Part):
    """Parts that run one after the other; their domains are disjoint."""

    parts: tuple[Filter, ...]

    @cached_property
    def by_domain(self) -> dict[int, Filter]:
        """The parts by the identity of their domains."""
        return {id(part.domain): part for part in self.parts}


@dataclass(frozen=True, eq=False)
class Leaf(_Part):
    """Nothing more to order: instances with equal prefix run in any order."""


Tree: TypeAlias = Band | Sequence | Filter | Leaf


def children(tree: Tree) -> tuple[Tree, ...]:
    """Return the subtrees in order."""
    match tree:
        case Band() | Filter():
            return (tree.child,)
        case Sequence():
            return tree.parts
        case Leaf():
            return ()
        case _:
            assert_never(tree)


def with_children(tree: Tree, parts: tuple[Tree, ...]) -> Tree:
    """Return `tree` with its subtrees replaced; the tree itself where they are the same."""
    if all(new is old for new, old in zip(parts, children(tree), strict=True)):
        return tree
    match tree:
        case Band() | Filter():
            return replace(tree, child=parts[0])
        case Sequence():
            return Sequence(tuple(part for part in parts if isinstance(part, Filter)))
        case Leaf():
            return tree
        case _:
            assert_never(tree)


def bands(tree: Tree) -> Iterator[Band]:
    """Yield every band, outermost and textually first ones first."""
    return iter(tree.bands)


def replace_band(tree: Tree, label: str, change: Callable[[Band], Tree]) -> Tree:
    """Return `tree` with the band called `label` replaced by `change(band)`."""
    if label not in tree.by_label:
        return tree
    if isinstance(tree, Band) and tree.label == label:
        return change(tree)
    parts = tuple(replace_band(child, label, change) for child in children(tree))
    return with_children(tree, parts)


def map_bands(tree: Tree, change: Callable[[Band], Tree]) -> Tree:
    """Return `tree` with every band replaced by `change(band)`, inner bands first."""
    parts = tuple(map_bands(child, change) for child in children(tree))
    renewed = with_children(tree, parts)
    return change(renewed) if isinstance(renewed, Band) else renewed


def is_nest(part: Filter, label: str) -> bool:
    """Tell whether a part of a sequence is the band called `label`."""
    return isinstance(part.child, Band) and part.child.label == label


def change_first(tree: Tree, change: Callable[[Tree], Tree | None]) -> Tree | None:
    """Return `tree` with the first subtree for which `change` has another one replaced.

    Outermost and textually first ones are asked first; None where there is no such subtree.
    """
    found = change(tree)
    if found is not None:
        return found
    below = children(tree)
    for position, child in enumerate(below):
        renewed = change_first(child, change)
        if renewed is not None:
            return with_children(tree, (*below[:position], renewed, *below[position + 1 :]))
    return None


@dataclass(frozen=True, slots=True)
class LoopRef:
    """A band (`L0`, `position` None) or one of its members (`L0[1]`)."""

    label: str
    position: int | None = None

    def __str__(self) -> str:
        return self.label if self.position is None else f"{self.label}[{self.position}]"


def resolve(tree: Tree, name: str) -> LoopRef:
    """Return the band or loop called `name`: a band's label, `label[n]`, or a unique loop name.

    Raises `ScheduleError` PO0301 (unknown), PO0302 (several loops have the name).
    """
    known = {band.label: band for band in bands(tree)}
    if name in known:
        return LoopRef(name)
    member = re.fullmatch(r"([^\[]+)\[([0-9]{1,9})\]", name)
    if member is not None and member.group(1) in known:
        head, position = member.group(1), int(member.group(2))
        if position < len(known[head].members):
            return LoopRef(head, position)
        count = len(known[head].members)
        hint = f"its loops: {', '.join(f'{head}[{n}]' for n in range(count))}"
        message = f"band {head} has {count} loops, there is no {name}"
        raise ScheduleError("PO0301", message, hint=hint)
    found = [
        LoopRef(band.label, position)
        for band in known.values()
        for position, member in enumerate(band.members)
        if member.name == name
    ]
    if len(found) == 1:
        return found[0]
    if found:
        places = ", ".join(str(ref) for ref in found)
        raise ScheduleError(
            "PO0302", f"`{name}` names several loops", hint=f"say which one: {places}"
        )
    raise ScheduleError(
        "PO0301",
        f"no loop or band is called `{name}`",
        hint=_what_there_is(tuple(known.values()), name),
    )


def _what_there_is(found: tuple[Band, ...], name: str) -> str:
    """Return the bands and their loops as advice, those most similar to `name` first."""
    loops = {m.name for band in found for m in band.members}
    every = ", ".join(f"{b.label} ({', '.join(m.name for m in b.members)})" for b in found)
    near = nearest(name, [*sorted(loops), *(band.label for band in found)])
    asked = "" if near is None else f"did you mean `{near}`? "
    return f"{asked}bands and their loops: {every or 'none'}"


def find_band(tree: Tree, label: str) -> Band:
    """Return the band called `label`; raises `ScheduleError` PO0301."""
    known = tree.by_label.get(label)
    if known is not None:
        return known
    found = tree.bands
    homes = [b.label for b in found if any(m.name == label for m in b.members)]
    homes += [b.label for b in found if re.fullmatch(re.escape(b.label) + r"\[\d+\]", label)]
    hint = _what_there_is(found, label)
    if homes:
        hint = f"`{label}` is a loop; its band is {' or '.join(homes)}"
    raise ScheduleError("PO0301", f"no band is called `{label}`", hint=hint)


def fresh_label(tree: Tree, wish: str) -> str:
    """Return `wish`, or `wish` with the first free number, so that no band of `tree` has it."""
    return fresh_name(wish, (band.label for band in bands(tree)))


def depth(tree: Tree) -> int:
    """Return the length of the time vectors of `tree`."""
    match tree:
        case Band():
            return len(tree.members) + depth(tree.child)
        case Sequence():
            return 1 + max(depth(part) for part in tree.parts)
        case Filter():
            return depth(tree.child)
        case Leaf():
            return 0
        case _:
            assert_never(tree)


def tuple_names(domain: isl.UnionSet) -> list[str]:
    """Return the names of the statements in `domain`."""
    return [one.get_tuple_name() for one in sets_of(domain)]


def member_map(member: BandMember, domain: isl.UnionSet) -> isl.UnionMap:
    """Return `{ instance -> [value] }` of a loop for the instances in `domain`."""
    return isl.UnionMap.from_union_pw_aff(member.schedule).intersect_domain(domain)


def constant_map(domain: isl.UnionSet, value: int) -> isl.UnionMap:
    """Return `{ instance -> [value] }` for every instance in `domain`."""
    point = isl.Set.universe(
        isl.Space.set_alloc(isl.DEFAULT_CONTEXT, 0, 1).align_params(domain.get_space())
    ).fix_val(isl.dim_type.set, 0, isl.Val(value))
    return isl.UnionMap.from_domain_and_range(domain, isl.UnionSet.from_set(point))


def time_of(tree: Tree, domain: isl.UnionSet) -> isl.UnionMap:
    """Return `{ instance -> time vector }` for the instances of `domain` that `tree` runs.

    All vectors have the length `depth(tree)`, at least 1.
    """
    return _time(tree, domain, max(1, depth(tree)))


def _time(tree: Tree, domain: isl.UnionSet, length: int) -> isl.UnionMap:
    match tree:
        case Leaf():
            return zero_map(domain, length)
        case Filter():
            return _time(tree.child, domain.intersect(tree.domain), length)
        case Sequence():
            result = isl.UnionMap.empty(domain.get_space())
            for position, part in enumerate(tree.parts):
                own = domain.intersect(part.domain)
                inner = _time(part.child, own, length - 1)
                result = result.union(_product(constant_map(own, position), inner))
            return result
        case Band():
            result = _time(tree.child, domain, length - len(tree.members))
            for member in reversed(tree.members):
                result = _product(member_map(member, domain), result)
            return result
        case _:
            assert_never(tree)


def zero_map(domain: isl.UnionSet, length: int) -> isl.UnionMap:
    """Return `{ instance -> [0, …, 0] }` of `length` dimensions."""
    origin = isl.Set.universe(
        isl.Space.set_alloc(isl.DEFAULT_CONTEXT, 0, length).align_params(domain.get_space())
    )
    for position in range(length):
        origin = origin.fix_val(isl.dim_type.set, position, isl.Val(0))
    return isl.UnionMap.from_domain_and_range(domain, isl.UnionSet.from_set(origin))


def _product(left: isl.UnionMap, right: isl.UnionMap) -> isl.UnionMap:
    return left.flat_range_product(right)


def show_tree(tree: Tree, scop: Scop) -> list[str]:
    """Return the loop nest as text, one loop or statement a line."""
    return _show(tree, scop, scop.domain, 0)


def _show(tree: Tree, scop: Scop, domain: isl.UnionSet, indent: int) -> list[str]:
    pad = "  " * indent
    match tree:
        case Leaf():
            return [
                f"{pad}{name}: {scop.statement(name).text}" for name in statements_of(scop, domain)
            ]
        case Filter():
            return _show(tree.child, scop, domain.intersect(tree.domain), indent)
        case Sequence():
            lines = []
            for part in tree.parts:
                lines += _show(part, scop, domain, indent)
            return lines
        case Band():
            lines = []
            for position, member in enumerate(tree.members):
                facts = _facts(tree, position)
                note = f"  # {', '.join(facts)}" if facts else ""
                where = f"{tree.label}[{position}]"
                rule = show_member(member, scop, domain)
                lines.append(f"{pad}{'  ' * position}for {member.name} = {rule}:  [{where}]{note}")
            return lines + _show(tree.child, scop, domain, indent + len(tree.members))
        case _:
            assert_never(tree)


def _facts(band: Band, position: int) -> list[str]:
    """Return the properties of a loop as text."""
    member = band.members[position]
    facts = [] if member.kind is LoopKind.SEQUENTIAL else [member.kind.value]
    if member.pipeline is not None:
        facts.append(f"pipeline of {member.pipeline.stages} stages")
    if member.group > 1:
        facts.append(f"groups of {member.group}")
    if member.finishes:
        facts.append("by the last block")
    if member.atomic and member.kind in (LoopKind.BLOCK, LoopKind.THREAD):
        facts.append(f"atomic {', '.join(sorted(member.atomic))}")
    if member.coincident and member.kind is LoopKind.SEQUENTIAL:
        facts.append("carries no dependence")
    if position == 0 and band.permutable and len(band.members) > 1:
        facts.append("permutable band")
    return facts


def statements_of(scop: Scop, domain: isl.UnionSet) -> list[str]:
    """Return the names of the statements with instances in `domain`, in textual order."""
    found = set(tuple_names(domain))
    return [statement.name for statement in scop.statements if statement.name in found]


def names_at(tree: Tree, scop: Scop, label: str) -> list[str]:
    """Return the names of the statements with instances that reach band `label`, in order."""
    return statements_of(scop, path_to(tree, scop, label)[1])


def statements_at(tree: Tree, scop: Scop, label: str) -> list[Statement]:
    """Return the statements with instances that reach band `label`, in textual order."""
    return [scop.statement(name) for name in names_at(tree, scop, label)]


def statement_function(member: BandMember, scop: Scop, name: str) -> isl.PwAff:
    """Return the loop's value as a function of the instances of one statement."""
    space = scop.statement(name).domain.get_space()
    upa_space = member.schedule.get_space()
    target = space.align_params(upa_space).add_unnamed_tuple_ui(1)
    return member.schedule.extract_pw_aff(target)


def show_member(member: BandMember, scop: Scop, domain: isl.UnionSet) -> str:
    """Return the values of a loop as text: `S0: i + t, S1: i`, or one rule when all agree."""
    rules = []
    for name in statements_of(scop, domain):
        text = str(statement_function(member, scop, name)).split("->")[-1].strip(" {}")
        rule = text.removeprefix("[").split("] :")[0].removesuffix("]")
        bare = rule.removeprefix("(").removesuffix(")")  # isl prints `(floor((i)/32))`
        rules.append((name, re.sub(r"(?<!\w)\((-?\w+)\)(?=/| mod)", r"\1", bare)))
    if not rules:
        return "nothing"
    if len({rule for _, rule in rules}) == 1:
        return rules[0][1]
    return ", ".join(f"{name}: {rule}" for name, rule in rules)


def leaves(
    tree: Tree, domain: isl.UnionSet, path: tuple[BandMember, ...] = ()
) -> Iterator[tuple[tuple[BandMember, ...], isl.UnionSet]]:
    """Yield for every leaf the loops around it and the instances that reach it."""
    match tree:
        case Leaf():
            yield path, domain
        case Filter():
            yield from leaves(tree.child, domain.intersect(tree.domain), path)
        case Band():
            yield from leaves(tree.child, domain, (*path, *tree.members))
        case _:
            for part in children(tree):
                yield from leaves(part, domain, path)


def path_to(tree: Tree, scop: Scop, label: str) -> tuple[tuple[BandMember, ...], isl.UnionSet]:
    """Return the loops above the band and the instances that reach it."""
    above = _above(tree, label)
    assert above is not None
    members: tuple[BandMember, ...] = ()
    domain = scop.domain
    for part in above:
        if isinstance(part, Filter):
            domain = domain.intersect(part.domain)
        elif isinstance(part, Band):
            members += part.members
    return members, domain


def only_statement(tree: Tree, scop: Scop, label: str) -> Statement | None:
    """Return the statement of band `label`, or None where it runs several."""
    names = names_at(tree, scop, label)
    return scop.statement(names[0]) if len(names) == 1 else None


def _above(tree: Tree, label: str) -> tuple[Tree, ...] | None:
    """Return the nodes above the band, outermost first; None where the band is not in `tree`."""
    if label not in tree.by_label:
        return None
    if isinstance(tree, Band) and tree.label == label:
        return ()
    for child in children(tree):
        found = _above(child, label)
        if found is not None:
            return (tree, *found)
    return None
