"""Distribute: give each part of a loop's body a loop of its own.

In: a band over a sequence.  Out: the sequence of bands, the first parts together where asked.
Refuses: a band with one body.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from polyopt import transforms
from polyopt.dataclass import dataclass, replace
from polyopt.errors import ScheduleError
from polyopt.ir.scop import Scop
from polyopt.schedule.repair import RefusedStep, Repair, RepairKind
from polyopt.schedule.source import joined_with_body
from polyopt.schedule.tree import (
    Band,
    BandMember,
    Filter,
    Sequence,
    Tree,
    children,
    find_band,
    fresh_label,
    replace_band,
    with_children,
)


@dataclass(frozen=True, slots=True)
class Distribute:
    """Split the loops of `band`, the innermost `count` of them (all when 0), over its body's parts.

    The first `together` parts keep one band, of a negative number the last ones.  The new bands are
    called `L0.0`, `L0.1`, …; outer loops that stay together keep the label (Kuck, "The structure of
    computers and computations", 1978).

    >>> from polyopt.schedule.demo import demo
    >>> from polyopt.transforms.fuse import Fuse
    >>> joint = demo(2).apply(Fuse("L0", "L1"))
    >>> print(joint)
    for i = i:  [L0[0]]  # carries no dependence, permutable band
      for j = j:  [L0[1]]  # carries no dependence
        S0: A1[i, j] = A0[i, j]
        S1: A2[i, j] = A1[i, j]
    >>> print(joint.apply(Distribute("L0", 1)))
    for i = i:  [L0[0]]  # carries no dependence
      for j = j:  [L0.0[0]]  # carries no dependence
        S0: A1[i, j] = A0[i, j]
      for j = j:  [L0.1[0]]  # carries no dependence
        S1: A2[i, j] = A1[i, j]
    """

    band: str
    count: int = 0
    together: int = 1

    def rewrite(self, tree: Tree, scop: Scop) -> Tree:
        """Return the distributed tree; raises `ScheduleError` PO0301, PO0303, PO0306."""
        band = find_band(tree, self.band)
        if not 0 <= self.count <= len(band.members):
            raise ScheduleError(
                "PO0303",
                f"{self}: the band has {len(band.members)} loops",
                hint="say how many of the innermost loops each part gets, or nothing: all",
            )
        body = band.child
        if not isinstance(body, Sequence):
            raise ScheduleError(
                "PO0306", f"{self}: the loop has one body", hint="only several parts can be split"
            )
        if not 1 <= abs(self.together) < len(body.parts):
            raise ScheduleError(
                "PO0303",
                f"{self}: the body has {len(body.parts)} parts",
                hint="leave at least one part that gets a loop of its own",
            )
        count = self.count or len(band.members)
        outer, inner = band.members[:-count], band.members[-count:]
        parts = []
        for number, part in enumerate(_merged_parts(body.parts, self.together)):
            label = fresh_label(tree, f"{band.label}.{number}")
            members = tuple(_restricted(member, part) for member in inner)
            parts.append(Filter(part.domain, joined_with_body(Band(label, members, part.child))))
        split = Sequence(tuple(parts))
        result: Tree = Band(band.label, outer, split) if outer else split
        return flat(replace_band(tree, band.label, lambda _: result))

    def repairs(self, refused: RefusedStep) -> Iterator[Repair]:
        """Yield what might be legal instead, cheapest first."""
        body = find_band(refused.tree, self.band).child
        if isinstance(body, Sequence):
            for order in transforms.reorder.orders(len(body.parts)):
                yield Repair(RepairKind.REORDER, (transforms.Reorder(self.band, order), self))
        for fewer in range(self.count - 1, 0, -1):
            yield Repair(RepairKind.FEWER, (replace(self, count=fewer),))

    def __str__(self) -> str:
        count = f", {self.count}" if self.count or self.together != 1 else ""
        together = f", {self.together}" if self.together != 1 else ""
        return f"distribute({self.band}{count}{together})"


def _merged_parts(parts: tuple[Filter, ...], together: int) -> tuple[Filter, ...]:
    """Return the parts, the first ones as a single part; the last ones where it is negative."""
    if together < 0:
        return (*parts[:together], _one(parts[together:]))
    return (_one(parts[:together]), *parts[together:])


def _one(parts: tuple[Filter, ...]) -> Filter:
    if len(parts) == 1:
        return parts[0]
    domain = parts[0].domain
    for part in parts[1:]:
        domain = domain.union(part.domain)
    return Filter(domain, Sequence(parts))


def flat(tree: Tree) -> Tree:
    """Return the tree with the parts of a sequence inside another among the other's parts."""
    tree = with_children(tree, tuple(map(flat, children(tree))))
    if not isinstance(tree, Sequence) or not any(
        isinstance(part.child, Sequence) for part in tree.parts
    ):
        return tree
    parts: list[Filter] = []
    for part in tree.parts:
        inner = part.child.parts if isinstance(part.child, Sequence) else None
        parts += [part] if inner is None else [_within(one, part) for one in inner]
    return Sequence(tuple(parts))


def _within(inner: Filter, outer: Filter) -> Filter:
    return Filter(inner.domain.intersect(outer.domain), inner.child)


def _restricted(member: BandMember, part: Filter) -> BandMember:
    return BandMember(member.schedule.intersect_domain(part.domain), member.name)


def taken_apart(tree: Tree, scop: Scop, is_shared: Callable[[frozenset[str]], bool]) -> Sequence:
    """Return the tree with outermost nests of several parts distributed, those that `is_shared`.

    It gets the names of a nest's statements.  Whether that is legal is checked with the step.
    """
    if not isinstance(tree, Sequence):
        tree = Sequence((Filter(scop.domain, tree),))
    for part in tree.parts:
        if isinstance(part.child, Band) and isinstance(part.child.child, Sequence):
            own = frozenset(part.pieces)
            if len(own) > 1 and is_shared(own):
                apart = Distribute(part.child.label).rewrite(tree, scop)
                return taken_apart(apart, scop, is_shared)
    return tree
