"""Fuse: run two adjacent loop nests as one.

In: two bands that follow each other in a sequence.  Out: one band over both bodies in sequence.
Refuses: bands that are not adjacent parts of one sequence.
"""

from __future__ import annotations

from collections.abc import Iterator

from polyopt import transforms
from polyopt.dataclass import dataclass, replace
from polyopt.errors import ScheduleError
from polyopt.ir.scop import Scop
from polyopt.schedule.repair import RefusedStep, Repair, RepairKind
from polyopt.schedule.tree import (
    Band,
    BandMember,
    Filter,
    Sequence,
    Tree,
    change_first,
    find_band,
    fresh_label,
    is_nest,
)
from polyopt.transforms.skew import Skew


@dataclass(frozen=True, slots=True)
class Fuse:
    """Join the outer `count` loops of `first` and `second`; 0 means as many as both have.

    The joint band has the label of `first`; loops of `first` left inside are `L0.inner`, those of
    `second` keep their label (Kennedy and McKinley, "Maximizing loop parallelism and
    improving data locality via loop fusion and distribution", 1993).

    >>> from polyopt.schedule.demo import demo
    >>> print(demo(2).apply(Fuse("L0", "L1", 1)))
    for i = i:  [L0[0]]  # carries no dependence
      for j = j:  [L0.inner[0]]  # carries no dependence
        S0: A1[i, j] = A0[i, j]
      for j = j:  [L1[0]]  # carries no dependence
        S1: A2[i, j] = A1[i, j]
    """

    first: str
    second: str
    count: int = 0

    def rewrite(self, tree: Tree, scop: Scop) -> Tree:
        """Return the fused tree; raises `ScheduleError` PO0301, PO0303, PO0305."""
        one, two = find_band(tree, self.first), find_band(tree, self.second)
        common = min(len(one.members), len(two.members))
        if not 0 <= self.count <= common:
            raise ScheduleError(
                "PO0303",
                f"{self}: the bands have {common} loops in common",
                hint=f"fuse up to {common} loops, or leave the number out",
            )
        inner = fresh_label(tree, f"{self.first}.inner")

        def fusion(part: Tree) -> Tree | None:
            return self._fused(part, self.count or common, inner)

        fused = change_first(tree, fusion)
        if fused is None:
            raise ScheduleError(
                "PO0305",
                f"{self}: the two bands do not follow each other in one sequence",
                hint="fuse outer loops first, or distribute what lies between",
            )
        return fused

    def _fused(self, tree: Tree, count: int, inner: str) -> Tree | None:
        if not isinstance(tree, Sequence):
            return None
        for position in range(len(tree.parts) - 1):
            one, two = tree.parts[position], tree.parts[position + 1]
            if is_nest(one, self.first) and is_nest(two, self.second):
                joined = _join(one, two, count, inner)
                parts = (*tree.parts[:position], joined, *tree.parts[position + 2 :])
                return joined.child if len(parts) == 1 else Sequence(parts)
        return None

    def repairs(self, refused: RefusedStep) -> Iterator[Repair]:
        """Yield what might be legal instead, cheapest first."""
        delayed = transforms.repair_shift.delayed
        yield from delayed(refused, self, self.first, self.second, self.count)
        common = self.count or len(find_band(refused.tree, self.first).members)
        for fewer in range(common - 1, 0, -1):
            yield Repair(RepairKind.FEWER, (replace(self, count=fewer),))
        if len(find_band(refused.tree, self.second).members) > 1:
            late = Skew(f"{self.second}[0]", f"{self.second}[1]")
            yield Repair(RepairKind.SKEW, (late, self))

    def __str__(self) -> str:
        count = f", {self.count}" if self.count else ""
        return f"fuse({self.first}, {self.second}{count})"


def _join(one: Filter, two: Filter, common: int, inner: str) -> Filter:
    first, second = one.child, two.child
    assert isinstance(first, Band)
    assert isinstance(second, Band)
    members = tuple(
        BandMember(
            a.schedule.intersect_domain(one.domain).union_add(
                b.schedule.intersect_domain(two.domain)
            ),
            a.name,
        )
        for a, b in zip(first.members[:common], second.members, strict=False)
    )
    bodies = Sequence(
        (
            *_parts(one, _rest(first, common, inner)),
            *_parts(two, _rest(second, common, second.label)),
        )
    )
    return Filter(one.domain.union(two.domain), Band(first.label, members, bodies))


def _rest(band: Band, common: int, label: str) -> Tree:
    if len(band.members) == common:
        return band.child
    return Band(label, band.members[common:], band.child)


def _parts(part: Filter, body: Tree) -> tuple[Filter, ...]:
    """Return the body as parts of the new sequence; a sequence in a sequence is flattened."""
    if isinstance(body, Sequence):
        return tuple(Filter(p.domain.intersect(part.domain), p.child) for p in body.parts)
    return (Filter(part.domain, body),)
